"""Tests whether points are inside a closed surface, by the triangles that a straight line from them intersects.

A point is inside where the cuts of a line that leaves it upward, counted +1 where it leaves the body and -1 where it
enters, do not cancel. So shells may overlap, and may all be inverted. Points of a regular grid share their lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from osteon.core.arrays import Bool, Float64, Int32, Int64

#: Pairs of lines and triangles that are tested at a time.
BLOCK = 2_000_000

Axes = tuple[Float64, Float64, Float64]


@dataclass(frozen=True, slots=True)
class GridCuts:
    """Intersections of a surface with the lines of a grid, given by ascending positions along three axes."""

    inside: Bool  # (x,y,z)
    gaps: tuple[Bool, Bool, Bool]  # along each axis, whether a line leaves the body on the way from a point to the next

    @staticmethod
    def of(vertices: Float64, faces: Int32, axes: Axes) -> GridCuts:
        """All cuts of a closed surface."""
        (_, x), (_, y), (around, z) = (_cuts_along(vertices, faces, axes, k) for k in range(3))
        return GridCuts(around != 0, (x, y, z))


def inside_points(points: Float64, vertices: Float64, faces: Int32) -> Bool:
    """(n,) whether points are inside."""
    corners = vertices[faces]
    low, high = corners.min(axis=1), corners.max(axis=1)
    out = np.zeros(len(points), bool)
    for n, point in enumerate(points):
        near = np.flatnonzero((low[:, :2] <= point[:2]).all(axis=1) & (high >= point).all(axis=1))
        sides = _sides(corners[near], faces[near], np.broadcast_to(point[:2], (len(near), 2)))
        leaves, crossed, height = _crossing(sides, corners[near])
        above = height > point[2]
        out[n] = int(np.where(leaves[crossed][above], 1, -1).sum()) != 0
    return out


def _cuts_along(vertices: Float64, faces: Int32, axes: Axes, along: int) -> tuple[Int32, Bool]:
    """The winding number of the surface around each point, and the gaps, by cuts of the lines along one axis."""
    order = [(along + 1) % 3, (along + 2) % 3, along]  # an even change of axes keeps signs
    lines = [axes[k] for k in order]
    corners = np.ascontiguousarray(vertices[faces][:, :, order])
    low, high = (
        np.stack([np.searchsorted(lines[i], end(corners[:, :, i], axis=1)) for i in range(2)], axis=1)
        for end in (np.min, np.max)
    )
    ends = np.cumsum((high - low).prod(axis=1))
    start, found = 0, []
    while start < len(faces):
        done = ends[start - 1] if start else 0
        now = slice(start, max(start + 1, int(np.searchsorted(ends, done + BLOCK))))
        found.append(_cut_lines(corners[now], faces[now], lines, low[now], high[now] - low[now]))
        start = now.stop
    cuts = _Cuts(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    shape = (len(lines[0]), len(lines[1]), len(lines[2]))
    around = cuts.winding(shape)
    back = np.argsort(order)
    return np.ascontiguousarray(around.transpose(back)), np.ascontiguousarray(cuts.gaps(around).transpose(back))


class _Cuts(NamedTuple):
    """Cuts of the lines along the last axis."""

    i: Int64  # line
    j: Int64
    height: Float64
    at: Int64  # the first point above it
    sign: Int64  # 1 where a line upward leaves

    def winding(self, shape: tuple[int, int, int]) -> Int32:
        """(x,y,z) the sum of the signs above each point."""
        net = np.zeros((shape[0], shape[1], shape[2] + 1), np.int16)
        np.add.at(net, (self.i, self.j, self.at), self.sign)
        return np.asarray(np.cumsum(net[:, :, ::-1], axis=2, dtype=np.int32)[:, :, ::-1][:, :, 1:])

    def gaps(self, around: Int32) -> Bool:
        """(x,y,z-1) whether the winding is zero somewhere between two neighbours."""
        out = np.zeros((*around.shape[:2], around.shape[2] - 1), bool)
        between = (self.at > 0) & (self.at < around.shape[2])
        i, j, at, sign = (part[between] for part in (self.i, self.j, self.at, self.sign))
        line = np.ravel_multi_index((i, j, at), around.shape)
        order = np.lexsort((self.height[between], line))
        i, j, at, sign, line = (part[order] for part in (i, j, at, sign, line))
        total = np.cumsum(sign)
        begins = np.flatnonzero(np.diff(line, prepend=-1))
        before = np.repeat((total - sign)[begins], np.diff(np.append(begins, len(line))))
        left = (around[i, j, at - 1] - (total - before)) == 0
        out[i[left], j[left], at[left] - 1] = True
        return out


def _cut_lines(corners: Float64, faces: Int32, lines: list[Float64], low: Int64, size: Int64) -> _Cuts:
    """Intersections of triangles with lines; low, size (t,2): the lines in the box of each."""
    n_lines = size.prod(axis=1)
    triangle = np.repeat(np.arange(len(corners)), n_lines)
    place = np.arange(len(triangle)) - np.repeat(np.cumsum(n_lines) - n_lines, n_lines)
    i, j = low[triangle, 0] + place // size[triangle, 1], low[triangle, 1] + place % size[triangle, 1]
    point = np.stack([lines[0][i], lines[1][j]], axis=1)
    sides = _sides(corners[triangle], faces[triangle], point)
    leaves, crossed, height = _crossing(sides, corners[triangle])
    sign = np.where(leaves[crossed], 1, -1)
    return _Cuts(i[crossed], j[crossed], height, np.searchsorted(lines[2], height), sign)


def _crossing(sides: Float64, corners: Float64) -> tuple[Bool, Bool, Float64]:
    """Whether a line upward leaves through each triangle, whether it meets it at all, and how high those that do."""
    leaves = np.asarray((sides > 0).all(axis=1))
    crossed = np.asarray(leaves | (sides < 0).all(axis=1))
    share = sides[crossed] / sides[crossed].sum(axis=1, keepdims=True)
    return leaves, crossed, np.einsum("ck,ck->c", share, corners[crossed][:, [2, 0, 1], 2])


def _sides(corners: Float64, faces: Int32, point: Float64) -> Float64:
    """(c,3) twice the area of a point with each edge, seen from above; computed alike for both triangles of an edge.

    A point just on an edge is on the side of the triangle in which the edge runs up in vertex numbers.
    """
    out = np.empty((len(point), 3))
    for k in range(3):
        m = (k + 1) % 3
        up = (faces[:, k] < faces[:, m])[:, None]
        one, other = corners[:, k, :2], corners[:, m, :2]
        first = np.where(up, one, other)
        along, away = np.where(up, other, one) - first, point - first
        area = along[:, 0] * away[:, 1] - along[:, 1] * away[:, 0]
        out[:, k] = np.where(up[:, 0], 1, -1) * np.where(area == 0, np.finfo(float).tiny, area)
    return out
