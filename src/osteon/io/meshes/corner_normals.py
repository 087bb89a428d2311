"""Authored normals of a file, shared between the corners of triangles that have the same one."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import FloatArray, Int32
from osteon.core.asset import CornerNormals

__all__ = ["share_normals", "single_normals"]


def share_normals(faces: Int32, by_corner: FloatArray, n_vertices: int) -> CornerNormals | None:
    """Normals (t,3,3) of the corners of triangles, those of a vertex that are equal as one.

    Numbered by vertex where each has at most one. None if a normal has no length or is not finite.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        values = np.asarray(by_corner, np.float64).reshape(-1, 3)
        values = (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32) + np.float32(0)
    if not len(faces) or not np.isfinite(values).all():
        return None
    rows = np.empty((len(values), 4), np.int64)
    rows[:, 0], rows[:, 1:] = faces.reshape(-1), values.view(np.uint32)
    order = np.lexsort(rows.T[::-1])
    begins = np.ones(len(rows), bool)
    begins[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    first = order[begins]
    if len(np.unique(rows[first, 0])) == len(first):
        of_vertex = np.tile(np.array([0, 0, 1], np.float32), (n_vertices, 1))
        of_vertex[rows[first, 0]] = values[first]
        return CornerNormals(of_vertex, faces)
    number = np.empty(len(rows), np.int32)
    number[order] = (np.cumsum(begins) - 1).astype(np.int32)
    return CornerNormals(np.ascontiguousarray(values[first]), number.reshape(-1, 3))


def single_normals(faces: Int32, normals: CornerNormals) -> bool:
    """Whether every vertex has one normal at most."""
    pairs = np.stack([faces.reshape(-1), normals.of_corner.reshape(-1)], axis=1)
    return len(np.unique(pairs, axis=0)) == len(np.unique(faces))
