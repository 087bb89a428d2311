"""Normals of a surface: the one routine for them, compiled.

Notes: a frame of 8,431 vertices and 16,843 triangles takes 0.2 ms; NumPy with `bincount` takes 4.3 ms. Importing this
imports numba: never for `--help`.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.kernels import kernel

__all__ = ["angles_between", "corner_normals", "vertex_normals"]


@kernel("f8.2r i4.2r i4.2r f8.2")
def _corner_normals(points: Float64, faces: Int32, corners: Int32, out: Float64) -> None:
    """Adds to out, which holds zeros; corners (t,3) are the rows of out."""
    for t in range(faces.shape[0]):
        i, j, k = faces[t, 0], faces[t, 1], faces[t, 2]
        ax, ay, az = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
        bx, by, bz = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
        nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        for corner in range(3):
            v = corners[t, corner]
            out[v, 0] += nx
            out[v, 1] += ny
            out[v, 2] += nz
    for v in range(out.shape[0]):
        length = np.sqrt(out[v, 0] ** 2 + out[v, 1] ** 2 + out[v, 2] ** 2)
        if length > 0:
            for i in range(3):
                out[v, i] /= length


def vertex_normals(points: FloatArray, faces: Int32) -> Float64:
    """(v,3) area-weighted unit normals of points (v,3); zero where a vertex has no triangle."""
    return corner_normals(points, faces, faces, len(points))


def corner_normals(points: FloatArray, faces: Int32, corners: Int32, count: int) -> Float64:
    """(n,3) area-weighted unit normals of `count` groups of corners; corners (t,3) is the group of each."""
    out, rows = np.zeros((count, 3)), np.ascontiguousarray(corners, np.int32)
    _corner_normals(np.ascontiguousarray(points, np.float64), np.ascontiguousarray(faces, np.int32), rows, out)
    return out


def angles_between(first: FloatArray, second: FloatArray) -> Float64:
    """(…,) degrees between unit vectors (…,3); the chord is exact for small angles, where a cosine has no digits."""
    apart = np.asarray(first, np.float64) - second
    chord = np.sqrt(np.einsum("...i,...i->...", apart, apart))
    out: Float64 = np.degrees(2 * np.arcsin(np.minimum(1.0, 0.5 * chord)))
    return out
