"""Poses as a file that `load_poses` reads: turns at joints, and places only where turns do not lead there."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import FileFormatError
from osteon.core.kinematics import rotations_of_pose
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import bounding_diagonal
from osteon.io.load.source import PathLike
from osteon.io.save import GENERATOR, GENERATOR_KEY
from osteon.io.save.atomic import atomic_file

__all__ = ["axis_and_degrees", "poses_as_json", "save_poses"]

#: Angles below this (degrees) and ways below this (of the skeleton's size) are rounding.
NOTHING = 1e-7


def save_poses(track: PoseTrack, skeleton: StickSkeleton, path: PathLike, *, name: str = "") -> None:
    """Write all poses of a track to a .json; its bones only, without lines and pins."""
    if not str(path).lower().endswith(".json"):
        raise FileFormatError(f"{path}: poses are written as .json")
    with atomic_file(path) as temporary:
        marked = {GENERATOR_KEY: GENERATOR, **poses_as_json(track, skeleton, name)}
        temporary.write_text(json.dumps(marked, indent=1) + "\n")


def poses_as_json(track: PoseTrack, skeleton: StickSkeleton, name: str = "") -> dict[str, Any]:
    """What `save_poses` writes."""
    poses = [_pose(track, f, skeleton) for f in range(track.n_frames)]
    told = {"name": name} if name else {}
    return {**told, **poses[0]} if len(poses) == 1 else {**told, "fps": track.clips[0].fps, "poses": poses}


def _pose(track: PoseTrack, f: int, skeleton: StickSkeleton) -> dict[str, Any]:
    found = rotations_of_pose(track, f, skeleton)
    size = bounding_diagonal(skeleton.joints)
    moved = np.flatnonzero(np.linalg.norm(found.residual, axis=1) > NOTHING * size)
    turned = {skeleton.names[j]: axis_and_degrees(matrix) for j, matrix in found.turns.items()}
    told: dict[str, Any] = {
        "rotate": {name: turn for name, turn in turned.items() if turn is not None},
        "translate": found.shift.tolist() if np.linalg.norm(found.shift) > NOTHING * size else None,
        "joints": {skeleton.names[j]: track.joints[f, j].tolist() for j in moved},
        "bones": _bones(track, f, skeleton),
    }
    return {key: value for key, value in told.items() if value}


def axis_and_degrees(matrix: Float64) -> dict[str, Any] | None:
    """A turn as pose files tell it; None if it is none."""
    from scipy.spatial.transform import Rotation

    vector = Rotation.from_matrix(matrix).as_rotvec(degrees=True)
    degrees = float(np.linalg.norm(vector))
    return None if degrees < NOTHING else {"axis": (vector / degrees).round(9).tolist(), "degrees": round(degrees, 9)}


def _bones(track: PoseTrack, f: int, skeleton: StickSkeleton) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for b in range(skeleton.n_bones):
        told: dict[str, Any] = {}
        if track.twist is not None and track.twist[f, b].any():
            told["twist"] = np.rad2deg(track.twist[f, b]).tolist()
        if track.cross_scale is not None and track.cross_scale[f, b] != 1:
            told["cross_scale"] = float(track.cross_scale[f, b])
        if told:
            out[skeleton.bone_name(b)] = told
    return out
