"""An order of triangles and vertices that compresses well and renders fast.

Triangles are in runs that share edges with the last ones, vertices in the order in which triangles first use them. The
next triangle is the best of those on vertices that are in a cache of the last ones,

    score of a triangle = sum over its corners of  place(p) + LAST_ONES / sqrt(n),

p the number of steps since the corner was used, n the remaining triangles of the corner: corners with few remaining
triangles are preferred, so that no single triangle remains.

Based on: Forsyth, Linear-Speed Vertex Cache Optimisation, 2006. Differs from it: scores are recomputed for triangles in
the cache instead of stored for all; the cache is the 16 vertices that the codec stores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Int32
from osteon.core.kernels import kernel_as_met

IntArray = NDArray[np.int64]

CACHE = 16
#: Score of all corners of the last triangle: the run may continue at any of them.
NEWEST = 1.5
FADE = 1.5
LAST_ONES = 2.0


def order_triangles(corners: Int32, n_vertices: int) -> IntArray:
    """(t,) the order of triangles with corners (t,3)."""
    order = np.argsort(corners.reshape(-1), kind="stable") // 3
    starts = np.concatenate([[0], np.cumsum(np.bincount(corners.reshape(-1), minlength=n_vertices))])
    out = np.empty(len(corners), np.int64)
    _order(corners.astype(np.int64), starts.astype(np.int64), order.astype(np.int64), _places(), out)
    return out


def order_vertices(corners: Int32, n_vertices: int) -> IntArray:
    """(n,) the vertices in the order of their first use; unused ones come last."""
    used, first = np.unique(corners.reshape(-1), return_index=True)
    return np.concatenate([used[np.argsort(first)], np.setdiff1d(np.arange(n_vertices), used)])


def _places() -> NDArray[np.float64]:
    ago = np.arange(CACHE)
    return np.where(ago < 3, NEWEST, (1 - np.maximum(ago - 3, 0) / (CACHE - 3)) ** FADE)


@kernel_as_met
def _order(
    corners: IntArray, starts: IntArray, triangles: IntArray, places: NDArray[np.float64], out: IntArray
) -> None:
    """Fill `out (t,)`; `triangles` are those of each vertex, from `starts` on, with the remaining ones in front."""
    left = np.empty(len(starts) - 1, np.int64)
    for v in range(len(left)):
        left[v] = starts[v + 1] - starts[v]
    done = np.zeros(len(corners), np.bool_)
    cache = np.full(CACHE + 3, -1, np.int64)
    place_of = np.full(len(left), -1, np.int64)
    unseen = 0
    for i in range(len(out)):
        best, best_score = -1, -1.0
        for c in range(CACHE):
            v = cache[c]
            if v < 0:
                break
            for k in range(starts[v], starts[v] + left[v]):
                score = 0.0
                for j in range(3):
                    corner = corners[triangles[k], j]
                    score += LAST_ONES / np.sqrt(left[corner])
                    if place_of[corner] >= 0:
                        score += places[place_of[corner]]
                if score > best_score:
                    best, best_score = triangles[k], score
        if best < 0:
            while done[unseen]:
                unseen += 1
            best = unseen
        out[i] = best
        done[best] = True
        for j in range(3):
            _take(corners[best, j], best, starts, triangles, left)
        _renew(corners[best], cache, place_of)


@kernel_as_met
def _take(vertex: int, triangle: int, starts: IntArray, triangles: IntArray, left: IntArray) -> None:
    """Remove a triangle from the remaining ones of a vertex."""
    for k in range(starts[vertex], starts[vertex] + left[vertex]):
        if triangles[k] == triangle:
            last = starts[vertex] + left[vertex] - 1
            triangles[k], triangles[last] = triangles[last], triangles[k]
            left[vertex] -= 1
            return


@kernel_as_met
def _renew(corners: IntArray, cache: IntArray, place_of: IntArray) -> None:
    """Move the corners to the front of the cache; vertices that drop out at its end have no place."""
    before = cache.copy()
    for c in range(len(before)):
        if before[c] >= 0:
            place_of[before[c]] = -1
    n = 0
    for j in range(3):
        if place_of[corners[j]] < 0:
            cache[n] = corners[j]
            place_of[corners[j]] = n
            n += 1
    for c in range(CACHE):
        v = before[c]
        if v >= 0 and place_of[v] < 0 and n < CACHE:
            cache[n] = v
            place_of[v] = n
            n += 1
    for c in range(n, len(cache)):
        cache[c] = -1
