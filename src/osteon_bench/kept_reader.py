"""Comparison of two .glb files of a character as plain JSON and bytes, without Osteon's readers."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

#: Top-level lists that may grow.
GROWING = ("animations", "accessors", "bufferViews")
#: Attributes that a fit replaces.
REPLACED = ("JOINTS_", "WEIGHTS_", "NORMAL")


@dataclass(frozen=True, slots=True)
class PlainGlb:
    """The contents of a .glb."""

    text: str
    root: dict[str, Any]
    blob: bytes

    def data_of(self, accessor: int) -> bytes:
        """The bytes of an accessor, from its offset to the end of its elements."""
        entry = self.root["accessors"][accessor]
        view = self.root["bufferViews"][entry["bufferView"]]
        start = view.get("byteOffset", 0) + entry.get("byteOffset", 0)
        width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}[entry["type"]]
        size = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}[entry["componentType"]] * width
        stride = view.get("byteStride", size)
        return self.blob[start : start + stride * (entry["count"] - 1) + size]


def read_plain(path: Path) -> PlainGlb:
    data = path.read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    text = data[20 : 20 + length].decode()
    return PlainGlb(text, json.loads(text), data[28 + length :])


def write_plain(path: Path, root: dict[str, Any], blob: bytes) -> None:
    text = json.dumps(root).encode()
    text += b" " * (-len(text) % 4)
    blob += b"\0" * (-len(blob) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(blob), 0x004E4942) + blob
    path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)


def changed_parts(before: PlainGlb, after: PlainGlb) -> list[str]:
    """The parts of a character that changed, except weights and appended entries."""
    found = []
    for key, value in before.root.items():
        other = after.root.get(key)
        if key in GROWING:
            other = (other or [])[: len(value)]
        if key == "meshes":
            value, other = (_without_weights(meshes) for meshes in (value, other or []))
        if key == "buffers":
            value, other = (_without_length(buffers) for buffers in (value, other or []))
        if value != other:
            found.append(key)
    found += [key for key in after.root if key not in before.root and key != "animations"]
    if after.blob[: len(before.blob)] != before.blob:
        found.append("bytes of the buffer")
    for number, skin in enumerate(before.root.get("skins", [])):
        pair = [glb.data_of(glb.root["skins"][number]["inverseBindMatrices"]) for glb in (before, after)]
        if "inverseBindMatrices" in skin and pair[0] != pair[1]:
            found.append(f"inverse bind matrices of skin {number}")
    return found


def _without_weights(meshes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = json.loads(json.dumps(meshes))
    for mesh in out:
        for primitive in mesh["primitives"]:
            named = primitive["attributes"]
            primitive["attributes"] = {k: v for k, v in named.items() if not k.startswith(REPLACED)}
    return out


def _without_length(buffers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in entry.items() if key != "byteLength"} for entry in buffers]


def changed_bytes(before: PlainGlb, after: PlainGlb) -> int:
    """Number of changed characters of the JSON and bytes of the buffer in a file with more clips.

    Lists that may grow must begin with their former text; every other value must have the same text.
    """
    old, new = _values(before.text), _values(after.text)
    wrong = 0
    for key, text in old.items():
        there = new.get(key, "")
        if key in GROWING:
            text = text.rstrip()[:-1].rstrip()
            there = there[: len(text)]
        if key == "buffers":
            length = f"{len(before.blob)}"
            there = there.replace(f"{after.root['buffers'][0]['byteLength']}", length, 1)
            text = text.replace(f"{before.root['buffers'][0]['byteLength']}", length, 1)
        if text != there:
            wrong += max(len(text), 1)
    wrong += sum(len(new[key]) for key in new if key not in old and key not in GROWING)
    kept = before.blob[: before.root["buffers"][0]["byteLength"]]
    return wrong + sum(a != b for a, b in zip(kept, after.blob, strict=False)) + max(0, len(kept) - len(after.blob))


def _values(text: str) -> dict[str, str]:
    """The text of every top-level value."""
    decoder = json.JSONDecoder()
    found: dict[str, str] = {}
    at = text.index("{") + 1
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "}":
            return found
        key, at = decoder.raw_decode(text, at)
        at = text.index(":", at) + 1
        while text[at] in " \t\r\n":
            at += 1
        _, stop = decoder.raw_decode(text, at)
        found[key] = text[at:stop]
        at = stop


# Scaled characters, and clips without a mesh, for `bench rig-kept`.


def write_clips_alone(glb: PlainGlb, path: Path) -> None:
    """The file as a library of clips: joints and animations only."""
    root = json.loads(json.dumps(glb.root))
    for key in ("meshes", "skins", "materials", "textures", "images", "samplers"):
        root.pop(key, None)
    for node in root["nodes"]:
        node.pop("mesh", None)
        node.pop("skin", None)
    write_plain(path, root, glb.blob)


def write_resized(glb: PlainGlb, path: Path, factor: float) -> None:
    """The character scaled by a factor: vertices, joints, inverse bind matrices; without its clips."""
    root, blob = json.loads(json.dumps(glb.root)), bytearray(glb.blob)
    root.pop("animations", None)
    for node in root["nodes"]:
        if "translation" in node:
            node["translation"] = [factor * x for x in node["translation"]]
        if "matrix" in node:
            node["matrix"][12:15] = [factor * x for x in node["matrix"][12:15]]
    positions = {p["attributes"]["POSITION"] for mesh in root["meshes"] for p in mesh["primitives"]}
    for accessor in positions:
        entry = root["accessors"][accessor]
        _scale(root, blob, accessor, 3, slice(0, 3), factor)
        for key in ("min", "max"):
            entry[key] = [factor * x for x in entry[key]]
    for accessor in {skin["inverseBindMatrices"] for skin in root["skins"]}:
        _scale(root, blob, accessor, 16, slice(12, 15), factor)
    write_plain(path, root, bytes(blob))


def _scale(root: dict[str, Any], blob: bytearray, accessor: int, width: int, part: slice, factor: float) -> None:
    """Multiply columns of an accessor of float32 in place."""
    entry = root["accessors"][accessor]
    view = root["bufferViews"][entry["bufferView"]]
    start = view.get("byteOffset", 0) + entry.get("byteOffset", 0)
    stride = view.get("byteStride", 4 * width)
    rows = np.ndarray((entry["count"], width), "<f4", blob, start, (stride, 4))
    rows[:, part] *= factor
