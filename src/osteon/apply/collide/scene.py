"""Scenes of rigid bodies for a character: the bodies, gravity, the ground; read from JSON (docs/collide.md).

    {"bodies": [{"shape": "sphere", "radius": 0.1, "position": [0, 2, 0], "velocity": [0, 0, -3]}]}

Lengths are in units of the character's file, or in its diagonals with `"unit": "diagonal"`; then velocities are too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

import numpy as np

from osteon.apply.collide.bodies_state import Shape, inertia_of, volume_of
from osteon.core.arrays import Float64, checked
from osteon.core.errors import GeometryError
from osteon.io.load.source import PathLike, Source, quote
from osteon.io.skeletons.parsing import JsonValue, nearest_of, read_json

#: Gravity in diagonals per second squared: that of the earth, if the character's diagonal is two metres.
GRAVITY = 4.905
#: Keys of a scene, of a body of each shape, of the ground and of the character.
SCENE_KEYS = ("bodies", "gravity", "ground", "character", "unit", "name")
SIZES: dict[Shape, tuple[str, ...]] = {"sphere": ("radius",), "box": ("size",), "capsule": ("radius", "height")}
BODY_KEYS = (
    *("name", "shape", "mass", "density", "position", "rotation", "velocity", "angular_velocity"),
    *("friction", "restitution", "color", "fixed"),
)
SURFACE_KEYS = ("friction", "restitution")
GROUND_KEYS = ("height", *SURFACE_KEYS, "visible")
#: Colours of bodies without one, in turn.
COLORS = ((0.90, 0.35, 0.21), (0.20, 0.55, 0.85), (0.95, 0.75, 0.25), (0.35, 0.70, 0.40), (0.62, 0.44, 0.75))
_HEX = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True, slots=True)
class Touch:
    """How a surface touches: friction and restitution."""

    friction: float = 0.6  # Coulomb's coefficient; of two surfaces the geometric mean counts
    restitution: float = 0.3  # part of the closing speed that is returned; of two surfaces the larger counts

    def __post_init__(self) -> None:
        if not (np.isfinite(self.friction) and self.friction >= 0):
            raise GeometryError(f"friction: expected 0 or more, got {self.friction:g}")
        if not 0 <= self.restitution <= 1:
            raise GeometryError(f"restitution: expected 0 … 1, got {self.restitution:g}")


@dataclass(frozen=True, slots=True)
class RigidBody:
    """A solid of uniform density, at the beginning of a simulation."""

    shape: Shape
    size: Float64  # (3,) sphere: radius, 0, 0; box: half extents; capsule: radius, half length of its axis (y), 0
    position: Float64  # (3,) of its centre
    rotation: Float64 = field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))  # (4,) x y z w
    velocity: Float64 = field(default_factory=lambda: np.zeros(3))  # (3,) per second
    angular_velocity: Float64 = field(default_factory=lambda: np.zeros(3))  # (3,) radians per second, in the world
    density: float = 1.0  # only ratios matter
    touch: Touch = field(default_factory=Touch)
    color: tuple[float, float, float] = COLORS[0]  # linear RGB
    fixed: bool = False  # never moves
    name: str = "body"

    def __post_init__(self) -> None:
        if self.shape not in get_args(Shape):
            raise GeometryError(
                f"shape: {quote(str(self.shape))} is unknown; {nearest_of(str(self.shape), get_args(Shape))}"
            )
        for name, shape in (("size", 3), ("position", 3), ("rotation", 4), ("velocity", 3), ("angular_velocity", 3)):
            object.__setattr__(self, name, checked(name, getattr(self, name), (shape,), np.float64))
        used = {"sphere": self.size[:1], "box": self.size, "capsule": self.size[:1]}[self.shape]
        if not (used > 0).all() or (self.size < 0).any():
            raise GeometryError(f"size: expected lengths above 0, got {self.size.tolist()}")
        length = float(np.linalg.norm(self.rotation))
        if length < 1e-6:
            raise GeometryError("rotation: expected a quaternion [x, y, z, w] that is not zero")
        object.__setattr__(self, "rotation", self.rotation / length)
        if not (np.isfinite(self.density) and self.density > 0):
            raise GeometryError(f"density: expected a number above 0, got {self.density:g}")

    @property
    def mass(self) -> float:
        return self.density * volume_of(self.shape, self.size)

    @property
    def inertia(self) -> tuple[float, float, float]:
        """The moments about its axes."""
        return inertia_of(self.shape, self.size, self.mass)

    def scaled(self, scale: float) -> RigidBody:
        """The body with all lengths multiplied; the mass stays."""
        return replace(
            self,
            size=self.size * scale,
            position=self.position * scale,
            velocity=self.velocity * scale,
            density=self.density / scale**3,
        )


@dataclass(frozen=True, slots=True)
class Ground:
    """A plane across gravity."""

    height: float | None = None  # along the direction against gravity; None: the lowest point of the character
    touch: Touch = field(default_factory=Touch)
    visible: bool = True  # drawn in files


@dataclass(frozen=True, slots=True)
class Scene:
    """Bodies around a character, in units of its file."""

    bodies: tuple[RigidBody, ...]
    gravity: Float64 | None = None  # (3,) None: GRAVITY diagonals per second squared along -y
    ground: Ground | None = field(default_factory=Ground)
    character: Touch = field(default_factory=Touch)
    in_diagonals: bool = False  # lengths are in diagonals of the character

    def __post_init__(self) -> None:
        if not self.bodies:
            raise GeometryError("bodies: a scene without bodies has nothing to simulate")
        if self.gravity is not None:
            object.__setattr__(self, "gravity", checked("gravity", self.gravity, (3,), np.float64))

    def in_units_of(self, diagonal: float) -> Scene:
        """The scene in units of the file of a character with this diagonal, with its gravity."""
        scale = diagonal if self.in_diagonals else 1.0
        gravity = np.array([0.0, -GRAVITY * diagonal, 0.0]) if self.gravity is None else scale * self.gravity
        ground = self.ground
        if ground is not None and ground.height is not None:
            ground = replace(ground, height=scale * ground.height)
        bodies = tuple(body.scaled(scale) for body in self.bodies) if self.in_diagonals else self.bodies
        return replace(self, bodies=bodies, gravity=gravity, ground=ground, in_diagonals=False)

    @property
    def up(self) -> Float64:
        """(3,) the direction against gravity; y without gravity."""
        size = 0.0 if self.gravity is None else float(np.linalg.norm(self.gravity))
        return np.array([0.0, 1.0, 0.0]) if self.gravity is None or size == 0 else -self.gravity / size


def load_scene(path: PathLike) -> Scene:
    """The scene in a JSON file; unknown shapes and keys are refused by name."""
    source = Source(Path(path))
    fields = read_json(source).fields(SCENE_KEYS)
    if "bodies" not in fields:
        raise source.format_error('has no \'bodies\'; expected {"bodies": [{"shape": "sphere", …}]}')
    unit = fields["unit"].text() if "unit" in fields else "file"
    if unit not in ("file", "diagonal"):
        raise fields["unit"].error(f"expected 'file' or 'diagonal', got {quote(unit)}")
    bodies = [_read_body(item, number) for number, item in enumerate(fields["bodies"].items("body"))]
    with source.naming():
        return Scene(
            tuple(bodies),
            gravity=_vector(fields["gravity"], 3) if "gravity" in fields else None,
            ground=_read_ground(fields["ground"]) if "ground" in fields else Ground(),
            character=_read_touch(fields["character"].fields(SURFACE_KEYS)) if "character" in fields else Touch(),
            in_diagonals=unit == "diagonal",
        )


def _read_body(item: JsonValue, number: int) -> RigidBody:
    """One body; `number` counts from 0 and chooses a colour."""
    named = item.named()
    if "shape" not in named:
        raise item.error(f"has no 'shape'; expected one of {', '.join(map(quote, SIZES))}")
    shape = named["shape"].text()
    if shape not in SIZES:
        raise named["shape"].error(f"the shape {quote(shape)} is unknown; {nearest_of(shape, SIZES)}")
    fields = item.fields((*BODY_KEYS, *SIZES[shape]))
    for key in (*SIZES[shape], "position"):
        if key not in fields:
            raise item.error(f"has no '{key}', which a {shape} needs")
    if "mass" in fields and "density" in fields:
        raise item.error("has both 'mass' and 'density'; omit one")
    size = _read_size(shape, fields)
    density = fields["density"].positive() if "density" in fields else 1.0
    if "mass" in fields:
        density = fields["mass"].positive() / volume_of(shape, size)
    optional: dict[str, Float64] = {
        key: _vector(fields[key], count)
        for key, count in (("rotation", 4), ("velocity", 3), ("angular_velocity", 3))
        if key in fields
    }
    with item.source.naming():
        try:
            return RigidBody(
                shape,
                size,
                _vector(fields["position"], 3),
                **optional,
                density=density,
                touch=_read_touch(fields),
                color=_read_color(fields["color"]) if "color" in fields else COLORS[number % len(COLORS)],
                fixed=_flag(fields["fixed"]) if "fixed" in fields else False,
                name=fields["name"].text() if "name" in fields else f"{shape} {number + 1}",
            )
        except GeometryError as error:
            raise item.error(str(error)) from error


def _read_size(shape: Shape, fields: Mapping[str, JsonValue]) -> Float64:
    """Sizes as RigidBody stores them."""
    if shape == "sphere":
        return np.array([fields["radius"].positive(), 0.0, 0.0])
    if shape == "box":
        size = _vector(fields["size"], 3) / 2
        if not (size > 0).all():
            raise fields["size"].error("expected three lengths above 0")
        return size
    radius, height = fields["radius"].positive(), fields["height"].positive()
    if height < 2 * radius:
        raise fields["height"].error(f"expected at least twice the radius, {2 * radius:g}, got {height:g}")
    return np.array([radius, height / 2 - radius, 0.0])


def _vector(value: JsonValue, count: int) -> Float64:
    """A list of so many numbers."""
    if not value.is_list or len(value.value) != count:
        raise value.error(f"expected a list of {count} numbers, got {quote(str(value.value))}")
    return np.array([item.number() for item in value.items("number")])


def _read_touch(fields: Mapping[str, JsonValue]) -> Touch:
    """Friction and restitution, where they are given."""
    values = {key: fields[key].number() for key in SURFACE_KEYS if key in fields}
    try:
        return Touch(**values)
    except GeometryError as error:
        raise next(iter(fields.values())).source.format_error(str(error)) from error


def _read_ground(value: JsonValue) -> Ground | None:
    """The ground: true, false, or an object."""
    if isinstance(value.value, bool):
        return Ground() if value.value else None
    fields = value.fields(GROUND_KEYS)
    height = fields["height"].number() if "height" in fields else None
    visible = _flag(fields["visible"]) if "visible" in fields else True
    return Ground(height, _read_touch(fields), visible)


def _flag(value: JsonValue) -> bool:
    if not isinstance(value.value, bool):
        raise value.error(f"expected true or false, got {quote(str(value.value))}")
    return value.value


def _read_color(value: JsonValue) -> tuple[float, float, float]:
    """Linear RGB from three numbers 0 … 1, or from an sRGB code such as #ff8000."""
    if isinstance(value.value, str) and _HEX.fullmatch(value.value):
        code = np.array([int(value.value[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        red, green, blue = np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4).tolist()
        return red, green, blue
    found = _vector(value, 3) if value.is_list else np.array([-1.0])
    if len(found) != 3 or found.min() < 0 or found.max() > 1:
        raise value.error(f"expected [red, green, blue] in 0 … 1 or '#rrggbb', got {quote(str(value.value))}")
    red, green, blue = found.tolist()
    return red, green, blue
