"""Triangles against bones: the effective distance with penalty of a pair, and the bone for which it is least.

    d_effpen = d_eff + n delta                                                    (eq. 6)

n counts how often the effective line, from the centre of the triangle to its foot on the bone, crosses the surface.

| paper | here |
| --- | --- |
| d_eff | first result of `find_foot` |
| n | `count_crossings` |
| delta | `Field.penalty` |
| d_effpen | `distance` |

Based on: Yan, Hu, Martin, Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, 4.1 step 2.

Differs from the paper: `compare_bones` gives the answer of the plain test with fewer lines. As d_eff <= d_effpen, bones
are tried in the order of d_eff until none can win any more, and a line is left as soon as it crosses too often.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32
from osteon.core.kernels import Int64, exact, inlined, lean
from osteon.simplex.segmentation.ranges import Ranges, find_foot, nearest_foot
from osteon.simplex.segmentation.tree import ALL, Ends, SurfaceTree, count_crossings

__all__ = ["Field", "compare_all", "compare_bones", "find_seen", "measure_pairs"]

#: A bone and the distance of a triangle to it.
Assigned = tuple[int, float]


class Field(NamedTuple):
    """Everything that the distance of a triangle to a bone depends on, as kernels take it."""

    centers: Float64  # (t,3) of the triangles
    skip: Int32  # (t,) its number in the surface, which its lines do not cross; -1 where it is not part of it (2D)
    ranges: Ranges
    tree: SurfaceTree
    penalty: float  # delta


@inlined
def line_to(field: Field, t: int, b: int, along: float) -> Ends:
    """Ends (x y z x y z) of the line from triangle t to the place `along` on bone b."""
    centers, _, (sticks, _, _), _, _ = field
    x = sticks[b, 0] + along * sticks[b, 3]
    y = sticks[b, 1] + along * sticks[b, 4]
    z = sticks[b, 2] + along * sticks[b, 5]
    return centers[t, 0], centers[t, 1], centers[t, 2], x, y, z


@lean
def compare_all(field: Field, bone: Int32, distance: Float64) -> None:
    """The plain test: every bone in whose range a triangle lies; -1 and infinity where there is none."""
    centers, skip, ranges, tree, penalty = field
    for t in range(bone.size):
        bone[t], distance[t] = -1, np.inf
        point = centers[t, 0], centers[t, 1], centers[t, 2]
        for b in range(ranges.sticks.shape[0]):
            straight, along = find_foot(ranges, b, point)
            if straight < np.inf:
                total = straight + count_crossings(tree, line_to(field, t, b, along), skip[t], ALL) * penalty  # eq. 6
                if total < distance[t]:  # of equal ones the first stays
                    bone[t], distance[t] = b, total


@inlined
def find_feet(field: Field, t: int, candidates: Int64, feet: Float64) -> int:
    """Effective distance and foot (b,2) of triangle t for the candidates; returns which is nearest."""
    centers, _, ranges, _, _ = field
    point = centers[t, 0], centers[t, 1], centers[t, 2]
    nearest = 0
    for i in range(candidates.size):
        feet[i, 0], feet[i, 1] = find_foot(ranges, candidates[i], point)
        nearest = i if feet[i, 0] < feet[nearest, 0] else nearest
    return nearest


@inlined
def better(has: Assigned, b: int, total: float) -> Assigned:
    """The better of the bone and distance that a triangle has and another; ties go to the lower bone."""
    bone, distance = has
    return (b, total) if total < distance or (total == distance and b < bone) else has


@lean
def compare_bones(field: Field, t: int, candidates: Int64, has: Assigned, feet: Float64) -> Assigned:
    """The best of what triangle t has, as (bone, distance), and the candidates, whose feet are known.

    With (-1, threshold) to begin with, only bones that see the triangle count, and most lines that cross the surface
    are left at their first crossing.
    """
    while candidates.size:
        i = np.argmin(feet[: candidates.size, 0])
        straight = feet[i, 0]
        if not straight <= has[1] or straight == np.inf:
            break
        limit = int(min((has[1] - straight) / field.penalty, 1e9))
        n = count_crossings(field.tree, line_to(field, t, candidates[i], feet[i, 1]), field.skip[t], limit)
        has = better(has, candidates[i], straight + n * field.penalty)  # eq. 6
        feet[i, 0] = np.inf
    return has


@exact
def find_seen(field: Field, triangles: NDArray[np.intp], seen_below: float, bone: Int32, distance: Float64) -> None:
    """The plain answer of the given triangles, as far as bones see them; others get -1 and the threshold."""
    everything = np.arange(field.ranges.sticks.shape[0])
    feet = np.empty((everything.size, 2))
    for t in triangles:
        find_feet(field, t, everything, feet)
        bone[t], distance[t] = compare_bones(field, t, everything, (-1, seen_below), feet)


@lean
def measure_pairs(field: Field, triangles: NDArray[np.intp], bone: Int32, along: Float64, distance: Float64) -> None:
    """Foot (0 … 1 along the bone) and effective distance with penalty of the given triangles to their bones."""
    centers, skip, ranges, tree, penalty = field
    for t in triangles:
        point = centers[t, 0], centers[t, 1], centers[t, 2]
        straight, along[t] = nearest_foot(ranges, bone[t], point)
        distance[t] = straight + count_crossings(tree, line_to(field, t, bone[t], along[t]), skip[t], ALL) * penalty


@lean
def find_places(field: Field, bone: Int32, along: Float64) -> None:
    """Foot (0 … 1 along the bone) of every triangle on its bone."""
    centers, _, ranges, _, _ = field
    for t in range(bone.size):
        along[t] = nearest_foot(ranges, bone[t], (centers[t, 0], centers[t, 1], centers[t, 2]))[1]
