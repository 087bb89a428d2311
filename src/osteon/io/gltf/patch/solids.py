"""Rigid solids in an existing glTF document: a mesh and a node each, and channels of the document's animations.

A channel has only the keys that linear interpolation needs: key by key, the one that is farthest from the line between
its neighbours is kept (Douglas and Peucker, 1973), until all others are within a tolerance. A solid that does not move
has no channels.

Names of nodes are made different, because PlayCanvas finds the node of a channel by its name.

Metadata of a document that Osteon wrote describe a file of one mesh. They are removed: the result reads like a glTF of
any other program, whose nodes with meshes are bones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.core.animation import distinct_names
from osteon.core.arrays import Float32, Float64, Int32, Int64
from osteon.core.transforms import keep_hemisphere
from osteon.io.gltf import JsonObject
from osteon.io.gltf.channels import Channel, ChannelPath
from osteon.io.gltf.patch.document import PatchedDocument
from osteon.io.gltf.patch.motion import add_channel
from osteon.io.gltf.read.document import Document

#: Positions may be off by this part of the size of a solid, rotations by so many radians.
NEAR = 2e-3


@dataclass(frozen=True, slots=True)
class Solid:
    """A mesh that moves rigidly, and where it is without animation."""

    name: str
    vertices: Float32  # (n,3) about its centre
    normals: Float32  # (n,3)
    colors: Float32  # (n,3) linear RGB
    faces: Int32  # (m,3)
    position: Float64  # (3,)
    rotation: Float64  # (4,) x y z w
    double_sided: bool = False

    @property
    def size(self) -> float:
        return float(np.linalg.norm(self.vertices, axis=1).max())


@dataclass(frozen=True, slots=True)
class SolidKeys:
    """The motion of all solids in one animation."""

    animation: int  # its index in the document
    seconds: Float64  # (k,)
    positions: Float64  # (k,n,3)
    rotations: Float64  # (k,n,4) x y z w


def add_solids(path: Path, document: Document, solids: Sequence[Solid], motions: Sequence[SolidKeys]) -> None:
    """Write a document with solids; `motions` move the first ones, others stay where they are."""
    file = PatchedDocument(document)
    file.root["asset"].get("extras", {}).pop("osteon", None)
    there = [str(node.get("name", "")) for node in file.items("nodes")]
    names = distinct_names([*dict.fromkeys(there), *(solid.name for solid in solids)])[len(dict.fromkeys(there)) :]
    nodes = [_add_solid(file, solid, name) for solid, name in zip(solids, names, strict=True)]
    for motion in motions:
        animation = file.items("animations")[motion.animation]
        for s in range(motion.positions.shape[1]):
            for channel in _channels(nodes[s], solids[s], motion, s):
                add_channel(file, animation, channel)
    path.write_bytes(file.to_bytes(path.suffix.lower()))


def _add_solid(file: PatchedDocument, solid: Solid, name: str) -> int:
    """The index of a new node of the scene."""
    material: JsonObject = {"name": name, "pbrMetallicRoughness": {"metallicFactor": 0.0, "roughnessFactor": 0.6}}
    if solid.double_sided:
        material["doubleSided"] = True
    colors = np.concatenate([solid.colors, np.ones((len(solid.colors), 1))], axis=1)
    primitive = {
        "attributes": {
            "POSITION": file.add(solid.vertices, "vertices", bounds=True),
            "NORMAL": file.add(solid.normals, "vertices"),
            "COLOR_0": file.add(np.round(65535 * colors).astype(np.uint16), "vertices", normalized=True),
        },
        "indices": file.add(solid.faces.astype(np.uint32).reshape(-1), "indices"),
        "material": file.append("materials", material),
    }
    mesh = file.append("meshes", {"name": name, "primitives": [primitive]})
    entry: JsonObject = {"name": name, "mesh": mesh, "translation": solid.position.astype(np.float32).tolist()}
    if not np.array_equal(solid.rotation, [0, 0, 0, 1]):
        entry["rotation"] = _unit(solid.rotation).tolist()
    node = file.append("nodes", entry)
    scene = file.document.whole(file.root, "scene", "the file", 0)
    file.items("scenes")[scene].setdefault("nodes", []).append(node)
    return node


def _unit(rotations: Float64) -> Float32:
    """Quaternions (…,4) whose float32 values have length one as nearly as possible."""
    stored: Float32 = (rotations / np.linalg.norm(rotations, axis=-1, keepdims=True)).astype(np.float32)
    return stored


def _channels(node: int, solid: Solid, motion: SolidKeys, s: int) -> list[Channel]:
    """Channels of one solid in one animation, with only the needed keys."""
    positions, rotations = motion.positions[:, s], motion.rotations[:, s].copy()
    keep_hemisphere(rotations[:, None], [0], upright=False)
    moves: list[tuple[ChannelPath, Float64, Float64, float]] = [
        ("translation", positions, solid.position, NEAR * solid.size),
        ("rotation", rotations, rotations[0], NEAR),
    ]
    found = []
    for path, values, still, tolerance in moves:
        if np.abs(values - still).max() <= 1e-3 * tolerance:
            continue
        keys = needed_keys(motion.seconds, values, tolerance)
        stored = _unit(values[keys]) if path == "rotation" else values[keys].astype(np.float32)
        found.append(Channel(node, path, "LINEAR", motion.seconds[keys], stored.astype(np.float64)))
    return found


def needed_keys(seconds: Float64, values: Float64, tolerance: float) -> Int64:
    """The keys, first and last among them, between which linear interpolation is within a tolerance of values (k,n)."""
    last = len(seconds) - 1
    kept, waiting = {0, last}, [(0, last)]
    while waiting:
        a, b = waiting.pop()
        if b - a < 2:
            continue
        share = ((seconds[a + 1 : b] - seconds[a]) / (seconds[b] - seconds[a]))[:, None]
        off = np.linalg.norm(values[a] + share * (values[b] - values[a]) - values[a + 1 : b], axis=1)
        worst = int(off.argmax())
        if off[worst] > tolerance:
            kept.add(a + 1 + worst)
            waiting += [(a, a + 1 + worst), (a + 1 + worst, b)]
    return np.array(sorted(kept), np.int64)
