"""Which points of a regular grid lie inside a closed surface, and how often a surface winds around single points.

Of a grid: every column of samples along z is cut by the triangles above it; a sample is inside where the cuts above it,
counted +1 from below and -1 from above, do not cancel. So shells may overlap, and may all be inside out.

Based on: A. Jacobson, L. Kavan, O. Sorkine, Robust inside-outside segmentation using generalized winding numbers, 2013.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Bool, Float64, Int32, Int64

__all__ = ["inside_grid", "winding_numbers"]

#: Pairs of points and triangles that are asked about at a time.
BLOCK = 2_000_000


def inside_grid(vertices: Float64, faces: Int32, axes: tuple[Float64, Float64, Float64]) -> Bool:
    """(x,y,z) of all combinations of positions along three axes, each ascending."""
    x, y, z = axes
    cuts = np.zeros((len(x), len(y), len(z) + 1), np.int32)
    corners = vertices[faces]
    low = np.stack([np.searchsorted(axis, corners[:, :, i].min(axis=1)) for i, axis in enumerate((x, y))], axis=1)
    high = np.stack([np.searchsorted(axis, corners[:, :, i].max(axis=1)) for i, axis in enumerate((x, y))], axis=1)
    count = (high - low).prod(axis=1)
    ends = np.cumsum(count)
    start = 0
    while start < len(faces):
        stop = max(start + 1, int(np.searchsorted(ends, (ends[start - 1] if start else 0) + BLOCK)))
        now = slice(start, stop)
        _cut_columns(corners[now], faces[now], axes, low[now], high[now] - low[now], cuts)
        start = stop
    above = np.cumsum(cuts[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:]
    return np.asarray(above != 0)


def _cut_columns(
    corners: Float64,
    faces: Int32,
    axes: tuple[Float64, Float64, Float64],
    low: Int64,
    size: Int64,
    cuts: Int32,
) -> None:
    """Add the cuts of some triangles; `low` and `size` (t,2) are the columns in the box around each."""
    triangle = np.repeat(np.arange(len(corners)), size.prod(axis=1))
    if not len(triangle):
        return
    first = np.cumsum(size.prod(axis=1)) - size.prod(axis=1)
    place = np.arange(len(triangle)) - first[triangle]
    i, j = low[triangle, 0] + place // size[triangle, 1], low[triangle, 1] + place % size[triangle, 1]
    point = np.stack([axes[0][i], axes[1][j]], axis=1)
    sides = np.stack([_side(corners, faces, triangle, point, k) for k in range(3)], axis=1)
    upward = np.asarray((sides > 0).all(axis=1))
    crossed = np.asarray(upward | (sides < 0).all(axis=1))
    share = sides[crossed] / sides[crossed].sum(axis=1, keepdims=True)
    height = np.einsum("ck,ck->c", share, corners[triangle[crossed]][:, [2, 0, 1], 2])
    at = np.searchsorted(axes[2], height)  # samples below the cut have it above them
    np.add.at(cuts, (i[crossed], j[crossed], at), np.where(upward[crossed], 1, -1))


def _side(corners: Float64, faces: Int32, triangle: Int64, point: Float64, k: int) -> Float64:
    """Twice the area of a point with edge k, seen from above; computed alike for both triangles of an edge.

    A point just on the edge lies on the side of the triangle in which the edge runs up in vertex numbers.
    """
    a, b = faces[:, k], faces[:, (k + 1) % 3]
    first = np.where((a < b)[:, None], corners[:, k, :2], corners[:, (k + 1) % 3, :2])
    along = np.where((a < b)[:, None], corners[:, (k + 1) % 3, :2], corners[:, k, :2]) - first
    away = point - first[triangle]
    area = along[triangle, 0] * away[:, 1] - along[triangle, 1] * away[:, 0]
    area = np.where(area == 0, np.finfo(float).tiny, area)
    return np.where((a < b)[triangle], area, -area)


def winding_numbers(points: Float64, vertices: Float64, faces: Int32) -> Float64:
    """(n,) about 0 outside and 1 (or -1) inside a closed surface: the solid angle of all triangles, over a sphere's."""
    out = np.zeros(len(points))
    block = max(1, BLOCK // max(len(faces), 1))
    for start in range(0, len(points), block):
        now = slice(start, start + block)
        a, b, c = (vertices[faces[:, k]] - points[now, None] for k in range(3))
        la, lb, lc = (np.linalg.norm(side, axis=2) for side in (a, b, c))
        volume = np.einsum("nti,nti->nt", a, np.cross(b, c))
        below = la * lb * lc + (a * b).sum(axis=2) * lc + (b * c).sum(axis=2) * la + (c * a).sum(axis=2) * lb
        out[now] = np.arctan2(volume, below).sum(axis=1) / (2 * np.pi)
    return out
