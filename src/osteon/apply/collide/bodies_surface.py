"""The surface of a moving character between two frames, as a tree of the boxes that its triangles sweep.

A vertex moves linearly from one frame to the next, as the page plays it. A box around both ends contains all of the
way, so one refit per pair of frames finds every triangle that a body may touch in between. Triangles of closed shells
have an outer side; those of open ones are touched from both sides.

Notes
8,431 vertices, 16,843 triangles, one core, per interval: boxes 0.14 ms, gathering corners of both ends 4.7 ms, so an
interval takes over those where the last one ended. A refit repeated in a loop, with the pose of its end: horse 1.07 ms,
Soldier 0.79 ms; within a simulation 4.5 and 2.9 ms, 59 and 63 % of all time with 1 body, 5 and 14 % with 200 (all on a
busy machine, before corners were taken over). Against it, spheres of 0.04 diagonals in the frames at both ends by
`Collider`, whose boxes are stored: all triangles near each, one call per body, horse 0.2 ms for 1 body, 0.8 for 3, 1.6
for 10, Soldier 0.09, 1.2, 3.5; only the deepest contact of each, in one call, 0.02 ms for 1 body, 0.4 and 0.5 for 100,
0.9 and 1.1 for 200. So a compiled list of triangles through those trees may be quicker for tens of bodies; it was not
built: boxes of two poses in the frames of the bones do not bound what moves between the poses, which a step needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from osteon.apply.collide.bodies_state import Record
from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.box_tree import build_boxes
from osteon.core.kernels import compiled_by, lean

Uint8 = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class SweptSurface:
    """Triangles in the order of their tree, at the beginning and at the end of an interval."""

    faces: Int32  # (t,3) in the order of the tree
    order: Int32  # (t,) the triangles of the mesh
    one_sided: Uint8  # (t,) 1: part of a closed shell
    links: Int32  # (n,3) node after the subtree; first triangle and number of triangles of a leaf
    begin: Float64  # (t,9) corners
    end: Float64  # (t,9)
    bounds: Float64  # (n,6) of all that a node sweeps

    @staticmethod
    def of(vertices: FloatArray, faces: Int32) -> SweptSurface:
        """A still surface; a mesh without triangles is a surface that nothing touches."""
        points = np.asarray(vertices, np.float64)
        corners = points[faces].reshape(-1, 3, 3)
        tree = build_boxes(np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1))
        links = np.stack([tree.after, tree.first, tree.held], axis=1)
        shells = closed_triangles(points, faces)
        empty = np.empty((0, 9))
        still = SweptSurface(faces[tree.order], tree.order, shells[tree.order], links, empty, empty, tree.bounds)
        return still.moved(points, points)

    def moved(self, begin: FloatArray, end: FloatArray) -> SweptSurface:
        """The same triangles in the interval between two poses (v,3)."""
        return self._between(self._corners(begin), self._corners(end))

    def then(self, end: FloatArray) -> SweptSurface:
        """The interval after this one, to a pose (v,3)."""
        return self._between(self.end, self._corners(end))

    def _corners(self, points: FloatArray) -> Float64:
        return np.asarray(points, np.float64)[self.faces].reshape(-1, 9)

    def _between(self, first: Float64, last: Float64) -> SweptSurface:
        bounds = np.empty_like(self.bounds)
        if len(first):
            fit_swept(first, last, self.links, bounds)
        return replace(self, begin=first, end=last, bounds=bounds)


def closed_triangles(points: Float64, faces: Int32) -> Uint8:
    """(t,) 1 for triangles of shells in which every edge has exactly two triangles, of opposite directions.

    Vertices at the same place are one, so that seams of texture coordinates do not open a shell.
    """
    if not len(faces):
        return np.zeros(0, np.uint8)
    _, welded = np.unique(points, axis=0, return_inverse=True)
    corner = welded.reshape(-1)[faces]
    begin, end = corner.reshape(-1), np.roll(corner, -1, axis=1).reshape(-1)
    count = int(corner.max()) + 1
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    _, edge, uses = np.unique(low * np.int64(count) + high, return_inverse=True, return_counts=True)
    edge = edge.reshape(-1)
    balance = np.bincount(edge, np.where(begin < end, 1, -1))
    good = (uses == 2) & (balance == 0)
    graph = coo_array((np.ones(len(begin)), (begin, end)), shape=(count, count))
    _, shell = connected_components(graph, directed=False)
    open_shells = np.unique(shell[begin[~good[edge]]])
    return (~np.isin(shell[corner[:, 0]], open_shells)).astype(np.uint8)


@compiled_by({"_nrt": False}, "f8.2r f8.2r i4.2r f8.2")
def fit_swept(begin: Float64, end: Float64, links: Int32, bounds: Float64) -> None:
    """Compute the boxes of leaves from both ends of their triangles, and of inner nodes from their children."""
    for node in range(links.shape[0] - 1, -1, -1):
        if not links[node, 2]:
            one, other = node + 1, links[node + 1, 0]
            for k in range(3):
                bounds[node, k] = min(bounds[one, k], bounds[other, k])
                bounds[node, 3 + k] = max(bounds[one, 3 + k], bounds[other, 3 + k])
            continue
        for k in range(3):
            low, high = np.inf, -np.inf
            for t in range(links[node, 1], links[node, 1] + links[node, 2]):
                for c in range(k, 9, 3):
                    low = min(low, begin[t, c], end[t, c])
                    high = max(high, begin[t, c], end[t, c])
            bounds[node, k], bounds[node, 3 + k] = low, high


@lean
def list_near(begin: Float64, end: Float64, links: Int32, bounds: Float64, body: Record, near: Int32) -> float:
    """Write the triangles that sweep through the box of a body to `near` (c,), and their number to body.count.

    The number may exceed the room. Returns the longest way of a corner of them.
    """
    count, farthest, node = 0, 0.0, 0
    nodes = links.shape[0] if begin.shape[0] else 0
    while node < nodes:
        if (
            bounds[node, 0] > body.hx
            or bounds[node, 3] < body.lx
            or bounds[node, 1] > body.hy
            or bounds[node, 4] < body.ly
            or bounds[node, 2] > body.hz
            or bounds[node, 5] < body.lz
        ):
            node = links[node, 0]
            continue
        for t in range(links[node, 1], links[node, 1] + links[node, 2]):
            if _is_outside(begin, end, t, body):
                continue
            if count < near.shape[0]:
                near[count] = t
            count += 1
            for c in range(0, 9, 3):
                x, y, z = end[t, c] - begin[t, c], end[t, c + 1] - begin[t, c + 1], end[t, c + 2] - begin[t, c + 2]
                farthest = max(farthest, x * x + y * y + z * z)
        node += 1
    body.count = count
    return float(np.sqrt(farthest))


@lean
def _is_outside(begin: Float64, end: Float64, t: int, body: Record) -> bool:
    """Whether the box that a triangle sweeps misses the box of a body."""
    for k in range(3):
        low = min(begin[t, k], begin[t, 3 + k], begin[t, 6 + k], end[t, k], end[t, 3 + k], end[t, 6 + k])
        high = max(begin[t, k], begin[t, 3 + k], begin[t, 6 + k], end[t, k], end[t, 3 + k], end[t, 6 + k])
        if k == 0 and (low > body.hx or high < body.lx):
            return True
        if k == 1 and (low > body.hy or high < body.ly):
            return True
        if k == 2 and (low > body.hz or high < body.lz):
            return True
    return False
