"""Meshes and moderate poses for `osteon bench simplex`: meshes with skeletons and natural joint rotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.kinematics import pose_joints
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import rotation_from_axis_angle
from osteon.io import load_sequence
from osteon.io.skeletons import load_skeleton
from osteon_bench.run import BenchRun

#: Joint -> (axis, degrees), in the axes of the rest pose.
JointAngles = Mapping[str, tuple[tuple[float, float, float], float]]

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class PoseCase:
    """A mesh, its skeleton and poses by name."""

    name: str
    vertices: Float64
    faces: Int32
    skeleton: StickSkeleton
    poses: dict[str, PoseTrack]


def rotate_joints(skeleton: StickSkeleton, angles: JointAngles) -> PoseTrack:
    """One pose: each named joint rotates its descendants."""
    number = {name: j for j, name in enumerate(skeleton.names)}
    matrices = {
        number[name]: rotation_from_axis_angle(np.array(axis), np.radians(degrees))
        for name, (axis, degrees) in angles.items()
    }
    joints, rotations = pose_joints(skeleton, matrices, {})
    return PoseTrack(joints[None], rotations=rotations[None])


def bent_pose(skeleton: StickSkeleton, degrees: float, seed: int, *, flat: bool = False) -> PoseTrack:
    """Every joint with children is rotated by `degrees` about an axis across its bone, in either direction."""
    rng = np.random.default_rng(seed)
    tree, matrices = skeleton.tree, {}
    for j in np.flatnonzero(tree.above >= 0).tolist():
        bone = skeleton.joints[j] - skeleton.joints[tree.above[j]]
        axis = np.array(Z) if flat else np.cross(bone, rng.normal(size=3))
        matrices[j] = rotation_from_axis_angle(axis, np.radians(degrees) * rng.choice([-1.0, 1.0]))
    joints, rotations = pose_joints(skeleton, matrices, {})
    return PoseTrack(joints[None], rotations=rotations[None])


#: In both files the armadillo is upright along y and faces +z or -z; joint names are the same.
ARMADILLO: dict[str, JointAngles] = {
    "wave": {"joint11": (Z, 40), "joint12": (X, -35), "joint8": (Z, 25), "l_wrist": (Z, 20), "joint3": (Y, 20)},
    "step": {"joint14": (X, 35), "joint15": (X, -40), "joint18": (X, -25), "joint19": (X, -20), "joint1": (Y, 15)},
    "bow": {"joint1": (X, 30), "joint2": (X, 20), "joint3": (X, -20), "joint22": (X, -25), "joint23": (Y, 20)},
    "look": {"joint1": (Y, 20), "joint2": (Y, 15), "joint3": (Y, 25), "joint8": (Y, -20), "joint11": (Y, 20)},
}

#: A skeleton of the gingerbread man, drawn by us, seen from the front.
WOODY = StickSkeleton(
    np.array(
        [[178, 140, 0], [175, 245, 0], [168, 292, 0], [166, 385, 0], [112, 245, 0], [62, 245, 0], [18, 243, 0],
         [242, 248, 0], [292, 248, 0], [335, 246, 0], [138, 105, 0], [128, 60, 0], [122, 14, 0], [222, 105, 0],
         [242, 60, 0], [252, 14, 0]], float
    ),
    np.array(
        [[0, 1], [1, 2], [2, 3], [1, 4], [4, 5], [5, 6], [1, 7], [7, 8], [8, 9], [0, 10], [10, 11], [11, 12], [0, 13],
         [13, 14], [14, 15]]
    ),
    ("hip", "chest", "neck", "head", "r_shoulder", "r_elbow", "r_hand", "l_shoulder", "l_elbow", "l_hand", "r_hip",
     "r_knee", "r_foot", "l_hip", "l_knee", "l_foot"),
    name="woody",
)  # fmt: skip
WOODY_POSES: dict[str, JointAngles] = {
    "cheer": {"r_shoulder": (Z, -40), "l_shoulder": (Z, 40), "neck": (Z, 10), "l_hip": (Z, 15)},
    "walk": {"r_hip": (Z, -25), "l_hip": (Z, 25), "r_knee": (Z, 20), "l_knee": (Z, -20), "r_elbow": (Z, 35)},
    "lean": {"chest": (Z, 20), "neck": (Z, 15), "r_shoulder": (Z, 30), "l_elbow": (Z, -30)},
}


#: Name, mesh and skeleton; without a skeleton's file, the one drawn above.
FILES = (
    ("armadillo", "armadillo.obj", "armadillo_full.skel"),
    ("armadillo LR3", "armadillo_LR3.off", "armadillo.skel"),
    ("hand", "hand.mesh", "hand.tgf"),
    ("arm", "arm.obj", "arm.tgf"),
    ("woody", "woody.obj", ""),
)


def load_pose_cases(run: BenchRun) -> list[PoseCase]:
    """All cases whose files are in `meshes` beside the folder of sequences; the others are reported as missing."""
    folder = run.data.parent / "meshes"
    found = []
    for name, mesh, sticks in FILES:
        lacking = [file for file in (mesh, sticks) if file and not (folder / file).is_file()]
        for file in lacking:
            run.report_missing(
                f"'{folder / file}' is missing; {name} is omitted. meshes/ is beside the folder of --data"
            )
        if not lacking:
            found.append(_load_case(name, folder / mesh, folder / sticks if sticks else None))
    return found


def _load_case(name: str, mesh: Path, sticks: Path | None) -> PoseCase:
    rest = load_sequence([str(mesh)])
    skeleton = load_skeleton(sticks) if sticks else WOODY
    return PoseCase(name, rest.rest.astype(np.float64), rest.faces, skeleton, _poses(name, skeleton))


def _poses(name: str, skeleton: StickSkeleton) -> dict[str, PoseTrack]:
    """Named poses of a body, and every joint bent at once."""
    named = {"armadillo": ARMADILLO, "armadillo LR3": ARMADILLO, "woody": WOODY_POSES}.get(name, {})
    poses = {pose: rotate_joints(skeleton, angles) for pose, angles in named.items()}
    flat = not np.ptp(skeleton.joints[:, 2])
    for seed, degrees in enumerate((15.0, 20.0, 25.0, 30.0)):
        poses[f"all joints by {degrees:g}"] = bent_pose(skeleton, degrees, seed, flat=flat)
    poses["strong: all joints by 45"] = bent_pose(skeleton, 45.0, 0, flat=flat)
    return poses
