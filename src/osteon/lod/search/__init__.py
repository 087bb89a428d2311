"""Offline: orders of bones and blends for a model, found by moments, without touching a vertex twice."""
