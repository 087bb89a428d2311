"""Poses as a file that `load_poses` reads: turns at joints, and places only where turns do not lead there."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import FileFormatError
from osteon.core.kinematics import pose_joints
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import least_rotation
from osteon.io.doors.atomic import atomic_file
from osteon.io.doors.marks import MARK, MARK_KEY
from osteon.io.doors.source import PathLike

__all__ = ["poses_as_json", "save_poses"]

#: Angles below this (degrees) and ways below this (of the skeleton's size) are rounding.
NOTHING = 1e-7


def save_poses(track: PoseTrack, skeleton: StickSkeleton, path: PathLike, *, name: str = "") -> None:
    """Write all poses of a track to a .json; its bones only, without lines and pins."""
    if not str(path).lower().endswith(".json"):
        raise FileFormatError(f"{path}: poses are written as .json")
    with atomic_file(path) as temporary:
        marked = {MARK_KEY: MARK, **poses_as_json(track, skeleton, name)}
        temporary.write_text(json.dumps(marked, indent=1) + "\n")


def poses_as_json(track: PoseTrack, skeleton: StickSkeleton, name: str = "") -> dict[str, Any]:
    """What `save_poses` writes."""
    poses = [_pose(track, f, skeleton) for f in range(track.n_frames)]
    told = {"name": name} if name else {}
    return {**told, **poses[0]} if len(poses) == 1 else {**told, "fps": track.clips[0].fps, "poses": poses}


def _pose(track: PoseTrack, f: int, skeleton: StickSkeleton) -> dict[str, Any]:
    turns = _turns(_rotations(track, f, skeleton), skeleton)
    reached, _ = pose_joints(skeleton, turns, {})
    shift = track.joints[f, skeleton.root] - reached[skeleton.root]
    off = track.joints[f] - reached - shift
    size = float(np.linalg.norm(np.ptp(skeleton.joints, axis=0)))
    moved = np.flatnonzero(np.linalg.norm(off, axis=1) > NOTHING * size)
    told: dict[str, Any] = {
        "rotate": {skeleton.names[j]: turn for j, matrix in turns.items() if (turn := _axis_angle(matrix)) is not None},
        "translate": shift.tolist() if np.linalg.norm(shift) > NOTHING * size else None,
        "joints": {skeleton.names[j]: track.joints[f, j].tolist() for j in moved},
        "bones": _bones(track, f, skeleton),
    }
    return {key: value for key, value in told.items() if value}


def _rotations(track: PoseTrack, f: int, skeleton: StickSkeleton) -> Float64:
    """(b,3,3) known rotations, or the least ones."""
    if track.rotations is not None and (track.turned is None or track.turned[f]):
        return np.asarray(track.rotations[f])
    posed: Float64 = track.joints[f, skeleton.bones[:, 1]] - track.joints[f, skeleton.bones[:, 0]]
    return least_rotation(skeleton.vectors, posed)


def _turns(rotations: Float64, skeleton: StickSkeleton) -> dict[int, Float64]:
    """(3,3) by joint: how its first bone turns against the bone that the joint hangs on."""
    tree, turns = skeleton.tree, {}
    for b in tree.order.tolist():
        joint, above = int(tree.head[b]), int(tree.parent[b])
        if joint not in turns:
            turns[joint] = rotations[b] if above < 0 else rotations[above].T @ rotations[b]
    return turns


def _axis_angle(matrix: Float64) -> dict[str, Any] | None:
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
