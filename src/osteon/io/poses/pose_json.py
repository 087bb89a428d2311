"""Poses as JSON: one pose {…}, or frames {"fps": 24, "name": "wave", "poses": [{…}, …]} (docs/poses.md)."""

from __future__ import annotations

import numpy as np

from osteon.core.animation import DEFAULT_FPS, Clip
from osteon.core.arrays import Float64
from osteon.core.pose_track import ControlLine, PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.io.poses.bone_pose import BONE_POSE_KEYS, BonePose, SkeletonNames, read_bone_pose
from osteon.io.poses.line_pose import define_lines, line_track, pin_track, read_line_poses, read_pins
from osteon.io.save import GENERATOR_KEY
from osteon.io.skeletons.checked_json import JsonValue

__all__ = ["read_pose_json"]

POSE_KEYS = (*BONE_POSE_KEYS, "lines", "pins")
FILE_KEYS = (GENERATOR_KEY, "fps", "name", "poses", "lines")


def read_pose_json(json_value: JsonValue, skeleton: StickSkeleton | None, known: dict[str, ControlLine]) -> PoseTrack:
    """The poses of a file as one clip; `known` has the lines of files before it."""
    top, poses = _poses(json_value)
    names = None if skeleton is None else SkeletonNames(skeleton)
    plane = 0.0 if names is None else names.plane
    alone = (*POSE_KEYS, GENERATOR_KEY, "fps", "name")
    fields = [pose.fields((*POSE_KEYS, "name") if pose.path else alone) for pose in poses]
    lines = dict(known)
    if "lines" in top and "poses" in top:
        define_lines(top["lines"], lines, plane, posed=False)
    for pose in fields:
        if "lines" in pose:
            define_lines(pose["lines"], lines, plane, posed=True)
    line_poses = [read_line_poses(pose["lines"], lines, plane) if "lines" in pose else {} for pose in fields]
    pins = [read_pins(pose["pins"], plane) if "pins" in pose else {} for pose in fields]
    fps = top["fps"].positive() if "fps" in top else DEFAULT_FPS
    name = top["name"].text() if "name" in top else json_value.source.path.stem
    rows = [_bone_pose(pose, names) for pose in fields]
    with json_value.source.naming():
        return PoseTrack(
            joints=np.stack([np.zeros((0, 3)) if row is None else row.joints for row in rows]),
            cross_scale=_cross_scale(rows, skeleton),
            twist=_twist(rows, skeleton),
            rotations=_rotations(rows),
            turned=np.array([row is not None and row.turned for row in rows]),
            lines=line_track(lines, line_poses),
            pins=pin_track(pins, poses),
            clips=(Clip(name, 0, len(rows), fps),),
            fps=fps,
        )


def _poses(json_value: JsonValue) -> tuple[dict[str, JsonValue], list[JsonValue]]:
    """What stands at the top, and the poses, told as `pose 1`, `pose 2`, … where there is a list of them."""
    top = json_value.named()
    if "poses" not in top:
        return top, [json_value]
    top = json_value.fields(FILE_KEYS)
    return top, [JsonValue(pose.value, pose.source, pose.path[1:]) for pose in top["poses"].items("pose")]


def _bone_pose(fields: dict[str, JsonValue], names: SkeletonNames | None) -> BonePose | None:
    told = {key: value for key, value in fields.items() if key in BONE_POSE_KEYS}
    if names is None:
        for value in told.values():
            raise value.error("moves a skeleton, but none is given; without one only 'lines' and 'pins' can be used")
        return None
    return read_bone_pose(told, names)


def _rotations(rows: list[BonePose | None]) -> Float64 | None:
    """(f,b,3,3), if some joint was turned."""
    there = [row for row in rows if row is not None]
    return np.stack([row.rotations for row in there]) if any(row.turned for row in there) else None


def _cross_scale(rows: list[BonePose | None], skeleton: StickSkeleton | None) -> Float64 | None:
    """(f,b), if some bone has one."""
    if skeleton is None or not any(row is not None and row.cross_scale for row in rows):
        return None
    out = np.ones((len(rows), skeleton.n_bones))
    for f, row in enumerate(rows):
        for b, scale in () if row is None else row.cross_scale.items():
            out[f, b] = scale
    return out


def _twist(rows: list[BonePose | None], skeleton: StickSkeleton | None) -> Float64 | None:
    """(f,b,2) radians, if some bone has one."""
    if skeleton is None or not any(row is not None and row.twist for row in rows):
        return None
    out = np.zeros((len(rows), skeleton.n_bones, 2))
    for f, row in enumerate(rows):
        for b, angles in () if row is None else row.twist.items():
            out[f, b] = angles
    return out
