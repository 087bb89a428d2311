"""Normalise position and size of a mesh and its skeleton for segmentation, and sort its triangles.

The area centroid is 0 and the bounding sphere about it has diameter 1, so that tolerances are plain numbers and results
do not depend on units or on the position of the mesh. Triangles are sorted so that adjacent ones have close indices:
segmentation then takes half the time, as its data is still in the cache. Coincident vertices are merged to find
neighbours, as files store the vertices of seams twice.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from osteon.core.arrays import Float64, Int32
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import bounding_diagonal, is_flat, triangle_areas, triangle_neighbors, weld_points
from osteon.simplex.segmentation.tree import SurfaceTree, build_tree


@dataclass(frozen=True, slots=True)
class UnitMesh:
    """A mesh of diameter 1 about the origin, and its skeleton."""

    vertices: Float64  # (v,3)
    faces: Int32  # (t,3) sorted
    order: Int32  # (t,) their indices in the input
    neighbors: Int32  # (t,3) triangles across the edges, -1 at a border
    component: Int32  # (t,) connected part of the mesh
    skeleton: StickSkeleton
    center: Float64  # (3,) of the input
    size: float  # diameter in the input
    flat: bool  # the mesh is in the plane z = 0
    tree_seconds: float  # time to build the tree

    def bring_back(self, skeleton: StickSkeleton, like: StickSkeleton) -> StickSkeleton:
        """Map a normalised skeleton to input coordinates; joints that did not move are restored exactly."""
        moved = (skeleton.joints != self.skeleton.joints).any(axis=1, keepdims=True)
        step = (skeleton.joints - self.skeleton.joints) * self.size
        return replace(like, joints=np.where(moved, like.joints + step, like.joints))


def make_unit_mesh(
    vertices: Float64, faces: Int32, skeleton: StickSkeleton, dimension: Literal["auto", 2, 3]
) -> tuple[UnitMesh, SurfaceTree]:
    """Normalise mesh and skeleton, and build the tree of the surface."""
    used = np.zeros(len(vertices), bool)
    used[faces.ravel()] = True
    center, size = _sphere(vertices, faces, vertices[used])
    if size <= 0:  # all vertices coincide: use the size of the skeleton
        size = bounding_diagonal(skeleton.joints)
    flat = dimension == 2 or (dimension == "auto" and is_flat(vertices[used]) and is_flat(skeleton.joints))
    scale = np.array([1, 1, 0 if flat else 1]) / size
    points, joints = (vertices - center) * scale, (skeleton.joints - center) * scale
    start = time.perf_counter()
    tree = build_tree(points, faces)
    seconds = time.perf_counter() - start
    order = tree.triangle
    triangles = faces[order]
    unique, inverse = weld_points(points)
    welded = unique[inverse[triangles]]
    if flat:
        tree = build_tree(points, welded, flat=True)
    elif not np.array_equal(order, np.arange(len(order))):
        tree = tree._replace(triangle=np.arange(len(order), dtype=np.int32))
    neighbors = triangle_neighbors(welded)
    mesh = UnitMesh(
        *(points, triangles, order, neighbors, connect_triangles(neighbors)),
        *(replace(skeleton, joints=joints), center, size, flat, seconds),
    )
    return mesh, tree


def _sphere(vertices: Float64, faces: Int32, used: Float64) -> tuple[Float64, float]:
    """Area centroid of the mesh, and diameter of the bounding sphere of the used vertices about it."""
    areas = triangle_areas(vertices, faces)
    weights = areas / areas.max() if areas.max() > 0 else np.ones(len(faces))
    share = np.bincount(faces.ravel(), np.repeat(weights, 3), len(vertices))
    center = share @ vertices / share.sum()
    return center, 2 * float(np.sqrt(((used - center) ** 2).sum(axis=1).max()))


# Connected segments: small islands of a bone are joined to the segment around them.
#
# In every component of the mesh a bone keeps its largest connected piece (by area). Each other piece is joined to the
# kept piece with which it shares the longest border; pieces that only border on other islands wait for the next round.
# Each round joins at least one piece, so the iteration ends, and then every bone has one piece per component.
#
# Not in Yan, Hu, Martin, Yang, 2008: a range plane that cuts through a bulge, or a line that passes through a gap,
# leaves triangles among those of another bone, and poses distort the surface strongly at their borders.


def connect_triangles(neighbors: Int32, bone: Int32 | None = None) -> Int32:
    """(t,) connected piece of each triangle; with bones, pieces of triangles with the same bone."""
    n = len(neighbors)
    t, e = np.nonzero(neighbors >= 0 if bone is None else (neighbors >= 0) & (bone[neighbors] == bone[:, None]))
    graph = csr_array((np.ones(len(t), np.int8), (t, neighbors[t, e])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], np.int32)


def join_islands(bone: Int32, component: Int32, areas: Float64, neighbors: Int32, borders: Float64) -> Int32:
    """Return the bones with islands joined to the segments around them; borders (t,3) are the lengths of edges."""
    out = bone.copy()
    while True:
        piece = connect_triangles(neighbors, out)
        kept = _kept_pieces(piece, out, component, areas)
        if kept.all():
            return out
        t, e = np.nonzero((neighbors >= 0) & ~kept[piece][:, None])
        t, e = t[kept[piece[neighbors[t, e]]]], e[kept[piece[neighbors[t, e]]]]
        if not len(t):
            return out
        target = _longest_border(piece[t], out[neighbors[t, e]], borders[t, e])
        new = np.full(len(kept), -1, np.int32)
        new[target[0]] = target[1]
        out = np.where(new[piece] >= 0, new[piece], out)


def _kept_pieces(piece: Int32, bone: Int32, component: Int32, areas: Float64) -> np.ndarray:
    """(p,) whether a piece is the largest of its bone in its component; the first of equal ones."""
    _, first = np.unique(piece, return_index=True)
    size = np.bincount(piece, areas)
    order = np.lexsort((np.arange(len(first)), -size, bone[first], component[first]))
    group = np.stack([component[first], bone[first]], axis=1)[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (group[1:] != group[:-1]).any(axis=1)
    kept = np.zeros(len(first), bool)
    kept[order[begins]] = True
    return kept


def _longest_border(piece: Int32, other: Int32, length: Float64) -> tuple[Int32, Int32]:
    """The bone with which every piece shares the longest border; the lowest index of equal ones."""
    pairs, inverse = np.unique(np.stack([piece, other], axis=1), axis=0, return_inverse=True)
    total = np.bincount(inverse.reshape(-1), length)
    order = np.lexsort((pairs[:, 1], -total, pairs[:, 0]))
    _, first = np.unique(pairs[order, 0], return_index=True)
    best = pairs[order[first]]
    return best[:, 0], best[:, 1]
