"""Helpers for tests of file formats: tiny glTF files made by hand."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}


class Glb:
    """A glTF file that grows accessor by accessor."""

    def __init__(self) -> None:
        self.blob = bytearray()
        self.json: dict = {"asset": {"version": "2.0"}, "bufferViews": [], "accessors": []}

    def view(self, data: bytes, **extra: object) -> int:
        self.blob += b"\0" * (-len(self.blob) % 4)
        entry = {"buffer": 0, "byteOffset": len(self.blob), "byteLength": len(data), **extra}
        self.json["bufferViews"].append(entry)
        self.blob += data
        return len(self.json["bufferViews"]) - 1

    def accessor(self, values: object, code: str = "f4", kind: str = "", **extra: object) -> int:
        array = np.asarray(values)
        kind = kind or {1: "SCALAR"}.get(array.ndim, f"VEC{array.shape[-1]}")
        view = self.view(array.astype("<" + code).tobytes())
        entry = {"bufferView": view, "componentType": COMPONENTS[code], "count": len(array), "type": kind, **extra}
        self.json["accessors"].append(entry)
        return len(self.json["accessors"]) - 1

    def bytes(self) -> bytes:
        root = dict(self.json)
        root.setdefault("buffers", [{"byteLength": len(self.blob)}])
        text = json.dumps(root).encode()
        text += b" " * (-len(text) % 4)
        blob = bytes(self.blob) + b"\0" * (-len(self.blob) % 4)
        body = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(blob), 0x004E4942) + blob
        return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body

    def save(self, path: Path) -> Path:
        path.write_bytes(self.bytes())
        return path


@pytest.fixture(name="glb")
def _glb() -> Glb:
    return Glb()


@pytest.fixture(name="triangle_glb")
def _triangle_glb() -> Glb:
    """One triangle in the xy plane on node 0, without animation."""
    made = Glb()
    made.json["meshes"] = [{"primitives": [{"attributes": {"POSITION": made.accessor(TRIANGLE)}}]}]
    made.json["nodes"] = [{"mesh": 0}]
    made.json["scenes"] = [{"nodes": [0]}]
    return made


TRIANGLE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


@pytest.fixture
def quick_children():
    """Children that parse are forks: the same two sides without the start of an interpreter."""
    if not hasattr(os, "fork"):
        yield
        return
    from osteon_bench.fuzzing.forked import forked_children

    with forked_children():
        yield
