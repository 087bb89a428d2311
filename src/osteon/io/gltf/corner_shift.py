"""The corner at which a triangle begins, which compression does not keep and models do.

Shifted cyclically so that its vertices are in their lexicographically lowest order, a triangle is the same wherever it
began. The file stores how far the model's triangle must be shifted for that, which is 0 for most triangles of most
meshes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["corner_shift", "undo_corner_shift"]


IntArray = NDArray[np.int64]


def corner_shift(faces: NDArray[np.integer]) -> IntArray:
    """(t,) how often each triangle (t,3) must be turned, first corner last, to be in its lowest order."""
    whole = np.asarray(faces, np.int64)
    ways = [np.roll(whole, -turn, axis=1) for turn in range(3)]
    best = np.zeros(len(whole), np.int64)
    lowest = ways[0].copy()
    for turn in (1, 2):
        less = _less(ways[turn], lowest)
        best[less], lowest[less] = turn, ways[turn][less]
    return best


def undo_corner_shift(corners: IntArray, vertex: IntArray, turns: IntArray) -> IntArray:
    """Corners (t,3) of a file, each turned so that `turns (t,)` turns bring it into the lowest order of `vertex`."""
    shift = corner_shift(vertex[corners]) - turns
    return np.take_along_axis(corners, (np.arange(3) + shift[:, None]) % 3, axis=1)


def _less(first: IntArray, second: IntArray) -> NDArray[np.bool_]:
    """(t,) whether rows come before others, compared from the left."""
    apart = first != second
    at = apart.argmax(axis=1)[:, None]
    return np.asarray((np.take_along_axis(first, at, axis=1) < np.take_along_axis(second, at, axis=1))[:, 0])
