"""Distances of triangles to one control line; see lines.py."""

from __future__ import annotations

from osteon.core.arrays import Float64, Int32
from osteon.core.exact_kernels import lean
from osteon.simplex.segmentation.pairs import Field, line_to
from osteon.simplex.segmentation.ranges import find_foot, nearest_foot
from osteon.simplex.segmentation.tree import ALL, count_crossings

__all__ = ["measure_line"]


@lean
def measure_line(field: Field, line: int, triangles: Int32, everywhere: bool, out: tuple[Float64, Float64]) -> None:
    """Effective distance with penalty (eq. 6) and foot; left as it is out of range, unless `everywhere`."""
    centers, skip, ranges, tree, penalty = field
    distance, along = out
    for i in range(triangles.size):
        t = triangles[i]
        point = centers[t, 0], centers[t, 1], centers[t, 2]
        straight, place = find_foot(ranges, line, point)
        if everywhere and straight > 1e300:
            straight, place = nearest_foot(ranges, line, point)
        if straight < 1e300:
            crossed = count_crossings(tree, line_to(field, t, line, place), skip[t], ALL)
            distance[t] = straight + crossed * penalty
            along[t] = place
