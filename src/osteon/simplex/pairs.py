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

Differs from the paper: `test_bones` gives the answer of the plain test with fewer lines. As d_eff <= d_effpen, bones
are tried in the order of d_eff until none can win any more, and a line is left as soon as it crosses too often.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.simplex.boxes import exact
from osteon.simplex.ranges import Ranges, find_foot, nearest_foot
from osteon.simplex.tree import ALL, SurfaceTree, count_crossings

__all__ = ["Field", "make_scratch", "measure_pairs", "test_all_pairs", "test_bones", "test_seen"]


class Field(NamedTuple):
    """Everything that the distance of a triangle to a bone depends on, as kernels take it."""

    centers: Float64  # (t,3) of the triangles
    own: Int32  # (t,) its number in the surface, which its own lines do not cross; -1 where it is not part of it (2D)
    ranges: Ranges
    tree: SurfaceTree
    penalty: float  # delta


@exact
def _crossings(field, t, b, along, limit, at, hit):
    """How often the line from triangle t to the place `along` on bone b crosses the surface; stops at limit + 1."""
    start, vector = field.ranges.start, field.ranges.vector
    x, y, z = start[b, 0] + along * vector[b, 0], start[b, 1] + along * vector[b, 1], start[b, 2] + along * vector[b, 2]
    ends = (field.centers[t, 0], field.centers[t, 1], field.centers[t, 2], x, y, z)
    return count_crossings(field.tree, ends, field.own[t], limit, at, hit)


@exact
def test_all_pairs(field, bone, distance):
    """The plain test: every bone in whose range a triangle lies; -1 and infinity where there is none."""
    at, hit = np.empty(0), np.empty(0, np.int32)
    for t in range(bone.size):
        bone[t], distance[t] = -1, np.inf
        x, y, z = field.centers[t, 0], field.centers[t, 1], field.centers[t, 2]
        for b in range(field.ranges.start.shape[0]):
            straight, along = find_foot(field.ranges, b, x, y, z)
            if straight < np.inf:
                total = straight + _crossings(field, t, b, along, ALL, at, hit) * field.penalty  # eq. 6
                if total < distance[t]:  # of equal ones the first stays
                    bone[t], distance[t] = b, total


@exact
def test_bones(field, t, candidates, has, scratch):
    """The better of the bone and distance that triangle t has and the candidates; ties go to the lower bone.

    With (-1, threshold) to begin with, only bones that see the triangle count, and most lines that cross the surface
    are left at their first crossing.
    """
    bone, distance = has
    straight, along, at, hit = scratch
    n = candidates.size
    x, y, z = field.centers[t, 0], field.centers[t, 1], field.centers[t, 2]
    for i in range(n):
        straight[i], along[i] = find_foot(field.ranges, candidates[i], x, y, z)
    while True:
        nearest = 0
        for i in range(1, n):
            if straight[i] < straight[nearest]:
                nearest = i
        if n == 0 or not straight[nearest] <= distance or straight[nearest] == np.inf:
            return bone, distance
        b = candidates[nearest]
        room = min((distance - straight[nearest]) / field.penalty, 1e9)
        total = straight[nearest]  # eq. 6
        total += _crossings(field, t, b, along[nearest], int(room), at, hit) * field.penalty
        if total < distance or (total == distance and b < bone):
            bone, distance = b, total
        straight[nearest] = np.inf


@exact
def test_seen(field, triangles, seen_below, bone, distance):
    """The plain answer of the given triangles, as far as bones see them; others get -1 and the threshold."""
    everything = np.arange(field.ranges.start.shape[0])
    scratch = make_scratch(everything.size)
    for t in triangles:
        bone[t], distance[t] = test_bones(field, t, everything, (-1, seen_below), scratch)


@exact
def make_scratch(n_bones):
    """Room that `test_bones` works in."""
    return np.empty(n_bones), np.empty(n_bones), np.empty(0), np.empty(0, np.int32)


@exact
def measure_pairs(field, triangles, bone, along, distance):
    """Foot (0 … 1 along the bone) and effective distance with penalty of the given triangles to their bones."""
    at, hit = np.empty(0), np.empty(0, np.int32)
    for t in triangles:
        x, y, z = field.centers[t, 0], field.centers[t, 1], field.centers[t, 2]
        straight, along[t] = nearest_foot(field.ranges, bone[t], x, y, z)
        distance[t] = straight + _crossings(field, t, bone[t], along[t], ALL, at, hit) * field.penalty
