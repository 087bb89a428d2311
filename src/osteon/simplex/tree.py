"""How often a straight line crosses the surface: a tree of boxes over its triangles.

A crossing through an edge or a corner that several triangles share counts once. Triangles are projected along the
line to the plane in which the line is the point 0. Edge functions x1 y2 - x2 y1 come out exactly opposite for the two
triangles of an edge (so this file is compiled without fused sums), and where one is 0 the line is taken to pass an
infinitesimal step (e, e^2) aside, as a rasteriser does with its top-left rule. A line that lies in the plane of a
triangle, or only touches it with its first or last point, does not cross it.

| paper | here |
| --- | --- |
| BSP tree | `SurfaceTree` |
| n of eq. 6 | `count_crossings` |

Based on: Yan, Hu, Martin, Yang, 2008, 4.1 step 2; the projection follows Woop, Benthin, Wald, Watertight Ray/Triangle
Intersection, 2013.

Differs from the paper: boxes instead of a BSP tree, which would cut triangles. In 2D the border edges are the surface:
they are raised to walls, and the same tree serves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.simplex.boxes import BoxTree, build_boxes, exact

__all__ = ["SurfaceTree", "build_tree", "count_crossings", "crossings_between"]

#: A crossing this near to an end of the line (over the size of the mesh, which is 1 here) only touches.
TOUCH = 1e-9
#: Boxes are this much larger than what they hold, so that rounding loses no crossing.
SLACK = 1e-12
#: More than any surface: a walk that never stops early.
ALL = 2**31 - 1


class SurfaceTree(NamedTuple):
    """A surface and its boxes, as kernels take them."""

    boxes: BoxTree
    corners: Float64  # (t,9) of its triangles in the order of the tree
    triangle: Int32  # (t,) of the mesh that each stands for


def build_tree(vertices: Float64, faces: Int32, flat: bool = False) -> SurfaceTree:
    """The tree of a mesh of size about 1; `flat`: of the border of a mesh in the plane z = 0."""
    owner = np.arange(len(faces), dtype=np.int32)
    if flat:
        vertices, faces, owner = _raise_walls(vertices, faces)
    corners = np.ascontiguousarray(vertices[faces], np.float64)
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    low, high = np.minimum(np.minimum(a, b), c) - SLACK, np.maximum(np.maximum(a, b), c) + SLACK
    boxes = build_boxes(np.concatenate([low, high], axis=1))
    return SurfaceTree(boxes, corners.reshape(-1, 9)[boxes.order], owner[boxes.order])


def _raise_walls(vertices: Float64, faces: Int32) -> tuple[Float64, Int32, Int32]:
    """Border edges of a mesh in the plane z = 0 as walls across it, and the triangles that they bound."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    _, where, times = np.unique(np.sort(edges, axis=1), axis=0, return_index=True, return_counts=True)
    where = where[times == 1]
    i, j = edges[where].T
    n = len(vertices)
    low, high = vertices - [0, 0, 0.5], vertices + [0, 0, 0.75]  # lines at z = 0 pass beside the middle of a diagonal
    walls = np.concatenate([np.stack([i, j, j + n], axis=1), np.stack([i, j + n, i + n], axis=1)])
    return np.concatenate([low, high]), walls.astype(np.int32), np.tile(where % len(faces), 2).astype(np.int32)


def crossings_between(tree: SurfaceTree, start: Float64, stop: Float64) -> tuple[Float64, Int32]:
    """Where the line crosses the surface, ascending: 0 … 1 from start to stop, and the triangles."""
    ends = (*(float(x) for x in start), *(float(x) for x in stop))
    found: int = count_crossings(tree, ends, -1, ALL, np.empty(0), np.empty(0, np.int32))
    at, hit = np.empty(found), np.empty(found, np.int32)
    count_crossings(tree, ends, -1, ALL, at, hit)
    order = np.lexsort((hit, at))
    return at[order], hit[order]


@exact
def count_crossings(tree, ends, skip, limit, at, hit):
    """Crossings of the line between two points (ends: x y z x y z) with all triangles but `skip`.

    Stops at limit + 1. As many as fit are stored in `at` (0 … 1) and `hit` (triangle).
    """
    ox, oy, oz = ends[0], ends[1], ends[2]
    dx, dy, dz = ends[3] - ox, ends[4] - oy, ends[5] - oz
    length = np.sqrt(dx * dx + dy * dy + dz * dz)
    if length <= 2 * TOUCH:
        return 0
    touch = TOUCH / length
    ix, iy, iz = _inverse(dx), _inverse(dy), _inverse(dz)
    boxes, corners = tree.boxes, tree.corners
    bounds, after, triangle = boxes.bounds, boxes.after, tree.triangle
    found = node = 0
    while node < after.size:
        x0, x1 = (bounds[node, 0] - ox) * ix, (bounds[node, 3] - ox) * ix
        y0, y1 = (bounds[node, 1] - oy) * iy, (bounds[node, 4] - oy) * iy
        z0, z1 = (bounds[node, 2] - oz) * iz, (bounds[node, 5] - oz) * iz
        enter = max(max(min(x0, x1), min(y0, y1)), max(min(z0, z1), 0.0))
        leave = min(min(max(x0, x1), max(y0, y1)), min(max(z0, z1), 1.0))
        if enter > leave:
            node = after[node]
            continue
        for i in range(boxes.first[node], boxes.first[node] + boxes.count[node]):
            if triangle[i] == skip:
                continue
            s = _cross(corners, i, ox, oy, oz, dx, dy, dz)
            if touch < s < 1 - touch:
                if found < at.size:
                    at[found], hit[found] = s, triangle[i]
                found += 1
                if found > limit:
                    return found
        node += 1
    return found


@exact
def _inverse(d):
    """1 / d, large instead of infinite, so that 0 times it is no NaN."""
    return 1 / d if abs(d) > 1e-200 else np.copysign(1e200, d)


@exact
def _cross(corners, i, ox, oy, oz, dx, dy, dz):
    """Where (in lengths of d from o) the line passes through a triangle, -1 where it does not."""
    ax, ay, az = corners[i, 0] - ox, corners[i, 1] - oy, corners[i, 2] - oz
    bx, by, bz = corners[i, 3] - ox, corners[i, 4] - oy, corners[i, 5] - oz
    cx, cy, cz = corners[i, 6] - ox, corners[i, 7] - oy, corners[i, 8] - oz
    if abs(dx) > abs(dy) and abs(dx) > abs(dz):  # the longest axis becomes z
        ax, az, bx, bz, cx, cz, dx, dz = az, ax, bz, bx, cz, cx, dz, dx
    elif abs(dy) > abs(dz):
        ay, az, by, bz, cy, cz, dy, dz = az, ay, bz, by, cz, cy, dz, dy
    sx, sy = dx / dz, dy / dz
    ax, ay = ax - sx * az, ay - sy * az
    bx, by = bx - sx * bz, by - sy * bz
    cx, cy = cx - sx * cz, cy - sy * cz
    u, v, w = bx * cy - cx * by, cx * ay - ax * cy, ax * by - bx * ay
    left = _left(u, bx, by, cx, cy)
    if left != _left(v, cx, cy, ax, ay) or left != _left(w, ax, ay, bx, by):
        return -1.0
    area = u + v + w
    return (u * az + v * bz + w * cz) / (area * dz) if area != 0 else -1.0


@exact
def _left(edge, x1, y1, x2, y2):
    """Whether the point (e, e^2) lies left of the edge from 1 to 2, whose edge function at 0 is given."""
    if edge != 0:
        return edge > 0
    return y2 < y1 or (y2 == y1 and x2 > x1)
