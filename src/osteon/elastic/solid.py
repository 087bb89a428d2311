"""A solid of tetrahedra and the surface that it carries.

Surface vertices are nodes of the solid, or points in its elements: x_v = sum_a weights_va x_a over the four corners.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from osteon.core.arrays import Bool, Float64, Int32, IntArray, checked, checked_indices
from osteon.core.errors import GeometryError
from osteon.core.mesh import Asset, Mesh

#: A tetrahedron with less volume than this, over that of a regular one with its longest edge, has no shape.
FLAT = 1e-6


@dataclass(frozen=True, slots=True)
class Solid:
    """Tetrahedra at rest, and a surface in or on them."""

    points: Float64  # (n,3) nodes
    tets: Int32  # (e,4|10) corners, of positive volume: seen from the last the others are clockwise; middles of edges
    fill: Float64  # (e,) part of each that is flesh, above 0 … 1
    surface: Mesh
    corners: Int32  # (v,4|10) nodes that carry each vertex of the surface
    weights: Float64  # (v,4|10) weights of these nodes, which sum to 1

    def __post_init__(self) -> None:
        def put(key: str, value: object) -> None:
            object.__setattr__(self, key, value)

        put("points", checked("nodes", self.points, (None, 3), np.float64))
        n = len(self.points)
        put("tets", checked_indices("tetrahedra", self.tets, (None, None), n))
        put("fill", checked("fill", self.fill, (len(self.tets),), np.float64))
        put("corners", checked_indices("corners", self.corners, (self.surface.n_vertices, None), n))
        put("weights", checked("weights", self.weights, self.corners.shape, np.float64))
        if self.tets.shape[1] not in (4, 10):
            raise GeometryError(f"tetrahedra: expected 4 or 10 nodes each, got {self.tets.shape[1]}")
        if not len(self.tets):
            raise GeometryError("solid: holds no tetrahedra; export the volume, not only its surface")
        if not ((self.fill > 0) & (self.fill <= 1)).all():
            raise GeometryError("fill: expected parts above 0, at most 1")
        if not (signed_volumes(self.points, self.tets) > 0).all():
            raise GeometryError("tetrahedra: some have no volume or are turned inside out at rest")

    def carry(self, places: Float64) -> Float64:
        """(v,3) the surface when the nodes are at places (n,3)."""
        return np.asarray(np.einsum("va,vai->vi", self.weights, places[self.corners]))


def solid_of_tetrahedra(points: Float64, tets: IntArray, faces: Int32, name: str = "solid") -> Solid:
    """A solid whose surface vertices are its nodes; nodes of no tetrahedron are omitted, corners put in order."""
    if not len(tets):
        raise GeometryError("holds no tetrahedra; export the volume, or have a lattice made around the surface")
    _check_volumes(points, tets)
    ordered = in_order(points, tets)
    used = np.unique(ordered)
    number = np.full(len(points), -1, np.int32)
    number[used] = np.arange(len(used))
    outer = np.unique(faces)
    if (number[outer] < 0).any():
        lonely = int(outer[number[outer] < 0][0])
        raise GeometryError(f"vertex {lonely} is on the surface but in no tetrahedron; export both from one solid")
    place = np.full(len(points), -1, np.int32)
    place[outer] = np.arange(len(outer))
    surface = Mesh(points[outer].astype(np.float32), place[faces], Asset(), name)
    corners = np.repeat(number[outer][:, None], 4, axis=1)
    weights = np.tile([1.0, 0, 0, 0], (len(outer), 1))
    return Solid(points[used], number[ordered], np.ones(len(tets)), surface, corners, weights)


def in_order(points: Float64, tets: IntArray) -> Int32:
    """(e,4) with two corners swapped where the volume is negative."""
    mirrored = signed_volumes(points, tets) < 0
    return np.asarray(np.where(mirrored[:, None], tets[:, [1, 0, 2, 3]], tets), np.int32)


def signed_volumes(points: Float64, tets: IntArray) -> Float64:
    """(e,) negative where the corners are in the other order."""
    return np.asarray(np.linalg.det(points[tets[:, 1:4]] - points[tets[:, :1]]) / 6)


def _check_volumes(points: Float64, tets: IntArray) -> None:
    pairs = points[tets][:, [0, 0, 0, 1, 1, 2]] - points[tets][:, [1, 2, 3, 2, 3, 3]]
    longest = np.linalg.norm(pairs, axis=2).max(axis=1)
    flat = np.abs(signed_volumes(points, tets)) <= FLAT * longest**3 / (6 * np.sqrt(2))
    if flat.any():
        at = int(flat.argmax())
        raise GeometryError(
            f"tetrahedron {at} of nodes {tets[at].tolist()} (counted from 0) has no volume{_as_others(flat)}; "
            "mesh the solid again"
        )


def _as_others(bad: Bool) -> str:
    return f", as {int(bad.sum())} in all" if bad.sum() > 1 else ""


def solid_pieces(solid: Solid) -> Int32:
    """(n,) which connected piece each node is in."""
    i, j = solid.tets[:, :-1].ravel(), solid.tets[:, 1:].ravel()
    n = len(solid.points)
    _, label = connected_components(csr_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)
    return np.asarray(label, np.int32)
