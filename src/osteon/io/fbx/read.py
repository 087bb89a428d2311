"""The client of the FBX reader: child processes pose the scene, and their answers become a sequence.

A child opens the file, sends all data except the frames, and poses the first ones. If the rest would take much longer
than opening the file again, more children pose a part each, one per core.
"""

from __future__ import annotations

import math
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.animation import Clip, distinct_names
from osteon.core.arrays import Int32
from osteon.core.mesh import Asset, Material, Mesh, Origin
from osteon.core.sequence import MeshSequence
from osteon.io.formats.format_types import Outline, find_extra
from osteon.io.formats.options import ReadRequest
from osteon.io.load.clips import select_names
from osteon.io.load.source import Source, check_frames
from osteon.io.meshes.mesh import Fans, Polygons, share_normals
from osteon.io.native.client import Answer, FrameRoom, NativeChild, NativeTask

#: Normals count if this part of them points out of the rest pose; others belong to a pose that is not read.
ON_SURFACE = 0.9

Arrays = dict[str, np.ndarray]

FBX_TASK = NativeTask("FBX", "osteon.io.fbx.child")
#: Seconds of posing from which another child is worthwhile, besides the time to start it and to open the file in it.
WORTH, START = 2.0, 0.5
#: Frames that are posed to see how long the rest will take.
TRIED = 4


def outline_fbx(path: Path, request: ReadRequest) -> Outline:
    """The meshes of the scene in their rest pose, and the clips; nothing is posed."""
    source = _checked(path)
    child = NativeChild(FBX_TASK, source, path.stat().st_size)
    try:
        return _outline(child.query(_request_of("outline", request, source)), request, source)
    finally:
        child.end()


def read_fbx(path: Path, request: ReadRequest) -> MeshSequence:
    """The meshes of the scene with a clip for each animation stack; one frame if nothing moves."""
    source = _checked(path)
    child = NativeChild(FBX_TASK, source, path.stat().st_size)
    try:
        about = child.query(_request_of("outline", request, source))
        outline = _outline(about, request, source)
        check_frames(source, path.stat().st_size, outline.clips[-1].stop, request.options.fps)
        room = FrameRoom(source, request.progress)
        _pose(child, room, about.value.get("seconds", 0.0), outline.clips[-1].stop, request)
    finally:
        child.end()
    assert room.frames is not None
    for f, frame in enumerate(room.frames):
        Source(path, f if len(room.frames) > 1 else None).positions(frame)
    mesh = outline.mesh
    with source.naming():
        return MeshSequence(room.frames, mesh.faces, mesh.rest, outline.clips, mesh.asset, mesh.name)


def _checked(path: Path) -> Source:
    source = Source(path)
    with source.open():
        find_extra("ufbx", "fbx", path)
    return source


def _request_of(question: str, request: ReadRequest, source: Source) -> dict[str, Any]:
    options = request.options
    rate = None if options.fps == "file" else options.frame_rate
    return {"question": question, "path": str(source.path), "fps": rate, "clips": list(options.clips)}


def _pose(child: NativeChild, room: FrameRoom, opening: float, total: int, request: ReadRequest) -> None:
    """Receive all frames, posed by the number of children that takes the least time."""

    def frames(first: int, stop: int) -> dict[str, Any]:
        return _request_of("frames", request, room.source) | {"first": first, "stop": stop}

    tried = min(TRIED, total)
    started = time.monotonic()
    child.query(frames(0, tried), room)
    left = (time.monotonic() - started) / tried * (total - tried)
    if tried == total:
        return
    more = n_helpers(left, opening + START, os.cpu_count() or 1)
    if not more:
        child.query(frames(tried, total), room)
        return
    bounds = [tried + (total - tried) * i // (more + 1) for i in range(more + 2)]
    helpers: list[NativeChild] = []
    try:
        helpers += [NativeChild(FBX_TASK, room.source, room.source.path.stat().st_size) for _ in range(more)]
        parts = [(one, frames(*bounds[i : i + 2])) for i, one in enumerate([child, *helpers])]
        _query_together(parts, room)
    finally:
        for one in helpers:
            one.end()


def n_helpers(left: float, opening: float, n_cores: int) -> int:
    """The number of further children for `left` seconds of posing, if starting one takes `opening` seconds."""
    if left < WORTH + 2 * opening:
        return 0
    return max(0, min(n_cores, math.floor(left / (WORTH / 2 + opening))) - 1)


def _query_together(parts: list[tuple[NativeChild, dict[str, Any]]], room: FrameRoom) -> None:
    """Send each child its own request, all at once; the first error is raised, and the caller ends all children."""
    failed: list[Exception] = []

    def receive(one: NativeChild) -> None:
        try:
            one.receive(room)
        except Exception as error:
            failed.append(error)

    for one, request in parts:
        one.send(request)
    threads = [threading.Thread(target=receive, args=(one,), daemon=True) for one, _ in parts[1:]]
    for thread in threads:
        thread.start()
    parts[0][0].receive(room)
    while not failed and any(thread.is_alive() for thread in threads):
        time.sleep(0.01)
    if failed:
        raise failed[0]


def _outline(about: Answer, request: ReadRequest, source: Source) -> Outline:
    header, arrays = about.value, about.arrays
    if not header.get("parts"):
        raise source.geometry_error(
            "holds no polygons; export the scene with its meshes, or play its clips on a character: "
            "osteon skin --rig CHARACTER"
        )
    select_names(header["names"], request.options.clips, source.path)
    polygons = Polygons(arrays["sizes"], arrays["corners"]).checked(source, len(arrays["rest"]))
    fans = Fans.of(polygons.sizes)
    clips: list[Clip] = []
    for name, count, rate in header["clips"]:
        start = clips[-1].stop if clips else 0
        clips.append(Clip(name, start, start + count, rate))
    still = (Clip("still", 0, 1, request.options.frame_rate),)
    with source.naming():
        faces = polygons.corners[fans.corners].astype(np.int32)
        mesh = Mesh(source.positions(arrays["rest"]), faces, _asset(arrays, header, fans), source.path.stem)
        mesh = _with_normals(mesh, arrays, fans)
        return Outline(mesh, tuple(clips) or still)


def _with_normals(mesh: Mesh, arrays: Arrays, fans: Fans) -> Mesh:
    """The mesh with the normals of the file, where these are on the surface of the rest pose."""
    if "normals" not in arrays:
        return mesh
    by_corner = arrays["normals"][fans.corners]
    corners = mesh.rest.astype(np.float64)[mesh.faces]
    facing = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    outside = np.einsum("tki,ti->tk", by_corner, facing) >= 0
    if outside.mean() < ON_SURFACE:
        return mesh
    normals = share_normals(mesh.faces, by_corner, mesh.n_vertices)
    return replace(mesh, asset=replace(mesh.asset, normals=normals))


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
        origin=Origin(lost=tuple(header["lost"])),
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
