"""An arm whose flesh is known: displacements of the rest pose that follow two joints, one of them a hinge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.arrays import Float64
from osteon.core.character import Character
from osteon.core.mesh import Mesh
from osteon.core.sticks import StickSkeleton
from osteon.deform.pose import pose_points
from osteon.deform.pose_skeleton import transforms_of_joint_rotations
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.fit.eigenskin.stick_rig import rig_of_sticks
from osteon.io.poses.pose_set import PoseSet
from osteon.synth.shapes import make_tube

#: Degrees of the hinge, and rotation vectors in degrees of the joint that turns freely.
ELBOW = (-20.0, 20.0, 40.0, 60.0, 80.0)
WRIST = ((30.0, 0.0, 0.0), (60.0, 0.0, 0.0), (0.0, 25.0, 0.0), (0.0, -25.0, 0.0), (20.0, 0.0, 20.0))
PAIRS = ((40.0, (30.0, 0.0, 0.0)),)


def make_sticks() -> StickSkeleton:
    places = np.array([[0.0, 0, -1.0], [0, 0, -0.3], [0, 0, 0.4], [0, 0, 1.0]])
    return StickSkeleton(places, np.array([[0, 1], [1, 2], [2, 3]]), ("shoulder", "elbow", "wrist", "tip"))


def make_rig() -> Character:
    """Bones shoulder, elbow and wrist, weights by distance."""
    shape = make_tube(12, 24)
    along_z = shape.vertices[:, [1, 2, 0]] - [0.0, 0.0, 1.0]
    return rig_of_sticks(Mesh(along_z, shape.faces, name="arm"), make_sticks(), EigenSkinOptions())


def flesh(rest: Float64, elbow: float, wrist: Sequence[float], coupling: float = 1.0) -> Float64:
    """(v,3) how the rest pose is displaced when the elbow bends by radians and the wrist turns by a rotation vector."""
    across = rest * [1.0, 1.0, 0.0]
    at_elbow, at_wrist = (np.maximum(0, 1 - ((rest[:, 2] - z) / 0.5) ** 2)[:, None] ** 2 for z in (-0.3, 0.4))
    bulge = at_elbow * (0.3 * np.sin(elbow) * across + 0.05 * (1 - np.cos(elbow)) * np.array([0.0, 1.0, 0.0]))
    wrinkle = at_wrist * (0.2 * np.linalg.norm(wrist) * across + 0.02 * np.asarray(wrist))
    together = np.sqrt(at_elbow * at_wrist) * elbow * wrist[0] * np.array([0.0, 0.03, 0.02])
    return np.asarray(bulge + wrinkle + coupling * together)


def turns_of(elbow: float, wrist: Sequence[float]) -> Float64:
    """(3,3,3) of the three bones, from degrees."""
    vectors = np.deg2rad([[0.0, 0.0, 0.0], [elbow, 0.0, 0.0], list(wrist)])
    return np.asarray(Rotation.from_rotvec(vectors).as_matrix())


def all_poses() -> list[tuple[float, tuple[float, float, float]]]:
    still = (0.0, 0.0, 0.0)
    return [*((degrees, still) for degrees in ELBOW), *((0.0, wrist) for wrist in WRIST), *PAIRS]


def known_poses(
    rig: Character, poses: Sequence[tuple[float, Sequence[float]]] | None = None, coupling: float = 1.0
) -> KnownPoses:
    """Meshes of the arm in poses: degrees of the elbow, rotation vector of the wrist in degrees."""
    chosen = all_poses() if poses is None else poses
    assert rig.skeleton is not None
    transforms = transforms_of_joint_rotations(rig.skeleton, np.stack([turns_of(*pose) for pose in chosen]))
    rest = rig.mesh.rest.astype(np.float64)
    moved = np.stack([rest + flesh(rest, np.deg2rad(e), np.deg2rad(w), coupling) for e, w in chosen])
    frames = pose_points(rig.deformer, moved, transforms)
    return KnownPoses(frames, transforms, tuple(f"pose{p}" for p in range(len(chosen))), np.zeros((3, 3)))


def pose_set(rig: Character, poses: Sequence[tuple[float, Sequence[float]]] | None = None) -> PoseSet:
    """The same as a set of poses of the sticks, with one pose to judge by."""
    chosen = [*(all_poses() if poses is None else poses), (50.0, (20.0, 5.0, 0.0))]
    turns = np.tile(np.eye(3), (len(chosen), 4, 1, 1))
    turns[:, :3] = np.stack([turns_of(*pose) for pose in chosen])
    kinds = ("train",) * (len(chosen) - 1) + ("validate",)
    return PoseSet(rig.mesh, make_sticks(), known_poses(rig, chosen).frames, turns, kinds)
