"""A pose request of the page, with all its fields checked.

    {"joints": [[x, y, z], …], "turns": [[x, y, z, w], …], "twist": [[a, b], …], "cross": [s, …],
     "lines": [{"name", "rest": [P, P], "ends": [P, P], "twist": [a, b], "cross": s, "domain": {"tube": r}}, …],
     "pins": [{"vertex": v, "target": P}, …],
     "methods": ["skin", "simplex", "ssd"], "measure": "area", "judge": true, "build": "…"}

All fields but `joints` are optional. Angles are in radians; `turns` are quaternions of the bones, from the rest pose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import GeometryError, OptionError
from osteon.core.pose_track import ControlLine, Domain, LineTrack, PinTrack, PoseTrack
from osteon.core.transforms import matrices_from_quaternions

METHODS = ("skin", "simplex", "ssd")
MEASURES = ("area", "angle", "strain")
#: More than any rig has.
MAX_JOINTS = 10_000
MAX_LINES = 64
MAX_PINS = 256
#: Largest coordinate.
LARGEST = 1e12
_FIELDS = ("joints", "turns", "twist", "cross", "lines", "pins", "methods", "measure", "judge", "build")
_LINE_FIELDS = ("name", "rest", "ends", "twist", "cross", "domain")


@dataclass(frozen=True, slots=True)
class PoseRequest:
    """One pose, and the results that are requested for it."""

    joints: Float64  # (j,3)
    rotations: Float64  # (b,3,3)
    twist: Float64  # (b,2) radians
    cross_scale: Float64  # (b,)
    lines: tuple[ControlLine, ...]
    line_ends: Float64  # (l,2,3)
    line_twist: Float64  # (l,2) radians
    line_cross: Float64  # (l,)
    pins: Int32  # (c,)
    targets: Float64  # (c,3)
    methods: tuple[str, ...] = ("simplex",)
    measure: str | None = None  # distortion measure of the triangles
    judge: bool = False  # whether to count flipped triangles
    build: str = ""  # the build whose segments the page has

    def track(self, n_joints: int, n_bones: int) -> PoseTrack:
        """The pose as a track of one frame."""
        if len(self.joints) != n_joints or len(self.rotations) != n_bones:
            raise GeometryError(
                f"the pose has {len(self.joints)} joints and {len(self.rotations)} bones, the skeleton {n_joints} and "
                f"{n_bones}; load the page again"
            )
        return PoseTrack(
            joints=self.joints[None],
            cross_scale=self.cross_scale[None] if n_bones else None,
            twist=self.twist[None] if n_bones else None,
            rotations=self.rotations[None] if n_bones else None,
            lines=LineTrack(self.lines, self.line_ends[None], self.line_cross[None], self.line_twist[None]),
            pins=PinTrack(self.pins, self.targets[None]),
        )


def pose_request(message: dict[str, Any]) -> PoseRequest:
    """The request in a JSON object; an invalid one is refused with a message that names the field."""
    _known(message, _FIELDS, "pose")
    joints = _numbers(message.get("joints", []), "joints", (MAX_JOINTS, 3))
    quaternions = _numbers(message.get("turns", []), "turns", (MAX_JOINTS, 4))
    n = len(quaternions)
    lines = [_line(item) for item in _list(message.get("lines", []), "lines", MAX_LINES)]
    pins = [_pin(item) for item in _list(message.get("pins", []), "pins", MAX_PINS)]
    if len({line.name for line, _ in lines}) < len(lines):
        raise OptionError("lines: two have the same name")
    if len({vertex for vertex, _ in pins}) < len(pins):
        raise OptionError("pins: a vertex occurs twice")
    posed = [part for _, part in lines]
    return PoseRequest(
        joints=joints,
        rotations=_rotations(quaternions),
        twist=_numbers(message.get("twist", [[0, 0]] * n), "twist", (MAX_JOINTS, 2), n),
        cross_scale=_scales(_numbers(message.get("cross", [1] * n), "cross", (MAX_JOINTS,), n), "cross"),
        lines=tuple(line for line, _ in lines),
        line_ends=np.array([ends for ends, _, _ in posed], float).reshape(-1, 2, 3),
        line_twist=np.array([twist for _, twist, _ in posed], float).reshape(-1, 2),
        line_cross=_scales(np.array([cross for _, _, cross in posed], float), "cross of lines"),
        pins=np.array([vertex for vertex, _ in pins], np.int32),
        targets=np.array([target for _, target in pins], float).reshape(-1, 3),
        methods=_methods(message.get("methods", ["simplex"])),
        measure=_measure(message.get("measure")),
        judge=_flag(message.get("judge", False), "judge"),
        build=_text(message.get("build", ""), "build", empty=True),
    )


def _line(item: Any) -> tuple[ControlLine, tuple[Float64, Float64, float]]:
    """A control line, and its ends, twist and cross section in the pose."""
    if not isinstance(item, dict):
        raise OptionError("lines: expected objects")
    _known(item, _LINE_FIELDS, "line")
    name = _text(item.get("name"), "name of a line")
    rest = _numbers(item.get("rest"), f"line {name}: rest", (2, 3), 2)
    ends = _numbers(item.get("ends", item.get("rest")), f"line {name}: ends", (2, 3), 2)
    if np.linalg.norm(ends[1] - ends[0]) <= 1e-9 * np.linalg.norm(rest[1] - rest[0]):
        raise OptionError(f"line {name}: its ends coincide; move one of them")
    start, stop = ((float(x), float(y), float(z)) for x, y, z in rest)
    line = ControlLine(start, stop, _domain(item.get("domain", {}), name), name)
    twist = _numbers(item.get("twist", [0, 0]), f"line {name}: twist", (2,), 2)
    return line, (ends, twist, float(_numbers([item.get("cross", 1)], f"line {name}: cross", (1,), 1)[0]))


def _domain(value: Any, name: str) -> Domain:
    if not isinstance(value, dict):
        raise OptionError(f"line {name}: domain: expected an object")
    _known(value, ("tube", "distance"), f"domain of {name}")
    sizes = {key: float(_numbers([size], f"line {name}: {key}", (1,), 1)[0]) for key, size in value.items()}
    return Domain(distance=sizes.get("distance"), tube=sizes.get("tube"))


def _pin(item: Any) -> tuple[int, Float64]:
    if not isinstance(item, dict):
        raise OptionError("pins: expected objects")
    _known(item, ("vertex", "target"), "pin")
    vertex = item.get("vertex")
    if isinstance(vertex, bool) or not isinstance(vertex, int) or not 0 <= vertex < 2**31 - 1:
        raise OptionError(f"pins: expected the number of a vertex, got {str(vertex)[:20]}")
    return vertex, _numbers(item.get("target"), "pins: target", (3,), 3)


def _numbers(value: Any, name: str, most: tuple[int, ...], count: int | None = None) -> Float64:
    """Finite numbers in lists of the shape (n, *most[1:]), n as counted or at most most[0]."""
    try:
        found = np.array(value) if isinstance(value, list) else np.array("")
    except ValueError:  # lists of different lengths
        found = np.array("")
    if isinstance(value, list) and not value:
        found = np.zeros((0, *most[1:]))
    fits = found.dtype.kind in "iuf" and found.ndim == len(most) and found.shape[1:] == most[1:]
    if not fits or not (len(found) <= most[0] if count is None else len(found) == count):
        shape = " x ".join(str(n) for n in ("n" if count is None else count, *most[1:]))
        raise OptionError(f"{name}: expected {shape} numbers")
    numbers = found.astype(np.float64)
    if not (np.abs(numbers) <= LARGEST).all():  # NaN fails too
        raise OptionError(f"{name}: a number is too large or not finite")
    return numbers


def _rotations(quaternions: Float64) -> Float64:
    """(b,3,3) of quaternions (b,4), x y z w."""
    length = np.linalg.norm(quaternions, axis=1)
    if not (np.abs(length - 1) < 1e-3).all():
        raise OptionError("turns: expected unit quaternions")
    return matrices_from_quaternions(quaternions / length[:, None])


def _scales(scales: Float64, name: str) -> Float64:
    if not ((scales >= 1e-3) & (scales <= 1e3)).all():
        raise OptionError(f"{name}: a scale must be in 0.001 … 1000")
    return scales


def _methods(value: Any) -> tuple[str, ...]:
    found = tuple(method for method in METHODS if method in _list(value, "methods", len(METHODS)))
    if not found or len(found) != len(value):
        raise OptionError(f"methods: expected some of {', '.join(METHODS)}")
    return found


def _measure(value: Any) -> str | None:
    if value is not None and value not in MEASURES:
        raise OptionError(f"measure: expected one of {', '.join(MEASURES)}")
    return value if isinstance(value, str) else None


def _list(value: Any, name: str, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise OptionError(f"{name}: expected a list of at most {most}")
    return value


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise OptionError(f"{name}: expected true or false")
    return value


def _text(value: Any, name: str, *, empty: bool = False) -> str:
    if not isinstance(value, str) or len(value) > 80 or not (value or empty) or not value.isprintable():
        raise OptionError(f"{name}: expected a short name")
    return value


def _known(value: dict[str, Any], names: tuple[str, ...], what: str) -> None:
    for name in value:
        if name not in names:
            raise OptionError(f"{what}: '{str(name)[:40]}' is unknown; known are {', '.join(names)}")
