"""Flat plates whose shading reveals how a player transforms normals, and whether it supports morph targets of normals.

Every case is one flat plate in the plane z = 0, seen from +z. Its normal is stored at 45 degrees between +z and +x, its
joints leave the plate in that plane, and only the angle of the shaded normal, counted from +z towards +x, is measured:

| normals by | one bone that scales z by 3 | bones of z by 4 and by 1 | rigid bones, 60 and -60 degrees about x |
| --- | --- | --- | --- |
| linear part L of the blend | 18.4 | 21.8 | 63.4 |
| inverse transpose of L | 71.6 | 68.2 | 26.6 |
| blend of the bones' inverse transposes | 71.6 | 58.0 | 63.4 |
| rotation of the surface, here none (the stored normal keeps its angle to the surface) | 45 | 45 | 45 |

A static fan of plates with normals of known angles maps the shades of a player to angles.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.linalg import polar
from scipy.spatial.transform import Rotation

from osteon.core.arrays import Float64
from osteon.io.engines import NormalForm
from osteon.io.gltf.write.buffer import BufferWriter, glb_bytes

#: How a morph target of normals stores zero positions, and one of positions zero normals: an accessor without a buffer
#: view, which is zero in glTF; a sparse one of a single entry; numbers; or no attribute.
Zeros = Literal["empty accessor", "sparse accessor", "stored zeros", "nothing"]
ZEROS: tuple[Zeros, ...] = ("empty accessor", "sparse accessor", "stored zeros", "nothing")

REST = 45.0
#: Angles of the fan's plates, and plates per row of their grid.
FAN = np.linspace(0.0, 90.0, 37)
FAN_ROW = 8
#: Half of a plate's side; plates of the fan are one unit apart.
HALF = 0.4
#: Times of the keys in seconds: at rest, moved, and still moved.
KEYS = (0.0, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class Bone:
    """A joint at the centre of the plate, with its pose from the second key on."""

    scale_z: float = 1.0
    turn_x: float = 0.0  # degrees
    turn_y: float = 0.0

    @property
    def rotation(self) -> Rotation:
        return Rotation.from_euler("xy", [self.turn_x, self.turn_y], degrees=True)

    @property
    def linear(self) -> Float64:
        """(3,3)."""
        turned: Float64 = self.rotation.as_matrix() * [1.0, 1.0, self.scale_z]
        return turned


@dataclass(frozen=True, slots=True)
class Target:
    """A morph target that rotates the normal to an angle, or moves the plate."""

    angle: float | None = None
    shift_x: float | None = None
    other: Zeros = "stored zeros"  # how the attribute is stored that it does not change


@dataclass(frozen=True, slots=True)
class PlateCase:
    """One plate."""

    name: str
    bones: tuple[Bone, ...] = (Bone(),)  # all of the same weight
    targets: tuple[Target, ...] = ()
    shown: tuple[int, ...] = ()  # targets whose weight goes to 1

    def angle(self, form: NormalForm) -> float:
        """Angle of the normal in degrees from the second key on, if it is transformed in this form."""
        normal = direction(REST)
        for number in self.shown:
            angle = self.targets[number].angle
            normal = normal if angle is None else normal + direction(angle) - direction(REST)
        parts = np.array([bone.linear for bone in self.bones])
        blend = parts.mean(axis=0)
        matrix = {
            "the linear part": blend,
            "its inverse transpose": np.linalg.inv(blend).T,
            "the bones' inverse transposes": np.linalg.inv(parts).transpose(0, 2, 1).mean(axis=0),
            "the surface": polar(blend)[0],
        }[form]
        x, _, z = matrix @ normal
        return float(np.degrees(np.arctan2(x, z)))

    @property
    def zeros(self) -> Zeros:
        """How its targets store what they do not change."""
        return self.targets[0].other if self.targets else "nothing"

    @property
    def middle(self) -> float:
        """Where on x the plate's middle is."""
        return sum(self.targets[number].shift_x or 0.0 for number in self.shown)


def direction(angle: float) -> Float64:
    """(3,) the normal of an angle."""
    return np.array([np.sin(np.radians(angle)), 0.0, np.cos(np.radians(angle))])


_BLENDED = (Bone(turn_x=60.0), Bone(turn_x=-60.0))
CASES = (
    PlateCase("one bone that turns", (Bone(turn_y=15.0),)),
    PlateCase("one bone that scales", (Bone(scale_z=3.0),)),
    PlateCase("two bones that scale", (Bone(scale_z=4.0), Bone())),
    PlateCase("two rigid bones", _BLENDED),
    *(
        PlateCase(f"normals only, {kind} for positions", targets=(Target(10.0, other=kind),), shown=(0,))
        for kind in ZEROS
    ),
    PlateCase("normals only, under a bone that scales", (Bone(scale_z=3.0),), (Target(60.0),), (0,)),
    *(
        PlateCase(
            f"positions only and normals only, {kind} for the other",
            targets=(Target(shift_x=0.2, other=kind), Target(10.0, other=kind)),
            shown=(0, 1),
        )
        for kind in ZEROS
    ),
    *(
        PlateCase(f"{n} targets of normals only", targets=(*[Target(80.0)] * (n - 1), Target(10.0)), shown=(n - 1,))
        for n in (5, 6, 7, 24)
    ),
)


