"""`poses.json`: the mesh of each pose. It can also be written by hand, for scans and sculpts (docs/simulate.md).

{"rest": "rest.obj", "skeleton": {"joints": …, "bones": …}, "hinges": {"knee": [1, 0, 0]},
 "poses": [{"file": "knee_+40.obj", "kind": "train", "rotate": {"knee": 40}},
           {"file": "sit.obj", "kind": "validate", "rotate": {"hip": {"axis": [1, 0, 0], "degrees": -80}, "knee": 80}}]}

A rotation is written as in pose files; that of a hinge, whose axis is given once, as its degrees alone. Files are
beside the list. Where the character is known, a pose may also be a frame of one of its clips, and `rest` and `skeleton`
may be omitted:

{"poses": [{"file": "sculpt.obj", "clip": "ROM", "frame": 12}, {"file": "wave.obj", "clip": "ROM", "time": 1.5}]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.kinematics import JointLimit
from osteon.core.sticks import StickSkeleton
from osteon.io.load.source import PathLike, Source, quote
from osteon.io.poses.bone_pose import SkeletonNames, read_axis, read_joint_rotations
from osteon.io.poses.pose_json import NOTHING, axis_and_degrees
from osteon.io.save import GENERATOR, GENERATOR_KEY
from osteon.io.skeletons.files import load_skeleton
from osteon.io.skeletons.parsing import JsonValue, nearest_of, read_json
from osteon.io.skeletons.skeleton_json import skeleton_json_text, skeleton_of_json

# Joint limits: {"limits": {"knee": {"axis": [1, 0, 0], "degrees": [-5, 80]},
#                        "hip": [{"name": "bend", "axis": [1, 0, 0], "degrees": [-20, 70]}, {"axis": "hip-knee", …}]}}

LIMITS_KEY = "limits"
#: For fitting: poses of one joint (train), of two neighbouring joints (pair). For validation only: validate.
PoseKind = Literal["train", "pair", "validate"]
LIST_NAME = "poses.json"
#: Bytes of a file name that every system takes.
LONGEST = 250
#: Metadata of the simulation; stored unchanged.
FACTS_KEY = "simulation"
KEYS = (GENERATOR_KEY, "rest", "skeleton", "hinges", LIMITS_KEY, "frames", "poses", FACTS_KEY)
POSE_KEYS = ("name", "file", "kind", "rotate", "translate", "clip", "frame", "time", FACTS_KEY)


@dataclass(frozen=True, slots=True)
class ClipMoment:
    """A frame of a clip of the character."""

    clip: str  # its name
    frame: int = 0  # counted from 0
    time: float | None = None  # seconds from its start, in place of the frame


@dataclass(frozen=True, slots=True)
class ListedPose:
    """One pose, and the file of its mesh."""

    name: str
    file: str  # beside the list; "": the list names one file for all
    kind: PoseKind = "train"
    joint_rotations: Mapping[int, Float64] = field(default_factory=dict)  # (3,3) by joint, of those that rotate
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of the root
    facts: Mapping[str, Any] = field(default_factory=dict)  # how it was computed
    moment: ClipMoment | None = None  # its pose, in place of joint rotations


@dataclass(frozen=True, slots=True)
class PoseList:
    """All of `poses.json`; the meshes are not read."""

    rest: str  # file of the mesh at rest; "": that of the character
    skeleton: StickSkeleton
    poses: tuple[ListedPose, ...]
    hinges: Mapping[int, Float64] = field(default_factory=dict)  # (3,) unit axis by joint
    limits: tuple[JointLimit, ...] = ()  # joint limits, where known
    frames: str = ""  # one file with the meshes of all poses in order, in place of one file per pose
    facts: Mapping[str, Any] = field(default_factory=dict)


def holds_pose_list(path: Path) -> bool:
    """Whether a path names a list of poses, or a folder with one; else it is a sequence."""
    return path.suffix.lower() == ".json" or (path.is_dir() and (path / LIST_NAME).is_file())


def read_pose_list(path: Path, skeleton: StickSkeleton | None = None) -> PoseList:
    """The list in a file; `skeleton`, that of the character, is used if none is named, and allows frames of clips."""
    json_value = read_json(Source(path))
    fields = json_value.fields(KEYS)
    for key in ("poses",) if skeleton is not None else ("rest", "skeleton", "poses"):
        if key not in fields:
            raise json_value.error(f"has no {quote(key)}; a list of poses names its mesh, its skeleton and its poses")
    with_character = skeleton is not None
    if "skeleton" in fields:
        skeleton = _skeleton(fields["skeleton"], path.parent)
    assert skeleton is not None  # checked above
    plain = SkeletonNames(skeleton)
    hinges = _hinges(fields["hinges"], plain) if "hinges" in fields else {}
    names = SkeletonNames(skeleton, hinges)
    frames = _file(fields["frames"]) if "frames" in fields else ""
    begun = FACTS_KEY in fields and fields["poses"].value == []  # a simulation whose first pose is not done
    items = [] if begun else fields["poses"].items("pose")
    poses = [_pose(item, names, needs_file=not frames) for item in items]
    for item, pose in zip(items, poses, strict=True):
        if pose.moment is not None and not with_character:
            raise item.error("names a clip, so its pose is known with the character only: osteon eigenskin hero.glb …")
    _check_names(poses, fields["poses"])
    return PoseList(
        _file(fields["rest"]) if "rest" in fields else "",
        skeleton,
        tuple(poses),
        hinges,
        read_limits(fields[LIMITS_KEY], plain) if LIMITS_KEY in fields else (),
        frames,
        _facts(fields),
    )


def pose_list_text(listed: PoseList) -> str:
    """The list as JSON, a line for each pose."""
    names = listed.skeleton.names
    skeleton = json.loads(skeleton_json_text(listed.skeleton))
    skeleton.pop(GENERATOR_KEY)
    entry: dict[str, Any] = {
        GENERATOR_KEY: GENERATOR,
        "rest": listed.rest,
        "frames": listed.frames,
        FACTS_KEY: dict(listed.facts),
        "skeleton": skeleton,
        "hinges": {names[j]: np.round(axis, 9).tolist() for j, axis in listed.hinges.items()},
        LIMITS_KEY: limits_as_json(listed.limits),
    }
    head = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in entry.items() if value]
    rows = ",\n".join(f"  {json.dumps(_pose_as_json(pose, listed), allow_nan=False)}" for pose in listed.poses)
    return "{" + ",\n ".join([*head, f'"poses": [\n{rows}\n ]']) + "}\n"


def _skeleton(json_value: JsonValue, folder: Path) -> StickSkeleton:
    """As an object, or the name of a file with one."""
    if json_value.is_object:
        return skeleton_of_json(json_value)
    return load_skeleton(folder / _file(json_value))


def _file(json_value: JsonValue) -> str:
    """A valid file name."""
    name = json_value.text()
    if len(name.encode()) > LONGEST or not Path(name).suffix:
        raise json_value.error(f"expected the name of a file, such as 'rest.obj', got {quote(name)}")
    return name


def _hinges(json_value: JsonValue, names: SkeletonNames) -> dict[int, Float64]:
    out: dict[int, Float64] = {}
    for joint, entry in json_value.named().items():
        axis = read_axis(entry, names)
        axis = axis / np.abs(axis).max()
        out[names.joint(joint, json_value)] = axis / np.linalg.norm(axis)
    return out


def _pose(json_value: JsonValue, names: SkeletonNames, *, needs_file: bool) -> ListedPose:
    fields = json_value.fields(POSE_KEYS)
    if ("file" in fields) != needs_file:
        message = (
            "needs the 'file' of its mesh" if needs_file else "needs no 'file'; 'frames' has the meshes of all poses"
        )
        raise json_value.error(message)
    file = _file(fields["file"]) if needs_file else ""
    kind = fields["kind"].text() if "kind" in fields else "train"
    if kind not in get_args(PoseKind):
        raise fields["kind"].error(f"there is no kind {quote(kind)}; {nearest_of(kind, get_args(PoseKind))}")
    name = fields["name"].text() if "name" in fields else Path(file).stem or json_value.path[-1]
    rotations = read_joint_rotations(fields["rotate"], names) if "rotate" in fields else {}
    shift = fields["translate"].point() if "translate" in fields else (0.0, 0.0, 0.0)
    checked: PoseKind = next(known for known in get_args(PoseKind) if known == kind)
    return ListedPose(name, file, checked, rotations, shift, _facts(fields), read_moment(json_value, fields))


def read_moment(json_value: JsonValue, fields: Mapping[str, JsonValue]) -> ClipMoment | None:
    """The clip and frame that an entry names, if it does."""
    where = [key for key in ("frame", "time") if key in fields]
    if "clip" not in fields:
        if where:
            raise json_value.error(f"has a {quote(where[0])}, but no 'clip' that it is in")
        return None
    if len(where) != 1:
        raise json_value.error("a 'clip' needs either a 'frame', counted from 0, or a 'time' in seconds")
    both = [key for key in ("rotate", "translate", "joint", "rotation") if key in fields]
    if both:
        raise json_value.error(f"has both a 'clip' and {quote(both[0])}; omit one of them")
    clip, entry = fields["clip"].text(), fields[where[0]]
    if where == ["time"]:
        seconds = entry.number()
        if seconds < 0:
            raise entry.error("a time must not be negative")
        return ClipMoment(clip, time=seconds)
    frame = entry.whole()
    if frame < 0:
        raise entry.error("frames are counted from 0")
    return ClipMoment(clip, frame)


def _facts(fields: Mapping[str, JsonValue]) -> dict[str, Any]:
    return {key: entry.value for key, entry in fields[FACTS_KEY].named().items()} if FACTS_KEY in fields else {}


def _check_names(poses: list[ListedPose], json_value: JsonValue) -> None:
    seen: set[str] = set()
    for pose in poses:
        if pose.name in seen:
            raise json_value.error(f"two poses have the name {quote(pose.name)}; rename one")
        seen.add(pose.name)


def _pose_as_json(pose: ListedPose, listed: PoseList) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": pose.name if pose.name != Path(pose.file).stem else "",
        "file": pose.file,
        "kind": pose.kind,
        "rotate": {
            listed.skeleton.names[j]: _rotation_entry(matrix, listed.hinges.get(j))
            for j, matrix in pose.joint_rotations.items()
        },
        "translate": list(pose.shift) if any(pose.shift) else None,
        FACTS_KEY: dict(pose.facts),
    }
    entry["rotate"] = {name: value for name, value in entry["rotate"].items() if value is not None}
    return {key: value for key, value in entry.items() if value}


def _rotation_entry(matrix: Float64, hinge: Float64 | None) -> float | dict[str, Any] | None:
    """The rotation in the form of the file: degrees if it is about the hinge alone, else axis and degrees."""
    entry = axis_and_degrees(matrix)
    if entry is None or hinge is None:
        return entry
    across = float(np.linalg.norm(np.cross(entry["axis"], hinge)))
    signed = float(np.sign(np.dot(entry["axis"], hinge)) * entry["degrees"])
    return round(signed, 9) if across * abs(signed) <= 100 * NOTHING else entry


def load_limits(path: PathLike, skeleton: StickSkeleton) -> tuple[JointLimit, ...]:
    """The limits in a file; or those of a list of poses (`poses.json`)."""
    json_value = read_json(Source(Path(path)))
    entry = json_value.named()
    if LIMITS_KEY not in entry:
        raise json_value.error('has no \'limits\'; expected {"limits": {"joint": {"axis": …, "degrees": [low, high]}}}')
    return read_limits(entry[LIMITS_KEY], SkeletonNames(skeleton))


def read_limits(json_value: JsonValue, names: SkeletonNames) -> tuple[JointLimit, ...]:
    """All limits of an object by joint, in the order of the file."""
    found: list[JointLimit] = []
    for joint, entry in json_value.named().items():
        names.joint(joint, json_value)
        several = entry.items("limit") if entry.is_list else [entry]
        found += [_limit(joint, one, names) for one in several]
        called = [limit.name for limit in found if limit.joint == joint]
        if len(set(called)) < len(called):
            raise entry.error("several limits of one joint need a 'name' each, all different")
    return tuple(found)


def _limit(joint: str, json_value: JsonValue, names: SkeletonNames) -> JointLimit:
    fields = json_value.fields(("name", "axis", "degrees"))
    for key in ("axis", "degrees"):
        if key not in fields:
            raise json_value.error(f"a limit needs '{key}'")
    low, high = (end.number() for end in fields["degrees"].pair("number"))
    x, y, z = read_axis(fields["axis"], names).tolist()
    with json_value.source.naming():
        return JointLimit(joint, (x, y, z), low, high, fields["name"].text() if "name" in fields else "")


def limits_as_json(limits: tuple[JointLimit, ...]) -> dict[str, Any]:
    """The inverse of `read_limits`."""
    out: dict[str, Any] = {}
    for limit in limits:
        named = {"name": limit.name} if limit.name else {}
        entry = {**named, "axis": [round(x, 9) for x in limit.axis], "degrees": [limit.low, limit.high]}
        out.setdefault(limit.joint, []).append(entry)
    return {joint: entry[0] if len(entry) == 1 else entry for joint, entry in out.items()}
