"""Scaled characters, and clips without a mesh, for `bench rig-kept`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from osteon_bench.kept_reader import PlainGlb, write_plain

__all__ = ["write_clips_alone", "write_resized"]


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
