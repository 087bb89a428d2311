"""Triangles without a shape that hold a mesh together.

Strips of triangles without an area stitch the parts of some meshes, where two rows of vertices all but coincide. Such
a triangle has no transform of its own. Left out, the parts would come apart; so those that join parts which no other
triangle joins take part as if they were a little wider. That ties their corners firmly to each other, and moves no
other one: the width is far below anything that can be seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from osteon.core.arrays import Float64, Int32

__all__ = ["find_bridges", "widen_triangles"]

#: Least height of a triangle over its longest edge.
HEIGHT = 1e-5


def find_bridges(faces: Int32, degenerate: NDArray[np.bool_], n_vertices: int) -> NDArray[np.bool_]:
    """(t,) the degenerate triangles of three different vertices that join what all others leave apart."""
    good = faces[~degenerate]
    start, stop = np.concatenate([good[:, :2], good[:, 1:]]).T
    graph = coo_array((np.ones(len(start), bool), (start, stop)), shape=(n_vertices, n_vertices))
    part = connected_components(graph, directed=False)[1]
    a, b, c = faces.T
    proper = (a != b) & (b != c) & (c != a)
    joins = (part[a] != part[b]) | (part[b] != part[c])
    return np.asarray(degenerate & proper & joins)


def widen_triangles(corners: Float64, length: float) -> Float64:
    """(t,3,3) triangles with a longest edge of at least `length` and a height of at least `HEIGHT` of it."""
    edges = np.roll(corners, -2, axis=1) - np.roll(corners, -1, axis=1)  # opposite to each corner
    top = np.linalg.norm(edges, axis=2).argmax(axis=1)
    row = np.arange(len(corners))
    left, right, apex = (corners[row, (top + k) % 3] for k in (1, 2, 0))
    base = np.linalg.norm(right - left, axis=1, keepdims=True)
    along = np.where(base > 0, (right - left) / np.where(base > 0, base, 1), [1.0, 0, 0])
    place = np.einsum("ti,ti->t", apex - left, along)[:, None] / np.where(base > 0, base, 1)
    across, height = _across(along, apex - left)
    base = np.maximum(base, length)
    out = np.empty_like(corners)
    out[row, (top + 1) % 3], out[row, (top + 2) % 3] = left, left + base * along
    out[row, top] = left + place * base * along + np.maximum(height, HEIGHT * base) * across
    return out


def _across(along: Float64, vector: Float64) -> tuple[Float64, Float64]:
    """(t,3) unit vectors across `along`, on the side of `vector`, in the plane for vectors in it; (t,1) its height."""
    rest = vector - np.einsum("ti,ti->t", vector, along)[:, None] * along
    height = np.linalg.norm(rest, axis=1, keepdims=True)
    clear = height > 1e-9 * np.linalg.norm(vector, axis=1, keepdims=True)  # else it is rounding
    other = np.cross(np.eye(3)[2 - np.abs(along[:, ::-1]).argmin(axis=1)], along)  # about z for directions in the plane
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    return np.where(clear, rest / np.where(clear, height, 1), other), height
