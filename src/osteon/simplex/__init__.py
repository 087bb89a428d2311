"""Posing a mesh by a stick skeleton, without weights and without training (Simplex Transformations)."""
