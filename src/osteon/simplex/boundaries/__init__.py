"""Boundaries between segments, moved to creases by graph cut (Simplex Transformations, 4.3). `cut` is the way in."""
