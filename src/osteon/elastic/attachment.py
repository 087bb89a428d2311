"""Which nodes of a solid a bone holds: those around it, off its axis so that it turns them, clear of its joints.

A node at distance d from a bone is held if  d <= reach r(s),  r(s): how far the surface is from the bone there, and if
its place s along the bone is at least r from a joint at either end (less on short bones): flesh there must give when
the joint bends. A reach of half a radius, a quarter of the thickness, leaves the rest of the flesh soft. It grows where
that is not enough to hold the bone against twist.

Based on: P. Kry, D. James, D. Pai, EigenSkin, 2002, section 3 ("position constraints to vertices adjacent to the rigid
bones").

Notes. Hand of 29,998 tetrahedra, whose maker put nodes on the axes of bones: nodes within half a radius of five bones
lie on the axis only, so that nothing turned with them; with a growing reach 8 to 34 nodes a bone. Clearances of 1.25
and 1.5 radii gave the same shapes and no fewer steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Bool, Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.sticks import StickSkeleton, project_on_segments
from osteon.elastic.inside import winding_numbers
from osteon.elastic.solid import Solid, solid_pieces
from osteon.measure.closest_point import SurfaceBoxes, closest_points

__all__ = ["BoneRoom", "bone_room", "hold_nodes", "holds_all_bones"]

#: Places along a bone where it is asked how far the surface is; the part of them that must be inside.
PLACES, INSIDE = 17, 0.5
#: How far nodes are held, over the radius: the first that holds a bone.
REACHES = (0.5, 0.6, 0.7, 0.8, 0.9)
#: Clear of joints, over the radius there; at most this part of the bone.
CLEARANCE, CLEAR_PART = 1.0, 0.33
#: What holds a bone: so many nodes, whose distance from the axis (root mean square, over the radius) is at least this.
ENOUGH_NODES, OFF_AXIS = 6, 0.25
#: Nodes of regular solids lie just on these bounds; rounding must not decide.
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class BoneRoom:
    """How much flesh there is around each bone."""

    radii: Float64  # (b,p) distance to the surface at places along each bone
    inside: Bool  # (b,p) whether these places are in the flesh

    @property
    def thinnest(self) -> float:
        """The least radius in the middle of a bone."""
        return float(self.radii[:, PLACES // 2].min())


def bone_room(vertices: Float64, faces: Int32, skeleton: StickSkeleton) -> BoneRoom:
    """Distances to a closed surface; refuses bones that lie outside."""
    along = np.linspace(0, 1, PLACES)[:, None]
    places = skeleton.joints[skeleton.bones[:, :1]] + along * skeleton.vectors[:, None]  # (b,p,3)
    flat = places.reshape(-1, 3)
    inside = (np.abs(winding_numbers(flat, vertices, faces)) > 0.5).reshape(len(places), PLACES)
    share = inside.mean(axis=1)
    if (share < INSIDE).any():
        out = np.flatnonzero(share < INSIDE)
        rest = f", as {len(out)} in all" if len(out) > 1 else ""
        name = skeleton.bone_name(int(out[0]))
        raise GeometryError(f"bone '{name}' lies outside the flesh{rest}; move its joints into the mesh, or scale them")
    radii = closest_points(SurfaceBoxes.of(vertices, faces), flat).distances.reshape(inside.shape)
    return BoneRoom(np.where(inside, radii, 0), inside)


def hold_nodes(solid: Solid, skeleton: StickSkeleton, room: BoneRoom) -> Int32:
    """(n,) the bone that holds each node, -1 where it is free."""
    along, distance = _project(solid, skeleton)
    nearest = np.full(len(solid.points), np.inf)
    held = np.full(len(solid.points), -1, np.int32)
    for b in range(skeleton.n_bones):
        reached = _reach(b, along[:, b], distance[:, b], skeleton, room)
        if reached is None:
            raise GeometryError(
                f"bone '{skeleton.bone_name(b)}' is too thin for the elements around it, so they cannot hold it; "
                "use smaller elements (a lattice of more --cells), or leave the bone out"
            )
        closer = reached & (distance[:, b] < nearest)
        nearest[closer], held[closer] = distance[closer, b], b
    _check_held(solid, skeleton, held)
    return held


def holds_all_bones(solid: Solid, skeleton: StickSkeleton, room: BoneRoom) -> bool:
    """Whether there are enough nodes around every bone."""
    along, distance = _project(solid, skeleton)
    return all(_reach(b, along[:, b], distance[:, b], skeleton, room) is not None for b in range(skeleton.n_bones))


def _project(solid: Solid, skeleton: StickSkeleton) -> tuple[Float64, Float64]:
    """(n,b) where along each bone each node is, and how far away."""
    return project_on_segments(solid.points[:, None], skeleton.joints[skeleton.bones[:, 0]], skeleton.vectors)


def _reach(b: int, along: Float64, distance: Float64, skeleton: StickSkeleton, room: BoneRoom) -> Bool | None:
    """(n,) nodes that bone b would hold if there were no other; None if they do not hold it."""
    radius = np.interp(along, np.linspace(0, 1, PLACES), room.radii[b])
    clear = _clear(b, along, skeleton, room)
    for reach in REACHES:
        found = np.asarray(clear & (distance <= (1 + ROUNDING) * reach * radius))
        off = distance[found] / np.maximum(radius[found], 1e-300)
        if len(off) >= ENOUGH_NODES and np.sqrt((off**2).mean()) >= OFF_AXIS:
            return found
    return None


def _clear(b: int, along: Float64, skeleton: StickSkeleton, room: BoneRoom) -> Bool:
    """(n,) whether places along bone b are far enough from joints; free ends need no room."""
    length = float(np.linalg.norm(skeleton.vectors[b]))
    free = set(skeleton.free_ends().tolist())
    start, stop = (
        0.0 if joint in free else min(CLEARANCE * float(room.radii[b, end]) / length, CLEAR_PART)
        for joint, end in zip(skeleton.bones[b].tolist(), (0, -1), strict=True)
    )
    return np.asarray((along >= start - ROUNDING) & (along <= 1 - stop + ROUNDING))


def _check_held(solid: Solid, skeleton: StickSkeleton, held: Int32) -> None:
    """Refuse bones that others left nothing to hold, and pieces of the solid that hang on no bone."""
    count = np.bincount(held[held >= 0], minlength=skeleton.n_bones)
    if (count < 3).any():
        name = skeleton.bone_name(int(count.argmin()))
        raise GeometryError(f"bone '{name}' shares all nodes around it with others; use smaller elements")
    piece = solid_pieces(solid)
    loose = np.setdiff1d(piece, piece[held >= 0])
    if len(loose):
        n = int(np.isin(piece, loose).sum())
        raise GeometryError(
            f"solid: {n:,} nodes in {len(loose)} of its pieces hang on no bone; give each a bone, or join them"
        )
