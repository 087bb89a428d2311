"""Poses as JSON: one pose {…}, or frames {"fps": 24, "name": "wave", "poses": [{…}, …]} (docs/poses.md).

The rest position of a control line and what it may move are defined once: beside "poses", or where a pose first names
the line. A pose that does not name a line leaves it at rest. Pins name the same vertices in each pose. Poses are
written as joint rotations, with places only for joints that rotations do not reach.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from osteon.core.animation import DEFAULT_FPS, Clip
from osteon.core.arrays import Float64
from osteon.core.errors import FileFormatError, GeometryError
from osteon.core.kinematics import rotations_of_pose
from osteon.core.pose_track import ControlLine, Domain, LineTrack, PinTrack, PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import bounding_diagonal
from osteon.io.load.source import PathLike, quote
from osteon.io.poses.bone_pose import BONE_POSE_KEYS, BonePose, SkeletonNames, read_bone_pose, read_twist
from osteon.io.save import GENERATOR, GENERATOR_KEY
from osteon.io.save.atomic import atomic_file
from osteon.io.skeletons.parsing import JsonValue, Point, nearest_of

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
    rotated = any(row is not None and row.rotated for row in rows)
    with json_value.source.naming():
        return PoseTrack(
            joints=np.stack([np.zeros((0, 3)) if row is None else row.joints for row in rows]),
            cross_scale=_cross_scale(rows, skeleton),
            twist=_twist(rows, skeleton),
            rotations=np.stack([row.rotations for row in rows if row is not None]) if rotated else None,
            turned=np.array([row is not None and row.rotated for row in rows]),
            lines=line_track(lines, line_poses),
            pins=pin_track(pins, poses),
            clips=(Clip(name, 0, len(rows), fps),),
            fps=fps,
        )


def _poses(json_value: JsonValue) -> tuple[dict[str, JsonValue], list[JsonValue]]:
    """The top-level fields, and the poses, named `pose 1`, `pose 2`, … where there is a list of them."""
    top = json_value.named()
    if "poses" not in top:
        return top, [json_value]
    top = json_value.fields(FILE_KEYS)
    return top, [JsonValue(pose.value, pose.source, pose.path[1:]) for pose in top["poses"].items("pose")]


def _bone_pose(fields: dict[str, JsonValue], names: SkeletonNames | None) -> BonePose | None:
    entry = {key: value for key, value in fields.items() if key in BONE_POSE_KEYS}
    if names is None:
        for value in entry.values():
            raise value.error("moves a skeleton, but none is given; without one only 'lines' and 'pins' can be used")
        return None
    return read_bone_pose(entry, names)


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


DEFINITION_KEYS = ("name", "rest", "domain")
LINE_KEYS = (*DEFINITION_KEYS, "posed", "cross_scale", "twist")
DOMAIN_KEYS = ("distance", "tube", "box", "triangles")


@dataclass(frozen=True, slots=True)
class LinePose:
    """A control line in one pose."""

    ends: tuple[Point, Point]
    cross_scale: float = 1.0
    twist: tuple[float, float] = (0.0, 0.0)  # radians at start and stop

    @staticmethod
    def at_rest(line: ControlLine) -> LinePose:
        return LinePose((line.start, line.stop))


def define_lines(json_value: JsonValue, lines: dict[str, ControlLine], plane: float | None, *, posed: bool) -> None:
    """Add the lines of a list that are new to `lines`; a repeated definition must be the same."""
    names: set[str] = set()
    for item in json_value.items("line"):
        fields = item.fields(LINE_KEYS if posed else DEFINITION_KEYS)
        name = _line_name(item, fields)
        if name in names:
            raise item.error(f"the line {quote(name)} is there twice in this list; name it otherwise")
        names.add(name)
        if name not in lines and "rest" not in fields:
            known = f"; {nearest_of(name, lines)}" if lines else ""
            raise item.error(f"the line {quote(name)} is new and needs 'rest': [[x, y, z], [x, y, z]]{known}")
        if name not in lines or "rest" in fields or "domain" in fields:
            line = _definition(item, name, fields, plane, lines.get(name))
            if lines.setdefault(name, line) != line:
                raise item.error(f"the line {quote(name)} was defined before with another rest or domain; correct one")


def _line_name(item: JsonValue, fields: dict[str, JsonValue]) -> str:
    return fields["name"].text() if "name" in fields else item.path[-1]  # 'line 1' is its own name


def _definition(
    item: JsonValue, name: str, fields: dict[str, JsonValue], plane: float | None, before: ControlLine | None
) -> ControlLine:
    if "rest" in fields:
        start, stop = (end.point(plane) for end in fields["rest"].pair("point"))
    else:
        assert before is not None  # a new line has a rest
        start, stop = before.start, before.stop
    domain = Domain() if before is None else before.domain
    if "domain" in fields:
        domain = _domain(fields["domain"], plane)
    if start == stop:
        raise item.error("'rest' needs two different points")
    return ControlLine(start, stop, domain, name)


def _domain(json_value: JsonValue, plane: float | None) -> Domain:
    fields = json_value.fields(DOMAIN_KEYS)
    box = None
    if "box" in fields:
        low, high = (corner.point(plane) for corner in fields["box"].pair("corner"))
        box = low, high
    triangles = fields["triangles"].items("triangle") if "triangles" in fields else None
    try:
        return Domain(
            distance=fields["distance"].positive() if "distance" in fields else None,
            tube=fields["tube"].positive() if "tube" in fields else None,
            box=box,
            triangles=None if triangles is None else tuple(triangle.whole() for triangle in triangles),
        )
    except GeometryError as error:
        raise json_value.error(str(error)) from error


def read_line_poses(json_value: JsonValue, lines: dict[str, ControlLine], plane: float | None) -> dict[str, LinePose]:
    """The lines that a pose names; without "posed" the ends of a line are at rest."""
    found: dict[str, LinePose] = {}
    for item in json_value.items("line"):
        fields = item.fields(LINE_KEYS)
        name = _line_name(item, fields)
        ends = lines[name].start, lines[name].stop
        if "posed" in fields:
            start, stop = (end.point(plane) for end in fields["posed"].pair("point"))
            ends = start, stop
            if start == stop:
                raise fields["posed"].error("a line needs two different points")
        scale = fields["cross_scale"].positive() if "cross_scale" in fields else 1.0
        found[name] = LinePose(ends, scale, read_twist(fields["twist"]) if "twist" in fields else (0.0, 0.0))
    return found


def line_track(lines: dict[str, ControlLine], poses: list[dict[str, LinePose]]) -> LineTrack:
    """All lines over all poses."""
    rows = [[pose.get(name, LinePose.at_rest(line)) for name, line in lines.items()] for pose in poses]
    shape = (len(poses), len(lines))
    return LineTrack(
        tuple(lines.values()),
        np.array([[p.ends for p in row] for row in rows], float).reshape(*shape, 2, 3),
        np.array([[p.cross_scale for p in row] for row in rows], float).reshape(shape),
        np.array([[p.twist for p in row] for row in rows], float).reshape(*shape, 2),
    )


def read_pins(json_value: JsonValue, plane: float | None) -> dict[int, Point]:
    """Places by vertex."""
    found: dict[int, Point] = {}
    for key, place in json_value.named().items():
        if not (key.isascii() and key.isdigit() and len(key) < 11 and int(key) < 2**31 - 1):
            raise json_value.error(f"expected the number of a vertex from 0, got {quote(key)}")
        if int(key) in found:
            raise json_value.error(f"vertex {int(key)} is there twice")
        found[int(key)] = place.point(plane)
    return found


def pin_track(poses: list[dict[int, Point]], json_values: list[JsonValue]) -> PinTrack:
    """All pins over all poses; refused if a pose (named by its entry) pins other vertices than the first."""
    vertices = sorted(poses[0])
    for pins, json_value in zip(poses, json_values, strict=True):
        for vertex in sorted(set(pins) ^ set(vertices)):
            verb = "pins" if vertex in pins else "does not pin"
            raise json_value.error(f"{verb} vertex {vertex}, unlike the first pose; pin the same vertices in each")
    targets = np.array([[pins[vertex] for vertex in vertices] for pins in poses], float)
    return PinTrack(np.array(vertices, np.int32), targets.reshape(len(poses), len(vertices), 3))


#: Angles below this (degrees) and distances below this (over the skeleton's size) are rounding.
NOTHING = 1e-7


def save_poses(track: PoseTrack, skeleton: StickSkeleton, path: PathLike, *, name: str = "") -> None:
    """Write all poses of a track to a .json; its bones only, without lines and pins."""
    if not str(path).lower().endswith(".json"):
        raise FileFormatError(f"{path}: poses are written as .json")
    with atomic_file(path) as temporary:
        marked = {GENERATOR_KEY: GENERATOR, **poses_as_json(track, skeleton, name)}
        temporary.write_text(json.dumps(marked, indent=1) + "\n")


def poses_as_json(track: PoseTrack, skeleton: StickSkeleton, name: str = "") -> dict[str, Any]:
    """One frame of a track as the entry of a pose file."""
    poses = [_pose(track, f, skeleton) for f in range(track.n_frames)]
    entry = {"name": name} if name else {}
    return {**entry, **poses[0]} if len(poses) == 1 else {**entry, "fps": track.clips[0].fps, "poses": poses}


def _pose(track: PoseTrack, f: int, skeleton: StickSkeleton) -> dict[str, Any]:
    found = rotations_of_pose(track, f, skeleton)
    size = bounding_diagonal(skeleton.joints)
    moved = np.flatnonzero(np.linalg.norm(found.residual, axis=1) > NOTHING * size)
    rotations = {skeleton.names[j]: axis_and_degrees(matrix) for j, matrix in found.rotations.items()}
    entry: dict[str, Any] = {
        "rotate": {name: entry for name, entry in rotations.items() if entry is not None},
        "translate": found.shift.tolist() if np.linalg.norm(found.shift) > NOTHING * size else None,
        "joints": {skeleton.names[j]: track.joints[f, j].tolist() for j in moved},
        "bones": _bones(track, f, skeleton),
    }
    return {key: value for key, value in entry.items() if value}


def axis_and_degrees(matrix: Float64) -> dict[str, Any] | None:
    """A rotation as in pose files; None for the identity."""
    from scipy.spatial.transform import Rotation

    vector = Rotation.from_matrix(matrix).as_rotvec(degrees=True)
    degrees = float(np.linalg.norm(vector))
    return None if degrees < NOTHING else {"axis": (vector / degrees).round(9).tolist(), "degrees": round(degrees, 9)}


def _bones(track: PoseTrack, f: int, skeleton: StickSkeleton) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for b in range(skeleton.n_bones):
        entry: dict[str, Any] = {}
        if track.twist is not None and track.twist[f, b].any():
            entry["twist"] = np.rad2deg(track.twist[f, b]).tolist()
        if track.cross_scale is not None and track.cross_scale[f, b] != 1:
            entry["cross_scale"] = float(track.cross_scale[f, b])
        if entry:
            out[skeleton.bone_name(b)] = entry
    return out
