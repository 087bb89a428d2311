"""Whether meshes of poses are those of a rig: which vertex is which, in which units and axes.

    rig = scale rotation pose + shift

Vertices are the same by their order or by their place at rest. Exporters change units by known factors, and axes by
quarter turns, so only these are tried; what is found is named, not guessed silently.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np
from scipy.spatial import cKDTree

from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64
from osteon.core.errors import GeometryError
from osteon.core.mesh import Mesh
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import weld_points
from osteon.io.poses.pose_set import PoseSet

#: Parts of the diagonal by which vertices of rig and poses may be apart at rest.
SAME_VERTEX = 1e-4
#: Lengths of the rig over those of the poses, and what they mean.
UNITS = {
    0.001: "1000 times as large (millimetres for metres)",
    0.01: "100 times as large (centimetres for metres)",
    0.0254: "39.37 times as large (inches for metres)",
    0.1: "10 times as large (millimetres for centimetres)",
    0.3048: "3.28 times as large (feet for metres)",
    2.54: "2.54 times as small (inches for centimetres)",
    10.0: "10 times as small (centimetres for millimetres)",
    39.37007874: "39.37 times as small (metres for inches)",
    100.0: "100 times as small (metres for centimetres)",
    1000.0: "1000 times as small (metres for millimetres)",
}
#: A factor may differ by this from a unit, and a rotation by this many degrees from quarter turns.
NEAR_UNIT, NEAR_TURN = 0.03, 12.0
#: A shift below this part of the diagonal is the flesh, not the place of the scene.
STAYS = 0.02
#: Vertices that decide on axes.
SAMPLED = 400


@dataclass(frozen=True, slots=True)
class Placement:
    """The similarity from the space of the poses to that of the rig."""

    scale: float
    rotation: Float64  # (3,3) a permutation of axes
    shift: Float64  # (3,)

    @property
    def is_none(self) -> bool:
        return self.scale == 1 and bool((self.rotation == np.eye(3)).all()) and not self.shift.any()

    def of(self, points: FloatArray) -> Float32:
        """Points (…,3) of the poses in the space of the rig."""
        if self.is_none:
            return points.astype(np.float32, copy=False)
        moved = self.scale * (points.astype(np.float64) @ self.rotation.T) + self.shift
        return np.asarray(moved, np.float32)

    def text(self, rig: str) -> str:
        """The differences, for a note."""
        said = [_unit_text(self.scale)] if self.scale != 1 else []
        up = int(np.abs(self.rotation[1]).argmax())
        if (self.rotation != np.eye(3)).any():
            sign = "-" if self.rotation[1, up] < 0 else ""
            said.append(
                f"have {sign}{'XYZ'[up]} up where '{rig}' has Y up"
                if up != 1 or sign
                else f"face another way than '{rig}'"
            )
        if self.shift.any():
            said.append(f"are {np.linalg.norm(self.shift):.3g} away")
        return f"the poses {', and '.join(said)}; they were converted"


NO_PLACEMENT = Placement(1.0, np.eye(3), np.zeros(3))


def quarter_turns() -> list[Float64]:
    """The 24 rotations that permute the axes, the one that changes nothing first."""
    out = []
    for order, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        matrix = np.zeros((3, 3))
        matrix[range(3), list(order)] = signs
        if np.linalg.det(matrix) > 0:
            out.append(matrix)
    return sorted(out, key=lambda matrix: -float(np.trace(matrix)))


def vertices_at_rest(rig: Mesh, poses: Mesh) -> Int64 | None:
    """(v,) the vertex of the poses where each vertex of the rig rests; None if one has none."""
    ours, theirs = rig.rest.astype(np.float64), poses.rest.astype(np.float64)
    same, near = np.arange(len(ours)), SAME_VERTEX * rig.diagonal
    if len(ours) != len(theirs) or np.linalg.norm(ours - theirs, axis=1).max(initial=0.0) > near:
        same = np.asarray(cKDTree(theirs).query(ours)[1])
    return same if np.linalg.norm(ours - theirs[same], axis=1).max(initial=0.0) <= near else None


def placement_at_rest(rig: Mesh, poses: Mesh) -> Placement | None:
    """The units and axes with which the poses rest where the rig does; None if there are none.

    A symmetric body fits in several ways: that in which vertices of the same number meet counts, else the least turn.
    """
    if _meet_in_order(rig, poses.rest):
        return NO_PLACEMENT
    scale = _unit(rig.diagonal / poses.diagonal) if poses.diagonal > 0 else None
    if scale is None:
        return None
    ours = rig.rest.astype(np.float64)
    ours = ours[:: max(1, len(ours) // SAMPLED)]
    fitting = []
    for rotation in quarter_turns():
        plain = Placement(scale, rotation, np.zeros(3))
        for shift in (np.zeros(3), _centre(rig.rest) - _centre(plain.of(poses.rest))):
            placed = replace(plain, shift=shift)
            if cKDTree(placed.of(poses.rest)).query(ours)[0].max() <= 10 * SAME_VERTEX * rig.diagonal:
                fitting.append(placed)
                break
    in_order = [placed for placed in fitting if _meet_in_order(rig, placed.of(poses.rest), 10)]
    return next(iter(in_order or fitting), None)


def _meet_in_order(rig: Mesh, rest: FloatArray, times: float = 1.0) -> bool:
    """Whether vertices of the same number rest in one place."""
    if len(rig.rest) != len(rest):
        return False
    return bool(np.linalg.norm(rig.rest - rest, axis=1).max(initial=0.0) <= times * SAME_VERTEX * rig.diagonal)


def _centre(points: FloatArray) -> Float64:
    return np.asarray((points.max(axis=0).astype(np.float64) + points.min(axis=0)) / 2)


def _unit(ratio: float) -> float | None:
    """The known factor near a ratio of lengths."""
    return next((unit for unit in (1.0, *UNITS) if abs(ratio / unit - 1) <= NEAR_UNIT), None)


def _unit_text(scale: float) -> str:
    return f"are {UNITS[scale]}"


def placed_pose_set(rig: Mesh, poses: PoseSet) -> tuple[PoseSet, tuple[str, ...]]:
    """The poses in the units and axes of the rig, and what was changed; as they are where nothing fits."""
    found = placement_at_rest(rig, poses.mesh)
    if found is None or found.is_none:
        return poses, ()
    turn, sticks = found.rotation, poses.skeleton
    joints = found.scale * sticks.joints @ turn.T + found.shift
    moved = PoseSet(
        Mesh(found.of(poses.mesh.rest), poses.mesh.faces, poses.mesh.asset, poses.mesh.name),
        StickSkeleton(joints, sticks.bones, sticks.names, sticks.root, name=sticks.name),
        found.of(poses.frames),
        turn @ poses.turns @ turn.T,
        poses.kinds,
        poses.names,
        found.scale * poses.shifts @ turn.T,
        poses.hinges @ turn.T,
    )
    return moved, (found.text(rig.name),)


@dataclass(frozen=True, slots=True)
class MeshMatch:
    """Which vertex of the poses each vertex of a rig is, and where the poses are."""

    vertices: Int64  # (v,)
    placement: Placement

    def frames(self, theirs: FloatArray) -> Float32:
        """(p,v,3) frames (p,n,3) of the poses as frames of the rig."""
        return self.placement.of(theirs[:, self.vertices])


def match_moving(rig: Mesh, skinned: Float32, theirs: Mesh, frames: FloatArray) -> MeshMatch:
    """From the rig's own skin (k,v,3) in some poses, and the meshes (k,n,3) of the same poses.

    By place, if the poses come with the rig's rest pose; else by order, also of the first of all vertices at one place.
    """
    placed = placement_at_rest(rig, theirs)
    if placed is not None:
        at_rest = Mesh(placed.of(theirs.rest), theirs.faces, name=theirs.name)
        found = vertices_at_rest(rig, at_rest)
        if found is not None:
            return MeshMatch(found, placed)
    vertices = _by_order(rig, theirs)
    return MeshMatch(vertices, _fitted(skinned, frames[:, vertices], rig.diagonal))


def _by_order(rig: Mesh, theirs: Mesh) -> Int64:
    if len(theirs.rest) == rig.n_vertices:
        return np.arange(rig.n_vertices)
    first, same = weld_points(rig.rest)
    if len(theirs.rest) == len(first) and _same_triangles(same[rig.faces], theirs.faces):
        return same.astype(np.int64)
    raise GeometryError(
        f"poses: they have {len(theirs.rest)} vertices, '{rig.name}' has {rig.n_vertices} ({len(first)} without "
        "seams), and they do not start at its rest pose; export both from one mesh"
    )


def _same_triangles(ours: Int32, theirs: Int32) -> bool:
    """Whether triangles join the same vertices, in any order."""

    def rows(faces: Int32) -> Int32:
        ordered = np.sort(faces, axis=1)
        ordered = ordered[(np.diff(ordered, axis=1) > 0).all(axis=1)]
        return np.asarray(np.unique(ordered, axis=0))

    return np.array_equal(rows(ours), rows(theirs))


def _fitted(skinned: FloatArray, frames: FloatArray, diagonal: float) -> Placement:
    """The units and axes in which frames (k,v,3) are closest to the skin (k,v,3)."""
    ours, theirs = (points.reshape(-1, 3).astype(np.float64) for points in (skinned, frames))
    mean, other = ours.mean(axis=0), theirs.mean(axis=0)
    u, _, vt = np.linalg.svd((ours - mean).T @ (theirs - other))
    u[:, 2] *= np.sign(np.linalg.det(u @ vt)) or 1.0
    fitted = u @ vt
    spread = float(np.square(theirs - other).sum())
    ratio = float(np.trace(fitted.T @ ((ours - mean).T @ (theirs - other)))) / max(spread, 1e-300)
    scale = _unit(ratio) or 1.0
    nearest = max(quarter_turns(), key=lambda turn: float(np.trace(turn.T @ fitted)))
    off = np.degrees(np.arccos(np.clip((np.trace(nearest.T @ fitted) - 1) / 2, -1, 1)))
    rotation = nearest if off <= NEAR_TURN else np.eye(3)
    shift = mean - scale * rotation @ other
    return Placement(scale, rotation, shift if np.linalg.norm(shift) > STAYS * diagonal else np.zeros(3))
