"""Closest points on a triangle mesh for many queries: traversal of a bounding volume hierarchy, nearer child first.

    d(q) = min over triangles t and points x of t of || q - x ||

The closest point of a triangle is the foot of the perpendicular if that is inside, else the nearest point of its three
edges. The edges are tested one by one instead of by the Voronoi regions of the plane: a triangle without area has no
plane, but its edges still have a closest point. A small initial bound shortens the traversal: `near`, a triangle that
is likely to be close, costs one test and saves most of the nodes.

The tree of one pose serves all others: `SurfaceBoxes.moved` keeps its structure and refits its boxes to the vertices.

Notes, horse, 16,843 triangles, its 8,431 vertices moved by 0.2 % of the diagonal, one thread: tree 20 ms, refit 2 ms,
points 11 ms; libigl 40 … 60 ms on two threads for tree and points. Distances agree to 1e-16.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32, checked, checked_indices
from osteon.core.box_tree import build_boxes
from osteon.core.errors import GeometryError
from osteon.core.kernels import Point, compiled_by, cross, dot, inlined, minus
from osteon.core.parallel import available_threads, for_blocks

#: Queries per block of a thread.
BLOCK = 1024
#: Size of the stack of nodes, the depth of the tree. It is split by surface area and may be far from balanced.
MAX_DEPTH = 4096


@dataclass(frozen=True, slots=True)
class SurfaceBoxes:
    """A triangle mesh and the bounding volume hierarchy of its triangles."""

    faces: Int32  # (t,3) of the mesh
    order: Int32  # (t,) its triangles in the order of the tree
    corners: Float64  # (t,9) in that order
    bounds: Float64  # (n,6) lowest and highest corner of every box
    links: Int32  # (n,3) the node after the subtree; first triangle and number of triangles of a leaf

    @staticmethod
    def of(vertices: FloatArray, faces: Int32) -> SurfaceBoxes:
        """Build the tree of a mesh; vertices (v,3), faces (t,3)."""
        points = checked("vertices", vertices, (None, 3), np.float64)
        triangles = checked_indices("faces", faces, (None, 3), len(points))
        if not len(triangles):
            raise GeometryError("faces: a surface without triangles has no closest point")
        triangle_points = points[triangles]
        tree = build_boxes(np.concatenate([triangle_points.min(axis=1), triangle_points.max(axis=1)], axis=1))
        corners = np.ascontiguousarray(triangle_points[tree.order].reshape(-1, 9))
        links = np.stack([tree.after, tree.first, tree.held], axis=1)
        return SurfaceBoxes(triangles, tree.order, corners, tree.bounds, links)

    def moved(self, vertices: FloatArray) -> SurfaceBoxes:
        """The same triangles in another pose, in a refitted tree of the same structure."""
        points = np.asarray(vertices, np.float64)
        corners = np.ascontiguousarray(points[self.faces[self.order]].reshape(-1, 9))
        bounds = np.empty_like(self.bounds)
        _fit_boxes(corners, self.links, bounds)
        return replace(self, corners=corners, bounds=bounds)


@dataclass(frozen=True, slots=True)
class ClosestPoints:
    """The closest point on the surface for each query."""

    distances: Float64  # (n,)
    points: Float64  # (n,3) on the surface
    triangles: Int32  # (n,)


def closest_points(
    surface: SurfaceBoxes, queries: FloatArray, near: Int32 | None = None, *, threads: int = 0
) -> ClosestPoints:
    """The closest point on the surface to each of queries (n,3).

    `near` (n,) holds triangles that are likely to be close, or -1; they change the time, not the result.
    """
    points = np.ascontiguousarray(queries, np.float64)
    place = np.full(len(points), -1, np.int32)
    if near is not None:
        position = np.empty(len(surface.order), np.int32)
        position[surface.order] = np.arange(len(surface.order), dtype=np.int32)
        place = np.where(near >= 0, position[near], np.int32(-1)).astype(np.int32)
    answer = np.empty((len(points), 4))

    def work(start: int, stop: int) -> None:
        block, stack = slice(start, stop), np.empty((MAX_DEPTH, 2))
        _search(points[block], surface.corners, surface.bounds, surface.links, stack, place[block], answer[block])

    for_blocks(work, len(points), BLOCK, available_threads(threads))
    return ClosestPoints(np.sqrt(answer[:, 0]), answer[:, 1:], surface.order[place])


def first_triangles(faces: Int32, n_vertices: int) -> Int32:
    """(v,) one triangle of each vertex, -1 for vertices without triangles."""
    out = np.full(n_vertices, -1, np.int32)
    out[faces[::-1].ravel()] = np.repeat(np.arange(len(faces), dtype=np.int32)[::-1], 3)
    return out


def depth_outside(points: Float64, vertices: Float64, faces: np.ndarray, distances: Float64) -> Float64:
    """(n,) how far points (n,3) are outside a mesh, 0 inside, from their distances (n,) to its surface.

    A point is inside if its generalised winding number exceeds one half in magnitude.
    """
    corners = vertices[faces][None] - points[:, None, None]
    lengths = np.linalg.norm(corners, axis=3)
    a, b, c = corners[:, :, 0], corners[:, :, 1], corners[:, :, 2]
    volume = np.einsum("nti,nti->nt", a, np.cross(b, c))
    denominator = lengths.prod(axis=2)
    for first, second, third in ((a, b, 2), (b, c, 0), (c, a, 1)):
        denominator += np.einsum("nti,nti->nt", first, second) * lengths[:, :, third]
    winding = np.arctan2(volume, denominator).sum(axis=1) / (2 * np.pi)
    return np.where(np.abs(winding) > 0.5, 0.0, distances)


@compiled_by({"_nrt": False}, "f8.2r i4.2r f8.2")
def _fit_boxes(corners: Float64, links: Int32, bounds: Float64) -> None:
    """Compute the boxes of leaves from their triangles and of inner nodes from their children, last node first."""
    for node in range(links.shape[0] - 1, -1, -1):
        if links[node, 2]:
            for k in range(3):
                bounds[node, k], bounds[node, 3 + k] = 1e300, -1e300
            for t in range(links[node, 1], links[node, 1] + links[node, 2]):
                for c in range(9):
                    k = c % 3
                    bounds[node, k] = min(bounds[node, k], corners[t, c])
                    bounds[node, 3 + k] = max(bounds[node, 3 + k], corners[t, c])
        else:
            one, other = node + 1, links[node + 1, 0]
            for k in range(3):
                bounds[node, k] = min(bounds[one, k], bounds[other, k])
                bounds[node, 3 + k] = max(bounds[one, 3 + k], bounds[other, 3 + k])


@compiled_by({"_nrt": False}, "f8.2r f8.2r f8.2r i4.2r f8.2 i4.1 f8.2")
def _search(
    queries: Float64,
    corners: Float64,
    bounds: Float64,
    links: Int32,
    stack: Float64,
    place: Int32,
    answer: Float64,
) -> None:
    """Fill place (n,) with the triangle closest to each query, answer (n,4) with its squared distance and the point.

    On entry, place holds a triangle to start with, or -1. The stack (m,2) holds nodes and their squared distances.
    """
    for n in range(queries.shape[0]):
        q = (queries[n, 0], queries[n, 1], queries[n, 2])
        best, point = np.inf, q
        if place[n] >= 0:
            best, point = _on_triangle(corners, place[n], q)
        stack[0, 0], stack[0, 1], depth = 0, _off_box(bounds, 0, q), 1
        while depth:
            depth -= 1
            if stack[depth, 1] >= best:
                continue
            node = int(stack[depth, 0])
            while not links[node, 2]:  # descend to a leaf by the nearer child; push the other
                one, other = node + 1, int(links[node + 1, 0])
                a, b = _off_box(bounds, one, q), _off_box(bounds, other, q)
                if b < a:
                    one, other, a, b = other, one, b, a
                if b < best:
                    stack[depth, 0], stack[depth, 1] = other, b
                    depth += 1
                node = one
                if a >= best:
                    break
            for t in range(links[node, 1], links[node, 1] + links[node, 2]):
                tried, where = _on_triangle(corners, t, q)
                if tried < best:
                    best, point, place[n] = tried, where, t
        answer[n, 0], answer[n, 1], answer[n, 2], answer[n, 3] = best, point[0], point[1], point[2]


@inlined
def _off_box(bounds: Float64, node: int, q: Point) -> float:
    """Squared distance of a point from a box; 0 inside."""
    x = max(max(bounds[node, 0] - q[0], q[0] - bounds[node, 3]), 0.0)
    y = max(max(bounds[node, 1] - q[1], q[1] - bounds[node, 4]), 0.0)
    z = max(max(bounds[node, 2] - q[2], q[2] - bounds[node, 5]), 0.0)
    squared: float = x * x + y * y + z * z
    return squared


@inlined
def _on_triangle(corners: Float64, t: int, q: Point) -> tuple[float, Point]:
    """Squared distance of a point from a triangle, and its closest point."""
    a = (corners[t, 0], corners[t, 1], corners[t, 2])
    b = (corners[t, 3], corners[t, 4], corners[t, 5])
    c = (corners[t, 6], corners[t, 7], corners[t, 8])
    ab, bc, ca, aq = minus(b, a), minus(c, b), minus(a, c), minus(q, a)
    n = cross(ab, bc)
    area = dot(n, n)
    if (
        area > 0
        and dot(cross(n, ab), aq) > 0
        and dot(cross(n, bc), minus(q, b)) > 0
        and dot(cross(n, ca), minus(q, c)) > 0
    ):
        up = dot(n, aq)
        s = up / area
        return up * s, (q[0] - s * n[0], q[1] - s * n[1], q[2] - s * n[2])
    best, point = _on_edge(a, ab, q)
    tried, where = _on_edge(b, bc, q)
    if tried < best:
        best, point = tried, where
    tried, where = _on_edge(c, ca, q)
    if tried < best:
        best, point = tried, where
    return best, point


@inlined
def _on_edge(a: Point, direction: Point, q: Point) -> tuple[float, Point]:
    """Squared distance of a point from an edge that starts at a, and its closest point."""
    length = dot(direction, direction)
    s = min(max(dot(minus(q, a), direction) / length, 0.0), 1.0) if length > 0 else 0.0
    point = (a[0] + s * direction[0], a[1] + s * direction[1], a[2] + s * direction[2])
    off = minus(q, point)
    return dot(off, off), point
