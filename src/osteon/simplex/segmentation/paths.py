"""Assign triangles that are visible from no bone to the bone whose visible triangles are nearest along the mesh.

For such a triangle t, over the bones b in whose range it is (over all bones, if it is in range of none):

    min over b, over triangles s visible from b, of the length of the shortest path from t to s

A path connects the centres of neighbouring triangles through the midpoints of their shared edges. The search is
Dijkstra's with all visible triangles as sources and one label per pair of triangle and bone. A triangle is assigned by
the first path that reaches it from a bone in whose range it is. A bone is dropped from the search once no unassigned
triangle can get it, so the search ends early and is still exact.

A component of the mesh that is visible from no bone is assigned to one bone as a whole, the one with the least mean
distance to it, so that it moves rigidly.

Based on: Yan, Hu, Martin, Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, 4.1 step 3b.

Differs from the paper, which defines neither a path nor the result where no path exists.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32
from osteon.core.kernels import exact, lean
from osteon.core.sticks import project_on_segments
from osteon.simplex.segmentation.effective_distance import Field, find_foot, line_to, nearest_foot
from osteon.simplex.segmentation.tree import ALL, count_crossings

Bools = NDArray[np.bool_]


def edge_lengths(corners: Float64, neighbors: Int32) -> Float64:
    """(t,3) path lengths from the centre of a triangle (t,3,3) over the midpoint of each edge to the next centre."""
    center = (corners[:, 0] + corners[:, 1] + corners[:, 2]) / 3
    out = np.empty(neighbors.shape)
    for e in range(3):
        middle = 0.5 * (corners[:, e] + corners[:, (e + 1) % 3])
        here, across = middle - center, middle - center[neighbors[:, e]]
        out[:, e] = np.sqrt((here * here).sum(axis=1)) + np.sqrt((across * across).sum(axis=1))
    return out


def follow_paths(bone: Int32, allowed: Bools, triangles: Int32, neighbors: Int32, lengths: Float64) -> Int32:
    """Return the bones, with the given triangles (u,) assigned by the shortest path.

    `bone` is -1 for triangles visible from no bone. `allowed` (u,b) are the bones that each may get. Triangles that no
    path reaches keep -1. `neighbors` and `lengths` have a column for every edge and bridge of a triangle.
    """
    out = bone.copy()
    row = np.full(len(bone), -1, np.int32)
    row[triangles] = np.arange(len(triangles))
    _follow(bone, allowed, row, neighbors, lengths, out)
    return out


@exact
def _follow(bone: Int32, allowed: Bools, row: Int32, neighbors: Int32, lengths: Float64, out: Int32) -> None:
    """Dijkstra from all bones at the same time; fills `out`."""
    n_bones, first_wins = allowed.shape[1], allowed.all()
    left = np.zeros(n_bones, np.int64)  # unassigned triangles that each bone may still get
    for u in range(allowed.shape[0]):
        for c in range(n_bones):
            left[c] += allowed[u, c]
    done = np.zeros((bone.size, -(-n_bones // 8)), np.uint8)  # labels, as bits
    heap = [(0.0, np.int64(0), np.int64(0)) for _ in range(0)]
    for s in range(bone.size):
        if bone[s] >= 0:
            for other in neighbors[s]:
                if other >= 0 and bone[other] != bone[s]:
                    heap.append((0.0, np.int64(bone[s]), np.int64(s)))
                    break
    heapq.heapify(heap)
    while heap:
        length, b, t = heapq.heappop(heap)
        word, bit = b // 8, np.uint8(1 << (b % 8))
        # Where every bone is allowed, only the nearest one goes on from a triangle.
        if left[b] == 0 or done[t, word] & bit or (first_wins and done[t].any()):
            continue
        done[t, word] |= bit
        if row[t] >= 0 and out[t] < 0 and allowed[row[t], b]:
            out[t] = b
            for c in range(n_bones):
                left[c] -= allowed[row[t], c]
        for e in range(neighbors.shape[1]):
            beyond = np.int64(neighbors[t, e])
            if beyond >= 0 and bone[beyond] != b and not done[beyond, word] & bit:
                heapq.heappush(heap, (length + lengths[t, e], b, beyond))


def in_range(field: Field, triangles: Int32) -> Bools:
    """(u,b) whether each of the given triangles is in range of each bone."""
    out = np.zeros((len(triangles), len(field.ranges.sticks)), np.bool_)
    _in_range(field, triangles, out)
    return out


@exact
def _in_range(field: Field, triangles: Int32, out: Bools) -> None:
    centers, _, ranges, _, _ = field
    for i in range(triangles.size):
        t = triangles[i]
        for b in range(out.shape[1]):
            out[i, b] = find_foot(ranges, b, (centers[t, 0], centers[t, 1], centers[t, 2]))[0] < np.inf


def assign_components(bone: Int32, component: Int32, areas: Float64, sticks: tuple[Float64, Float64, Float64]) -> Int32:
    """Assign components without a bone to the nearest one; `sticks`: starts and vectors of bones, and centres."""
    starts, vectors, centers = sticks
    out = bone.copy()
    for t in _split(np.flatnonzero(bone < 0), component):
        weights = areas[t] if areas[t].sum() > 0 else np.ones(len(t))
        _, distance = project_on_segments(centers[t, None], starts, vectors)
        out[t] = np.argmin(weights @ distance)
    return out


def _split(triangles: NDArray[np.intp], component: Int32) -> list[NDArray[np.intp]]:
    """Group triangles by component."""
    if not len(triangles):
        return []
    order = triangles[np.argsort(component[triangles], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(component[order])) + 1)


# Distances of triangles to one control line.


@lean
def measure_line(field: Field, line: int, triangles: Int32, everywhere: bool, out: tuple[Float64, Float64]) -> None:
    """Effective distance with penalty (eq. 6) and foot; unchanged for triangles out of range, unless `everywhere`."""
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
