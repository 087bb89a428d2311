"""Meshes in known poses of a character, from what artists have: lists, sequences of a clip, and morph targets."""
