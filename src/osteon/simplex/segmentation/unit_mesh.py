"""A mesh and its skeleton brought to the place and size in which segmentation works.

The area centroid is 0 and the sphere about it that holds the mesh has diameter 1, so that tolerances are plain numbers
and nothing depends on units or on how far away the mesh lies. Triangles are sorted so that near ones have near numbers:
the same work takes half the time when its data is still in the cache. Vertices in the same place count as one for
neighbourhood: files store seams twice.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import bounding_diagonal, is_flat, triangle_areas, triangle_neighbors
from osteon.core.weld import weld_points
from osteon.simplex.segmentation.islands import connect_triangles
from osteon.simplex.segmentation.tree import SurfaceTree, build_tree

__all__ = ["UnitMesh", "make_unit_mesh"]


@dataclass(frozen=True, slots=True)
class UnitMesh:
    """A mesh about the origin, of diameter 1, and its skeleton."""

    vertices: Float64  # (v,3)
    faces: Int32  # (t,3) sorted
    order: Int32  # (t,) their numbers in the input
    neighbors: Int32  # (t,3) triangles across the edges, -1 at a border
    component: Int32  # (t,) connected part of the mesh
    skeleton: StickSkeleton
    center: Float64  # (3,) of the input
    size: float  # diameter in the input
    flat: bool  # all in the plane z = 0
    tree_seconds: float  # that building the tree took

    def bring_back(self, skeleton: StickSkeleton, like: StickSkeleton) -> StickSkeleton:
        """A placed skeleton where the input was; joints that did not move come back exactly."""
        moved = (skeleton.joints != self.skeleton.joints).any(axis=1, keepdims=True)
        step = (skeleton.joints - self.skeleton.joints) * self.size
        return replace(like, joints=np.where(moved, like.joints + step, like.joints))


def make_unit_mesh(
    vertices: Float64, faces: Int32, skeleton: StickSkeleton, dimension: Literal["auto", 2, 3]
) -> tuple[UnitMesh, SurfaceTree]:
    """Bring mesh and skeleton into place, and build the tree of the surface."""
    used = np.zeros(len(vertices), bool)
    used[faces.ravel()] = True
    center, size = _sphere(vertices, faces, vertices[used])
    if size <= 0:  # all in one place: the skeleton gives the unit
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
    """Area centroid of the mesh and diameter of the sphere about it that holds the used vertices."""
    areas = triangle_areas(vertices, faces)
    weights = areas / areas.max() if areas.max() > 0 else np.ones(len(faces))
    share = np.bincount(faces.ravel(), np.repeat(weights, 3), len(vertices))
    center = share @ vertices / share.sum()
    return center, 2 * float(np.sqrt(((used - center) ** 2).sum(axis=1).max()))
