"""Moves boundaries between segments to creases by graph cuts (Simplex Transformations, 4.3): `cut`."""
