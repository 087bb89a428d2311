"""The near side of reading FBX: starts the process that poses the scene, and makes a sequence of what it leaves."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.arrays import Float32, Int32
from osteon.core.asset import Asset, Material
from osteon.core.clips import Clip, distinct_names
from osteon.core.sequence import MeshSequence
from osteon.io.doors.clip_choice import select_names
from osteon.io.doors.optional_packages import load_extra
from osteon.io.doors.options import ReadRequest
from osteon.io.doors.source import Source
from osteon.io.fbx import child
from osteon.io.meshes.mesh import Fans, Polygons

__all__ = ["read_fbx"]

Arrays = dict[str, np.ndarray]


def read_fbx(path: Path, request: ReadRequest) -> MeshSequence:
    """The meshes of the scene with a clip for each animation stack; one frame if nothing moves."""
    source = Source(path)
    load_extra("ufbx", "fbx", path)
    data = source.read()
    with tempfile.TemporaryDirectory(prefix="osteon-fbx-") as folder:
        header = _run(data, Path(folder), request, source)
        if not header.get("parts"):
            raise source.geometry_error("holds no polygons; export the scene with its meshes")
        select_names(header["names"], request.options.clips, path)
        with np.load(Path(folder, "arrays.npz"), allow_pickle=False) as stored:
            arrays = dict(stored)
        frames = np.load(Path(folder, "frames.npy"), allow_pickle=False)
    return _sequence(frames, arrays, header, request, source)


def _run(data: bytes, folder: Path, request: ReadRequest, source: Source) -> dict[str, Any]:
    options = request.options
    asked = {"fps": None if options.fps == "file" else options.frame_rate, "clips": list(options.clips)}
    command = [sys.executable, "-P", str(child.__file__), str(folder), json.dumps(asked)]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
    if done.returncode == child.REFUSED:
        raise source.format_error(f"cannot be read as FBX ({said[-1]}); export it again")
    if done.returncode != 0:
        raise source.format_error("cannot be read as FBX: the library failed on it; export it again")
    header: dict[str, Any] = json.loads((folder / "header.json").read_text())
    return header


def _sequence(
    frames: Float32, arrays: Arrays, header: dict[str, Any], request: ReadRequest, source: Source
) -> MeshSequence:
    for f, frame in enumerate(frames):
        Source(source.path, f if len(frames) > 1 else None).positions(frame)
    polygons = Polygons(arrays["sizes"], arrays["corners"]).checked(source, frames.shape[1])
    fans = Fans.of(polygons.sizes)
    clips: list[Clip] = []
    for name, count, rate in header["clips"]:
        start = clips[-1].stop if clips else 0
        clips.append(Clip(name, start, start + count, rate))
    still = (Clip("still", 0, 1, request.options.frame_rate),)
    with source.naming():
        return MeshSequence(
            frames,
            polygons.corners[fans.corners].astype(np.int32),
            source.positions(arrays["rest"]),
            tuple(clips) or still,
            _asset(arrays, header, fans),
            source.path.stem,
        )


def _asset(arrays: Arrays, header: dict[str, Any], fans: Fans) -> Asset:
    materials, numbers = _materials(arrays, header)
    several = len(header["parts"]) > 1
    return Asset(
        uvs=arrays["uvs"].astype(np.float32)[fans.corners] if "uvs" in arrays else None,
        colors=arrays["colors"].clip(0, 1) if "colors" in arrays else None,
        materials=materials,
        triangle_material=None if numbers is None else numbers[fans.polygon],
        polygon_of_triangle=fans.polygon if (arrays["sizes"] > 3).any() else None,
        primitive_of_triangle=arrays["part"][fans.polygon].astype(np.int32) if several else None,
        primitive_names=distinct_names(header["parts"]) if several else (),
    )


def _materials(arrays: Arrays, header: dict[str, Any]) -> tuple[tuple[Material, ...], Int32 | None]:
    """The materials, and which one each polygon has; those without any get a default one."""
    if "material" not in arrays:
        return (), None
    numbers = arrays["material"].astype(np.int32)
    found = []
    for entry in header["materials"]:
        red, green, blue, alpha = (float(c) for c in entry["base_color"])
        found.append(Material(entry["name"], (red, green, blue, alpha), entry["metallic"], entry["roughness"]))
    if (numbers < 0).any():
        numbers = np.where(numbers < 0, len(found), numbers).astype(np.int32)
        found.append(Material("default"))
    return tuple(found), numbers
