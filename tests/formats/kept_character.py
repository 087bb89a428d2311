"""A character as other programs write it, for tests of `--rig`: two meshes, two skins, a camera, extras, a second set
of texture coordinates, numbers spelled in their own way, and clips."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from .conftest import Glb

__all__ = ["JOINTS", "read_glb", "strange_character", "write_glb", "write_text"]

#: Root, and three joints in a row; the second skin lists the last two only.
JOINTS = ("hips", "spine", "head", "hand")
LENGTH = 1.0


def tube(x: float, length: float, n_rings: int, n_sides: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """A tube along y from (x, 0): vertices and triangles."""
    turns = np.linspace(0, 2 * np.pi, n_sides, endpoint=False)
    ring = 0.2 * np.stack([np.cos(turns), np.zeros(n_sides), np.sin(turns)], axis=1)
    rings = [ring + np.array([x, y, 0]) for y in np.linspace(0, length, n_rings)]
    faces = []
    for r in range(n_rings - 1):
        for s in range(n_sides):
            a, b = r * n_sides + s, r * n_sides + (s + 1) % n_sides
            faces += [[a, b + n_sides, b], [a, a + n_sides, b + n_sides]]
    return np.concatenate(rings), np.array(faces)


def strange_character(size: float = 1.0, *, scaled_root: float = 1.0, turned: bool = False, clips: bool = True) -> Glb:
    """The character, so many times as large.

    `scaled_root`: the armature node carries a scale, and its joints are that much smaller. `turned`: the armature
    is turned from z up, and the root turns back; it then has no clips.
    """
    made, unit = Glb(), size / scaled_root
    root = made.json
    root["asset"] |= {"generator": "another program", "extras": {"made": "by hand"}}
    places = unit * LENGTH * np.array([[0, 1, 0], [0, 2, 0], [0, 3, 0], [0, 4, 0]], float)
    steps = np.diff(np.concatenate([np.zeros((1, 3)), places]), axis=0)
    root["nodes"] = [
        {"name": "armature", "children": [1], "scale": [scaled_root] * 3, "extras": {"kept": True}},
        {"name": JOINTS[0], "translation": steps[0].tolist(), "children": [2]},
        {"name": JOINTS[1], "translation": steps[1].tolist(), "children": [3]},
        {"name": JOINTS[2], "translation": steps[2].tolist(), "children": [4, 7]},
        {"name": JOINTS[3], "translation": steps[3].tolist()},
        {"name": "body", "mesh": 0, "skin": 0},
        {"name": "glove", "mesh": 1, "skin": 1},
        {"name": "eye", "camera": 0, "translation": [0, 0, unit]},
    ]
    if turned:
        root["nodes"][0]["rotation"] = [-np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
        x, y, z = steps[0].tolist()
        root["nodes"][1] |= {"translation": [x, -z, y], "rotation": [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]}
    root |= {"scene": 0, "scenes": [{"nodes": [0, 5, 6], "name": "stage"}]}
    root["cameras"] = [{"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1}}]
    root["materials"] = [{"name": "cloth", "extensions": {"KHR_materials_unlit": {}}, "extras": [1, 2]}]
    root["extensionsUsed"] = ["KHR_materials_unlit"]
    bind = np.tile(np.eye(4), (4, 1, 1))
    bind[:, :3, :3] = np.eye(3) / scaled_root
    bind[:, :3, 3] = -places
    root["meshes"], root["skins"] = [], []
    for number, (joints, start, stop) in enumerate((([0, 1, 2, 3], 0.0, 5.0), ([2, 3], 3.0, 5.0))):
        vertices, faces = tube(0.6 * number, 1.0, 9)
        vertices = size * LENGTH * (vertices * [1, stop - start, 1] + [0, start, 0])
        _add_mesh(made, number, vertices, faces, scaled_root * places[joints], start)
        matrices = bind[joints].transpose(0, 2, 1).reshape(-1, 16)
        root["skins"].append(
            {"joints": [1 + j for j in joints], "inverseBindMatrices": made.accessor(matrices, kind="MAT4")}
        )
    if clips and not turned:
        _add_clips(made, steps)
    return made


def _add_mesh(
    made: Glb, number: int, vertices: np.ndarray, faces: np.ndarray, places: np.ndarray, start: float
) -> None:
    near = np.abs(vertices[:, None, 1] - places[None, :, 1])
    order = np.argsort(near, axis=1, kind="stable")[:, :2]
    weights = 1 / (0.1 * np.ptp(vertices[:, 1]) + np.take_along_axis(near, order, axis=1))
    weights = np.pad(weights / weights.sum(axis=1, keepdims=True), ((0, 0), (0, 2)))
    uvs = np.stack([np.arange(len(vertices)) % 8 / 8, np.arange(len(vertices)) // 8 / 16 + start / 8], axis=1)
    bounds = {"min": vertices.min(axis=0).tolist(), "max": vertices.max(axis=0).tolist()}
    attributes = {
        "POSITION": made.accessor(vertices, **bounds),
        "TEXCOORD_0": made.accessor(uvs),
        "TEXCOORD_1": made.accessor(1 - uvs),
        "JOINTS_0": made.accessor(np.pad(order, ((0, 0), (0, 2))), "u1"),
        "WEIGHTS_0": made.accessor(weights),
    }
    primitive = {"attributes": attributes, "indices": made.accessor(faces.reshape(-1), "u2"), "material": 0}
    made.json["meshes"].append({"name": f"mesh {number}", "primitives": [primitive], "extras": {"number": number}})


def _add_clips(made: Glb, steps: np.ndarray) -> None:
    """A bend of all joints, and a walk of the root that keys every translation."""
    times = made.accessor([0.0, 0.5, 1.0], min=[0.0], max=[1.0])
    animations = []
    for clip, angle in (("bend", 0.7), ("walk", 0.3)):
        channels, samplers = [], []
        for joint in range(4):
            half = angle / 2 * np.array([0.0, 1.0, -0.5])
            turns = np.stack([np.zeros(3), np.zeros(3), np.sin(half), np.cos(half)], axis=1)
            channels.append({"sampler": len(samplers), "target": {"node": 1 + joint, "path": "rotation"}})
            samplers.append({"input": times, "output": made.accessor(turns)})
            if clip == "walk":
                shift = np.tile(steps[joint], (3, 1)) + (
                    np.linalg.norm(steps[0]) * np.array([[0, 0, 0], [0, 0, 0.3], [0, 0, 0.6]]) if joint == 0 else 0
                )
                channels.append({"sampler": len(samplers), "target": {"node": 1 + joint, "path": "translation"}})
                samplers.append({"input": times, "output": made.accessor(shift)})
        animations.append({"name": clip, "channels": channels, "samplers": samplers})
    made.json["animations"] = animations


def read_glb(path: Path) -> tuple[dict[str, Any], bytes]:
    data = path.read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    return json.loads(data[20 : 20 + length]), data[28 + length :]


def write_text(path: Path, text: str, blob: bytes) -> Path:
    """A .glb with this JSON, letter for letter."""
    encoded = text.encode()
    encoded += b" " * (-len(encoded) % 4)
    body = struct.pack("<II", len(encoded), 0x4E4F534A) + encoded
    body += struct.pack("<II", len(blob), 0x004E4942) + blob
    path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body)
    return path


def write_glb(path: Path, root: dict[str, Any], blob: bytes) -> Path:
    return write_text(path, json.dumps(root), blob)
