"""Normals of surfaces, and the normals with which a source is shaded in every frame. Importing this imports numba.

`SourceNormals`: corners of triangles that share a position and an authored normal form one group: a smooth vertex is
one group, a vertex on a hard edge several, and both sides of a texture seam are the same group. The geometric normal of
a group is the area-weighted mean of its triangles. An authored normal that differs from it (a bent or weighted normal)
keeps its coordinates in the frame of the geometric normal and one edge of the group:

    m^f = a g^f + b t^f + c (g^f x t^f),        a, b, c from the rest pose

| symbol | name |
| --- | --- |
| g | geometric normal of the group |
| t | direction of the group's longest edge in the rest pose, made orthogonal to g |

Notes: a frame of 8,431 vertices and 16,843 triangles takes 0.2 ms; NumPy with `bincount` takes 4.3 ms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.kernels import kernel
from osteon.core.mesh import CornerNormals, Mesh


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
    """(v,3) area-weighted unit normals of points (v,3); zero for vertices without triangles."""
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


#: Authored normals of one position that are closer than this, per component, are one normal.
SAME = 2e-3
#: Degrees by which an authored normal must differ from the geometric one to be carried along.
AUTHORED = 0.05


@dataclass(frozen=True, slots=True)
class SourceNormals:
    """Normals of groups of corners, for any pose of a mesh."""

    faces: Int32  # (t,3)
    of_corner: Int32  # (t,3) the group of each corner
    vertex: Int32  # (n,) a vertex of each group
    rest: Float64  # (n,3) unit normals of the rest pose; zero where the triangles of a group have no area
    bent: Int32  # (k,) groups whose authored normal differs from the geometric one
    edges: Int32  # (k,2) the vertices of an edge of each of these
    coordinates: Float64  # (k,3) a, b, c of each of these

    @staticmethod
    def of(mesh: Mesh, welded: Int32, authored: CornerNormals | None) -> SourceNormals:
        """Smooth normals, or the authored ones; `welded (v,)` numbers the positions."""
        of_corner, values = _groups(welded[mesh.faces], authored)
        count = int(of_corner.max(initial=-1)) + 1
        vertex = np.zeros(count, np.int32)
        vertex[of_corner.reshape(-1)[::-1]] = mesh.faces.reshape(-1)[::-1]  # the first corner of each group
        geometric = corner_normals(mesh.rest, mesh.faces, of_corner, count)
        none = np.zeros(0, np.int32), np.zeros((0, 2), np.int32), np.zeros((0, 3))
        if values is None:
            return SourceNormals(mesh.faces, of_corner, vertex, geometric, *none)
        apart = (angles_between(values, geometric) > AUTHORED) & geometric.any(axis=1)
        bent = np.flatnonzero(apart).astype(np.int32)
        edges = _longest_edges(mesh, of_corner, count)[bent]
        g, t = _frames(mesh.rest.astype(np.float64), edges, geometric[bent])
        frame = np.stack([g, t, np.cross(g, t)], axis=1)
        coordinates = np.einsum("kij,kj->ki", frame, values[bent])
        rest = geometric.copy()
        rest[bent] = values[bent]
        return SourceNormals(mesh.faces, of_corner, vertex, rest, bent, edges, coordinates)

    @property
    def count(self) -> int:
        return len(self.vertex)

    def at(self, points: FloatArray) -> Float64:
        """(n,3) unit normals in a pose (v,3); zero where they are undefined."""
        normals = corner_normals(points, self.faces, self.of_corner, self.count)
        if len(self.bent):
            g, t = _frames(np.asarray(points, np.float64), self.edges, normals[self.bent])
            a, b, c = self.coordinates.T[..., None]
            normals[self.bent] = a * g + b * t + c * np.cross(g, t)
        return normals

    def as_stored(self, normals: FloatArray) -> CornerNormals:
        """Normals (n,3) of the groups, as a mesh carries them."""
        return CornerNormals(np.ascontiguousarray(normals, np.float32), self.of_corner)


def _groups(positions: Int32, authored: CornerNormals | None) -> tuple[Int32, Float64 | None]:
    """The group of every corner (t,3), numbered by position, and the authored normal of each."""
    if authored is None:
        used, inverse = np.unique(positions, return_inverse=True)
        del used
        return inverse.reshape(positions.shape).astype(np.int32), None
    values = authored.values.astype(np.float64)[authored.of_corner]
    steps = np.round(values.reshape(-1, 3) / SAME).astype(np.int64)
    keys = np.stack([positions.reshape(-1).astype(np.int64), *steps.T], axis=1)
    rows = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.dtype.itemsize * keys.shape[1]))).ravel()
    order = np.lexsort(keys.T[::-1])
    begins = np.ones(len(rows), bool)
    begins[1:] = rows[order[1:]] != rows[order[:-1]]
    group = np.empty(len(rows), np.int32)
    group[order] = (np.cumsum(begins) - 1).astype(np.int32)
    return group.reshape(positions.shape), values.reshape(-1, 3)[order[begins]]


def _longest_edges(mesh: Mesh, of_corner: Int32, count: int) -> Int32:
    """(n,2) the longest edge of the rest pose that leaves a corner of each group."""
    first, second = mesh.faces.reshape(-1), np.roll(mesh.faces, -1, axis=1).reshape(-1)
    length = np.linalg.norm(mesh.rest[second].astype(np.float64) - mesh.rest[first], axis=1)
    order = np.argsort(length, kind="stable")  # the longest is written last
    edges = np.zeros((count, 2), np.int32)
    edges[of_corner.reshape(-1)[order]] = np.stack([first, second], axis=1)[order]
    return edges


def _frames(points: Float64, edges: Int32, normals: Float64) -> tuple[Float64, Float64]:
    """g (k,3) and t (k,3) of some groups; an edge along the normal leaves t at zero."""
    along = points[edges[:, 1]] - points[edges[:, 0]]
    along -= np.einsum("ki,ki->k", along, normals)[:, None] * normals
    length = np.linalg.norm(along, axis=1, keepdims=True)
    return normals, np.asarray(along / np.where(length > 0, length, 1))


def surface_rotations(mesh: Mesh, welded: Int32, moved: FloatArray) -> Float64:
    """(n,3,3) rotations of the surface's frame at each normal of a mesh, from its rest pose to points (v,3).

    The frame is that of `SourceNormals`: the geometric normal of a group of corners and its longest edge in the rest
    pose. The rotation is exactly the identity where no triangle of the group moves, and where a frame is undefined.
    """
    own = mesh.asset.normals
    of_corner, _ = _groups(welded[mesh.faces], own)
    count = int(of_corner.max(initial=-1)) + 1
    edges = _longest_edges(mesh, of_corner, count)
    rest, points = mesh.rest.astype(np.float64), np.asarray(moved, np.float64)
    frames = [_frames_of(place, edges, corner_normals(place, mesh.faces, of_corner, count)) for place in (rest, points)]
    turned = np.zeros(count, bool)
    np.logical_or.at(turned, of_corner.reshape(-1), np.repeat((rest != points).any(axis=1)[mesh.faces].any(axis=1), 3))
    turned &= np.all([np.abs(np.linalg.det(frame)) > 0.5 for frame in frames], axis=0)
    rotations = np.tile(np.eye(3), (count + 1, 1, 1))  # the last is of normals that no corner uses
    rotations[:-1][turned] = np.einsum("kai,kaj->kij", frames[1][turned], frames[0][turned])
    group = np.full(mesh.n_normals, count, np.int64)
    group[(mesh.faces if own is None else own.of_corner).reshape(-1)[::-1]] = of_corner.reshape(-1)[::-1]
    return np.asarray(rotations[group])


def _frames_of(points: Float64, edges: Int32, normals: Float64) -> Float64:
    """(k,3,3) the three axes of each group as rows."""
    g, t = _frames(points, edges, normals)
    return np.stack([g, t, np.cross(g, t)], axis=1)
