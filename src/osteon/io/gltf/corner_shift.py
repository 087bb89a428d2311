"""The corner at which a triangle begins, which compression does not keep and models do.

Shifted cyclically so that its vertices are in their lexicographically lowest order, a triangle is the same wherever it
began. The file stores how far the model's triangle must be shifted for that, which is 0 for most triangles of most
meshes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def corner_shift(faces: NDArray[np.integer]) -> IntArray:
    """(t,) by how many corners each triangle (t,3) must be shifted, first corner last, to be in its lowest order."""
    indices = np.asarray(faces, np.int64)
    best, lowest = np.zeros(len(indices), np.int64), indices.copy()
    for shift in (1, 2):
        shifted = np.roll(indices, -shift, axis=1)
        less = _less(shifted, lowest)
        best[less], lowest[less] = shift, shifted[less]
    return best


def undo_corner_shift(corners: IntArray, vertex: IntArray, shifts: IntArray) -> IntArray:
    """Corners (t,3) of a file, shifted so that `shifts (t,)` more bring them into the lowest order of `vertex`."""
    back = corner_shift(vertex[corners]) - shifts
    return np.take_along_axis(corners, (np.arange(3) + back[:, None]) % 3, axis=1)


def _less(first: IntArray, second: IntArray) -> NDArray[np.bool_]:
    """(t,) whether rows come before others in lexicographic order."""
    at = (first != second).argmax(axis=1)[:, None]
    return np.asarray((np.take_along_axis(first, at, axis=1) < np.take_along_axis(second, at, axis=1))[:, 0])
