"""The nodes of a solid that each bone holds: around it, off its axis so that they rotate with it, away from its joints.

A node at distance d from a bone is held if  d <= reach r(s),  r(s): how far the surface is from the bone there, and if
its place s along the bone is at least r from a joint at either end (less on short bones): flesh there must deform when
the joint bends. A reach of half a radius, a quarter of the thickness, leaves the rest of the flesh soft. It grows where
that is not enough to hold the bone against twist. A bone in elements larger than it is thick holds the corners of those
that it passes through: what they carry is rigid but for its joints. A node is held by the bone that is nearest.

A lattice may have several elements in one place, of parts that only come close. The bone is in the fullest one, and
holds nodes that are joined to its corners within its reach.

Based on: P. Kry, D. James, D. Pai, EigenSkin, 2002, section 3 ("position constraints to vertices adjacent to the rigid
bones").

Notes. Hand of 29,998 tetrahedra, whose maker put nodes on the axes of bones: nodes within half a radius of five bones
are on the axis only, so that nothing rotated with them; with a growing reach 8 to 34 nodes per bone. Clearances of 1.25
and 1.5 radii gave the same shapes and no fewer steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from osteon.core.arrays import Bool, Float64, Int32, Int64
from osteon.core.errors import GeometryError
from osteon.core.sticks import StickSkeleton, project_on_segments
from osteon.elastic.holes import ClosedSurface
from osteon.elastic.inside import inside_points
from osteon.elastic.newton import node_graph
from osteon.elastic.solid import Solid, solid_pieces
from osteon.measure.closest_point import SurfaceBoxes, closest_points

#: Places along a bone where the distance to the surface is measured; the part of them that must be inside.
PLACES, INSIDE = 17, 0.5
#: Reaches over the radius that are tried in this order, until one holds the bone.
REACHES = (0.5, 0.6, 0.7, 0.8, 0.9)
#: Distance kept from joints, over the radius there; at most this part of the bone.
CLEARANCE, CLEAR_PART = 1.0, 0.33
#: A bone holds at least this many nodes, whose distance from the axis (root mean square, over the radius) is at least
#: this.
ENOUGH_NODES, OFF_AXIS = 6, 0.25
#: Nodes of regular solids are just on these bounds; rounding must not decide.
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class BoneRoom:
    """The thickness of the flesh around each bone."""

    radii: Float64  # (b,p) distance to the surface at places along each bone
    inside: Bool  # (b,p) whether these places are in the flesh

    @property
    def thinnest(self) -> float:
        """The least radius in the middle of a bone."""
        return float(self.radii[:, PLACES // 2].min())


def bone_room(
    vertices: Float64, faces: Int32, skeleton: StickSkeleton, closed: ClosedSurface | None = None
) -> BoneRoom:
    """Distances to a surface; refuses bones that are outside. `closed` is the surface with its holes closed."""
    flat = _places(skeleton).reshape(-1, 3)
    shape = (vertices, faces) if closed is None else (closed.vertices, closed.faces)
    inside = inside_points(flat, *shape).reshape(-1, PLACES)
    share = inside.mean(axis=1)
    if (share < INSIDE).any():
        out = np.flatnonzero(share < INSIDE)
        rest = f", as {len(out)} in all" if len(out) > 1 else ""
        name = skeleton.bone_name(int(out[0]))
        raise GeometryError(f"bone '{name}' is outside the flesh{rest}; move its joints into the mesh, or scale them")
    radii = closest_points(SurfaceBoxes.of(vertices, faces), flat).distances.reshape(inside.shape)
    return BoneRoom(np.where(inside, radii, 0), inside)


def hold_nodes(solid: Solid, skeleton: StickSkeleton, room: BoneRoom) -> Int32:
    """(n,) the bone that holds each node, -1 where it is free."""
    held = _nearest_bones(solid, skeleton, room)
    slipped = _slipped(solid, skeleton, held)
    if len(slipped):
        raise GeometryError(
            f"bone '{skeleton.bone_name(int(slipped[0]))}' is too small for the elements around it to hold it; "
            "use smaller elements (a lattice of more --cells), or leave the bone out"
        )
    piece = solid_pieces(solid)
    loose = np.setdiff1d(piece, piece[held >= 0])
    if len(loose):
        n = int(np.isin(piece, loose).sum())
        raise GeometryError(
            f"solid: {n:,} nodes in {len(loose)} of its pieces have no bone; add one to each, or join them"
        )
    return held


def holds_all_bones(solid: Solid, skeleton: StickSkeleton, room: BoneRoom) -> bool:
    """Whether there are enough nodes around every bone."""
    return not len(_slipped(solid, skeleton, _nearest_bones(solid, skeleton, room)))


def _places(skeleton: StickSkeleton) -> Float64:
    """(b,p,3) along each bone."""
    along = np.linspace(0, 1, PLACES)[:, None]
    return np.asarray(skeleton.joints[skeleton.bones[:, :1]] + along * skeleton.vectors[:, None])


def _nearest_bones(solid: Solid, skeleton: StickSkeleton, room: BoneRoom) -> Int32:
    along, distance = project_on_segments(
        solid.points[:, None], skeleton.joints[skeleton.bones[:, 0]], skeleton.vectors
    )  # (n,b)
    finder = _Finder.of(solid)
    nearest = np.full(len(solid.points), np.inf)
    held = np.full(len(solid.points), -1, np.int32)
    for b in range(skeleton.n_bones):
        reached = _reach(_Bone.of(b, skeleton, room), along[:, b], distance[:, b], finder)
        closer = reached & (distance[:, b] < nearest)
        nearest[closer], held[closer] = distance[closer, b], b
    return held


def _slipped(solid: Solid, skeleton: StickSkeleton, held: Int32) -> Int64:
    """Bones that hold too few nodes, or only such in a line."""
    found = []
    for b in range(skeleton.n_bones):
        points = solid.points[held == b]
        across = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) if len(points) > 2 else np.zeros(3)
        if across[1] <= ROUNDING * float(np.linalg.norm(skeleton.vectors[b])):
            found.append(b)
    return np.array(found, np.int64)


@dataclass(frozen=True, slots=True)
class _Bone:
    places: Float64  # (p,3) along the bone
    radii: Float64  # (p,)
    clear: tuple[float, float]  # of joints, from where to where along it

    @staticmethod
    def of(b: int, skeleton: StickSkeleton, room: BoneRoom) -> _Bone:
        """The bone with its clearance at both ends, which is zero at free ends."""
        length = float(np.linalg.norm(skeleton.vectors[b]))
        free = set(skeleton.free_ends().tolist())
        start, stop = (
            0.0 if joint in free else min(CLEARANCE * float(room.radii[b, end]) / length, CLEAR_PART)
            for joint, end in zip(skeleton.bones[b].tolist(), (0, -1), strict=True)
        )
        return _Bone(_places(skeleton)[b], room.radii[b], (start - ROUNDING, 1 - stop + ROUNDING))

    def radius(self, along: Float64) -> Float64:
        return np.interp(along, np.linspace(0, 1, PLACES), self.radii)

    def is_clear(self, along: Float64) -> Bool:
        return np.asarray((along >= self.clear[0]) & (along <= self.clear[1]))


def _reach(bone: _Bone, along: Float64, distance: Float64, finder: _Finder) -> Bool:
    """(n,) nodes that a bone would hold if there were no other."""
    passed = finder.corners_along(bone.places[bone.is_clear(np.linspace(0, 1, PLACES))])
    radius, clear = bone.radius(along), bone.is_clear(along)
    joined = finder.joined_to(passed, passed | (distance <= REACHES[-1] * radius))
    for reach in REACHES:
        found = np.asarray(clear & joined & (distance <= (1 + ROUNDING) * reach * radius))
        off = distance[found] / np.maximum(radius[found], 1e-300)
        if len(off) >= ENOUGH_NODES and np.sqrt((off**2).mean()) >= OFF_AXIS:
            return found
    return passed


@dataclass(frozen=True, slots=True)
class _Finder:
    """Elements of a solid by place, and nodes by what joins them."""

    solid: Solid
    low: Float64  # (e,3) of the boxes around elements
    high: Float64
    inverse: Float64  # (e,3,3) from offsets to weights
    graph: csr_array  # (n,n) nodes that share an element

    @staticmethod
    def of(solid: Solid) -> _Finder:
        corners = solid.points[solid.tets[:, :4]]
        inverse = np.asarray(np.linalg.inv((corners[:, 1:] - corners[:, :1]).swapaxes(1, 2)), np.float64)
        return _Finder(
            solid, corners.min(axis=1), corners.max(axis=1), inverse, node_graph(solid.tets, len(solid.points))
        )

    def corners_along(self, points: Float64) -> Bool:
        """(n,) corners of the elements that hold points, of several in one place the fullest."""
        out = np.zeros(len(self.solid.points), bool)
        for point in points:
            near = np.flatnonzero(((self.low <= point) & (self.high >= point)).all(axis=1))
            offset = point - self.solid.points[self.solid.tets[near, 0]]
            inner = np.einsum("eij,ej->ei", self.inverse[near], offset)
            holds = near[(inner >= -ROUNDING).all(axis=1) & (inner.sum(axis=1) <= 1 + ROUNDING)]
            if len(holds):
                out[self.solid.tets[holds[self.solid.fill[holds].argmax()]]] = True
        return out

    def joined_to(self, seeds: Bool, within: Bool) -> Bool:
        """(n,) nodes that paths through nodes `within` join to the seeds."""
        at = np.flatnonzero(within)
        _, label = connected_components(self.graph[at][:, at], directed=False)
        out = np.zeros_like(within)
        out[at] = np.isin(label, label[seeds[at]])
        return out
