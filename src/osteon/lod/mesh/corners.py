"""A mesh as corners of triangles, with the point, the vertex and the wedge of each corner.

- A **point** is a set of vertices that coincide at rest and in the chosen poses. Edges between points collapse.
- A **vertex** is one of the model's. Files store hard edges and seams as several vertices at one point.
- A **wedge** is a set of corners at a point with the same texture coordinates, colour, material and primitive. An
  edge between different wedges is a seam.

Triangles with fewer than three points are invisible and omitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, FloatArray, Int32, Int64, IntArray
from osteon.core.mesh import Asset, Mesh
from osteon.core.topology import weld_points

#: Vertices coincide in a pose up to this distance, relative to the diagonal.
TOGETHER = 1e-5
#: Tolerance of equal texture coordinates.
SAME_TEXTURE = 1e-5
#: Kinds of edges: between two triangles with the same wedges, or not; of one triangle; of more than two.
PLAIN, SEAM, BORDER, MANY = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Corners:
    """Corner 3 t + e is the e-th of the t-th triangle that is kept."""

    points: Int32  # (3t,)
    vertices: Int32  # (3t,)
    wedges: Int32  # (3t,)
    n_points: int
    n_vertices: int
    n_wedges: int
    point_of_vertex: Int32  # (v,)
    vertex_of_point: Int32  # (n,) one vertex of each point
    triangles: Int32  # (t,) their indices in the mesh

    @property
    def faces(self) -> Int32:
        """(t,3) points of every triangle."""
        return self.points.reshape(-1, 3)


def corners_of(mesh: Mesh, posed: Float64) -> Corners:
    """The corners of a mesh whose vertices are posed (f,v,3) in units of the diagonal."""
    vertex_of_point, point_of_vertex = weld_moving(mesh.rest, posed)
    faces = point_of_vertex[mesh.faces]
    solid = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    triangles = np.flatnonzero(solid).astype(np.int32)
    points = np.ascontiguousarray(faces[triangles].reshape(-1))
    vertices = np.ascontiguousarray(mesh.faces[triangles].reshape(-1))
    wedges, n_wedges = _wedges(mesh.asset, triangles, points, vertices)
    counts = (len(vertex_of_point), mesh.n_vertices, n_wedges)
    return Corners(points, vertices, wedges, *counts, point_of_vertex, vertex_of_point, triangles)


def weld_moving(rest: FloatArray, posed: Float64) -> tuple[Int32, Int32]:
    """Indices (n,) of one vertex of every point, ascending, and (v,) the point of each vertex."""
    first, group = weld_points(np.asarray(rest) + np.float32(0))  # -0 becomes 0
    leader = first[group].astype(np.int32)
    apart = _apart(posed, leader)
    while apart.any():  # vertices that move away from their group form a new one
        away = np.flatnonzero(apart)
        _, begins, same = np.unique(leader[away], return_index=True, return_inverse=True)
        leader[away] = away[begins[same.reshape(-1)]]
        apart = _apart(posed, leader)
    vertex_of_point, point_of_vertex = np.unique(leader, return_inverse=True)
    return vertex_of_point.astype(np.int32), point_of_vertex.reshape(-1).astype(np.int32)


def _apart(posed: Float64, leader: Int32) -> NDArray[np.bool_]:
    """(v,) whether a vertex differs from the first of its group in some pose."""
    apart = np.zeros(len(leader), bool)
    shared = np.flatnonzero(leader != np.arange(len(leader)))
    for pose in posed:
        apart[shared] |= np.abs(pose[shared] - pose[leader[shared]]).max(axis=1, initial=0.0) > TOGETHER
    return apart


def _wedges(asset: Asset, triangles: Int32, points: Int32, vertices: Int32) -> tuple[Int32, int]:
    """(3t,) the wedge of every corner, and the number of wedges."""
    keys: list[NDArray[np.int64]] = [points.astype(np.int64)]
    for uvs in () if asset.uvs is None else (asset.uvs, *asset.more_uvs):
        grid = np.round(uvs[triangles].reshape(-1, 2).astype(np.float64) / SAME_TEXTURE)
        keys += [np.clip(axis, -(2.0**62), 2.0**62).astype(np.int64) for axis in grid.T]
    for colors in () if asset.colors is None else (asset.colors, *asset.more_colors):
        _, which = np.unique(colors, axis=0, return_inverse=True)
        keys.append(which.reshape(-1)[vertices].astype(np.int64))
    for which_part in (asset.triangle_material, asset.primitive_of_triangle):
        if which_part is not None:
            keys.append(np.repeat(which_part[triangles].astype(np.int64), 3))
    if not len(points):
        return np.empty(0, np.int32), 0
    order = np.lexsort(keys[::-1])
    sorted_keys = np.stack(keys)[:, order]
    begins = np.ones(len(order), bool)
    begins[1:] = (sorted_keys[:, 1:] != sorted_keys[:, :-1]).any(axis=0)
    wedges = np.empty(len(order), np.int32)
    wedges[order] = np.cumsum(begins) - 1
    return wedges, int(begins.sum())


def edges_of(points: IntArray) -> Int32:
    """(e,2) every edge once, from the points (3t,) of corners; removed ones are -1."""
    faces = points.reshape(-1, 3)
    faces = faces[faces[:, 0] >= 0].astype(np.int64)
    ends = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    size = int(ends.max(initial=0)) + 1
    keys = np.unique(ends[:, 0] * size + ends[:, 1])
    return np.stack([keys // size, keys % size], axis=1).astype(np.int32)


def edge_kinds(points: IntArray, wedges: IntArray) -> Int32:
    """(3t,) the kind of the edge from each corner to the next of its triangle, from points and wedges (3t,)."""
    there = following(np.arange(len(points)))
    a, b = points.astype(np.int64), points[there].astype(np.int64)
    low, high = np.where(a > b, wedges[there], wedges), np.where(a > b, wedges, wedges[there])
    keys = np.minimum(a, b) * (int(points.max(initial=0)) + 1) + np.maximum(a, b)
    _, first, group, count = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    kinds = np.select([count == 1, count == 2], [BORDER, PLAIN], MANY)
    unlike = (low[first][group] != low) | (high[first][group] != high)
    seams = np.zeros(len(count), bool)
    seams[group[unlike]] = True
    kinds[seams & (kinds == PLAIN)] = SEAM
    return kinds[group].astype(np.int32)


def following(corners: IntArray) -> Int64:
    """The next corner in the triangle of each corner."""
    return corners + np.where(corners % 3 == 2, -2, 1)
