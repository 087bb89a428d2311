"""Offline fitting of bones and weights to a mesh sequence, one stage per file."""
