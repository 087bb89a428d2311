"""Poses of corrective morph targets: which pose of the character each of its targets was sculpted for.

{"targets": [{"target": "elbow_90", "joint": "forearm_L", "rotation": {"axis": [1, 0, 0], "degrees": 90}},
             {"target": "sit", "rotate": {"thigh_L": …, "thigh_R": …}},
             {"target": "fist", "weight": 0.5, "clip": "ROM", "frame": 12}]}

Targets with the same pose are worn at once. `weight` is that of the target in its pose, by default 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from osteon.core.arrays import Float64
from osteon.core.sticks import StickSkeleton
from osteon.io.load.source import PathLike, Source, quote
from osteon.io.poses.bone_pose import SkeletonNames, read_joint_rotations
from osteon.io.poses.pose_list import ClipMoment, read_moment
from osteon.io.skeletons.parsing import JsonValue, nearest_of, read_json

KEYS = ("target", "weight", "joint", "rotation", "rotate", "clip", "frame", "time")


@dataclass(frozen=True, slots=True)
class TargetPose:
    """A morph target and the pose that it belongs to."""

    target: str
    weight: float = 1.0
    joint_rotations: Mapping[str, Float64] = field(default_factory=dict)  # (3,3) by name of the joint
    moment: ClipMoment | None = None  # in place of rotations


def read_target_list(path: PathLike, skeleton: StickSkeleton, targets: tuple[str, ...]) -> tuple[TargetPose, ...]:
    """The poses of targets of a character that has these targets and joints."""
    json_value = read_json(Source(Path(path)))
    entries = json_value.fields(("targets",))
    if "targets" not in entries:
        raise json_value.error('has no \'targets\'; expected {"targets": [{"target": …, "joint": …, "rotation": …}]}')
    names = SkeletonNames(skeleton)
    found = [_target(item, names, targets) for item in entries["targets"].items("target")]
    if not found:
        raise entries["targets"].error("names no target")
    return tuple(found)


def _target(json_value: JsonValue, names: SkeletonNames, targets: tuple[str, ...]) -> TargetPose:
    fields = json_value.fields(KEYS)
    if "target" not in fields:
        raise json_value.error("needs the 'target', a name of a morph target")
    target = fields["target"].text()
    if target not in targets:
        raise fields["target"].error(f"there is no morph target {quote(target)}; {nearest_of(target, targets)}")
    weight = fields["weight"].number() if "weight" in fields else 1.0
    if not weight:
        raise fields["weight"].error("a target of weight 0 moves nothing; expected another weight")
    moment = read_moment(json_value, fields)
    rotations = {} if moment is not None else _rotations(json_value, fields, names)
    return TargetPose(target, weight, rotations, moment)


def _rotations(json_value: JsonValue, fields: Mapping[str, JsonValue], names: SkeletonNames) -> dict[str, Float64]:
    """(3,3) by joint: from 'joint' and 'rotation', or from 'rotate'."""
    pair = [key for key in ("joint", "rotation") if key in fields]
    if ("rotate" in fields) == bool(pair) or len(pair) == 1:
        raise json_value.error("needs its pose: 'joint' and 'rotation', or 'rotate', or 'clip' and 'frame'")
    if pair:
        joint = fields["joint"].text()
        entry = fields["joint"].below({joint: fields["rotation"].value}, "rotation")
    else:
        entry = fields["rotate"]
    found = read_joint_rotations(entry, names)
    return {names.skeleton.names[j]: matrix for j, matrix in found.items()}
