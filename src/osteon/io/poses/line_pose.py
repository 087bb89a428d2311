"""Control lines and pinned vertices of pose files.

Where a line rests and what it may move is told once: beside "poses", or where a pose first names the line. A pose that
does not name a line leaves it at rest. Pins name the same vertices in each pose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.errors import GeometryError
from osteon.core.pose_track import ControlLine, Domain, LineTrack, PinTrack
from osteon.io.load.source import quote
from osteon.io.poses.bone_pose import read_twist
from osteon.io.skeletons.checked_json import JsonValue, Point
from osteon.io.skeletons.text_lines import nearest_of

__all__ = ["LinePose", "define_lines", "line_track", "pin_track", "read_line_poses", "read_pins"]

DEFINITION_KEYS = ("name", "rest", "domain")
LINE_KEYS = (*DEFINITION_KEYS, "posed", "cross_scale", "twist")
DOMAIN_KEYS = ("distance", "tube", "box", "triangles")


@dataclass(frozen=True, slots=True)
class LinePose:
    """Where a line is in one pose."""

    ends: tuple[Point, Point]
    cross_scale: float = 1.0
    twist: tuple[float, float] = (0.0, 0.0)  # radians at start and stop

    @staticmethod
    def at_rest(line: ControlLine) -> LinePose:
        return LinePose((line.start, line.stop))


def define_lines(json_value: JsonValue, lines: dict[str, ControlLine], plane: float | None, *, posed: bool) -> None:
    """Add the lines of a list that are new to `lines`; what is told again must be the same."""
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
                raise item.error(f"the line {quote(name)} was told before with another rest or domain; tell it once")


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
    """Where a pose puts the lines it names; without "posed" a line stays where it rests."""
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
    """All pins over all poses; refused if a pose (told at its entry) pins other vertices than the first."""
    vertices = sorted(poses[0])
    for pins, json_value in zip(poses, json_values, strict=True):
        for vertex in sorted(set(pins) ^ set(vertices)):
            verb = "pins" if vertex in pins else "does not pin"
            raise json_value.error(f"{verb} vertex {vertex}, unlike the first pose; pin the same vertices in each")
    targets = np.array([[pins[vertex] for vertex in vertices] for pins in poses], float)
    return PinTrack(np.array(vertices, np.int32), targets.reshape(len(poses), len(vertices), 3))
