"""Boundaries between segments, moved to creases by graph cuts (Simplex Transformations, 4.3): `cut`."""