def write_plate(case: PlateCase, path: Path) -> Path:
    """The file of a case: one mesh, one skin, one clip."""
    buffer = BufferWriter()
    joints, numbers = [{"name": f"joint {b}"} for b in range(len(case.bones))], list(range(len(case.bones)))
    primitive = _primitive(buffer, np.zeros(3), REST)
    primitive["attributes"] |= _influences(buffer, len(case.bones))
    if case.targets:
        primitive["targets"] = [_target(buffer, target) for target in case.targets]
    mesh: dict[str, Any] = {"primitives": [primitive]}
    if case.targets:
        mesh["weights"] = [0.0] * len(case.targets)
    inverse_binds = buffer.add(np.tile(np.eye(4).ravel(), (len(joints), 1)), "bind")
    root = {
        "nodes": [*joints, {"name": "plate", "mesh": 0, "skin": 0}, {"name": "root", "children": numbers}],
        "meshes": [mesh],
        "skins": [{"joints": numbers, "inverseBindMatrices": inverse_binds}],
        "scenes": [{"nodes": [len(joints), len(joints) + 1]}],
        "animations": [_clip(buffer, case)],
    }
    return _save(root, buffer, path)


def write_fan(path: Path) -> Path:
    """The file of the plates of known angles, in rows from the top left."""
    buffer = BufferWriter()
    primitives = [_primitive(buffer, place, angle) for place, angle in zip(fan_places(), FAN, strict=True)]
    root = {
        "nodes": [{"name": "fan", "mesh": 0}],
        "meshes": [{"primitives": primitives}],
        "scenes": [{"nodes": [0]}],
    }
    return _save(root, buffer, path)


def fan_places() -> Float64:
    """(n,3) middles of the fan's plates."""
    rows, columns = np.divmod(np.arange(len(FAN)), FAN_ROW)
    half = (FAN_ROW - 1) / 2
    return np.stack([columns - half, half - rows, np.zeros(len(FAN))], axis=1)


def _save(root: dict[str, Any], buffer: BufferWriter, path: Path) -> Path:
    white = {"baseColorFactor": [1, 1, 1, 1], "metallicFactor": 0, "roughnessFactor": 1}
    views, data = buffer.finish()
    whole = root | {"asset": {"version": "2.0"}, "scene": 0, "materials": [{"pbrMetallicRoughness": white}]}
    path.write_bytes(glb_bytes(whole | {"accessors": buffer.accessors} | views, data))
    return path


def _primitive(buffer: BufferWriter, middle: Float64, angle: float) -> dict[str, Any]:
    corners = HALF * np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]) + middle
    attributes = {
        "POSITION": buffer.add(corners, "vertices", bounds=True),
        "NORMAL": buffer.add(np.tile(direction(angle), (4, 1)), "vertices"),
    }
    indices = buffer.add(np.array([0, 1, 2, 0, 2, 3], np.uint16), "indices")
    return {"attributes": attributes, "indices": indices, "material": 0}


def _influences(buffer: BufferWriter, count: int) -> dict[str, int]:
    """All bones, equally."""
    joints, weights = np.zeros((4, 4), np.uint8), np.zeros((4, 4), np.float32)
    joints[:, :count], weights[:, :count] = np.arange(count), 1 / count
    return {"JOINTS_0": buffer.add(joints, "vertices"), "WEIGHTS_0": buffer.add(weights, "vertices")}


def _target(buffer: BufferWriter, target: Target) -> dict[str, int]:
    found = {}
    if target.shift_x is not None:
        found["POSITION"] = buffer.add(np.tile([target.shift_x, 0.0, 0.0], (4, 1)), "vertices", bounds=True)
    if target.angle is not None:
        found["NORMAL"] = buffer.add(np.tile(direction(target.angle) - direction(REST), (4, 1)), "vertices")
    for name in ("POSITION", "NORMAL"):
        if name not in found and target.other != "nothing":
            found[name] = _zeros(buffer, target.other)
    return found


def _zeros(buffer: BufferWriter, kind: Zeros) -> int:
    """The number of an accessor of four zero vectors."""
    if kind == "stored zeros":
        return buffer.add(np.zeros((4, 3)), "vertices", bounds=True)
    entry: dict[str, Any] = {"componentType": 5126, "count": 4, "type": "VEC3", "min": [0, 0, 0], "max": [0, 0, 0]}
    if kind == "sparse accessor":
        first, values = (
            buffer.accessors[buffer.add(np.zeros((1, n), t))] for n, t in ((1, np.uint16), (3, np.float32))
        )
        del buffer.accessors[-2:]
        entry["sparse"] = {
            "count": 1,
            "indices": {k: first[k] for k in ("bufferView", "byteOffset", "componentType") if k in first},
            "values": {k: values[k] for k in ("bufferView", "byteOffset") if k in values},
        }
    buffer.accessors.append(entry)
    return len(buffer.accessors) - 1


def _clip(buffer: BufferWriter, case: PlateCase) -> dict[str, Any]:
    """Every joint has tracks of rotation and scale, and the mesh one of weights."""
    times = buffer.add(np.array(KEYS, np.float32), "keys", bounds=True)
    tracks: list[tuple[int, str, Any]] = []
    for number, bone in enumerate(case.bones):
        rotation = bone.rotation.as_quat()
        tracks.append((number, "rotation", [[0, 0, 0, 1], rotation, rotation]))
        tracks.append((number, "scale", [[1, 1, 1], *[[1, 1, bone.scale_z]] * 2]))
    if case.targets:
        weights = [float(number in case.shown) for number in range(len(case.targets))]
        values = np.array([np.zeros(len(weights)), weights, weights])
        tracks.append((len(case.bones), "weights", values.reshape(-1, 1)))
    return {
        "name": "clip",
        "samplers": [{"input": times, "output": buffer.add(np.array(v, np.float32), "keys")} for _, _, v in tracks],
        "channels": [
            {"sampler": i, "target": {"node": node, "path": path}} for i, (node, path, _) in enumerate(tracks)
        ],
    }
