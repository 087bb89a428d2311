"""Access to ufbx: references that its Python binding does not count, its lists as arrays, and geometry caches.

In ufbx 0.0.5 for Python an element is created with one reference, which both the scene and every reader own: an item
of a list, and likewise an attribute such as `node.mesh`. When a posed scene is freed, each of these owners returns
its reference, and a mesh that two owners share is freed twice. So every element that is read is counted once more; what
that leaks is freed with the process.

Geometry caches are files beside the FBX with a position for every vertex and frame (Maya .xml with .mcx or .mc, 3ds Max
.pc2). ufbx reads them when it poses a scene, and ignores without an error what is checked here first: a file that is
missing, one outside the folder of the FBX (which is not opened), one that cannot be read, and one of another number of
vertices. The library tries the absolute path of a cache that it does not find beside the FBX, so either all of them are
read or none.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from osteon.io.load.source import inside, quote


def held(element: Any) -> Any:
    """The element, with its missing reference counted; None stays None."""
    if element is not None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(element))
    return element


def items(elements: Any) -> list[Any]:
    """All of a list of elements."""
    return [held(elements[i]) for i in range(len(elements))]


def floats(values: Any) -> np.ndarray:
    """A list of numbers or vectors."""
    with memoryview(held(values)) as view:
        return np.array(view)


def wholes(values: Any) -> np.ndarray:
    """A list of whole numbers."""
    return np.fromiter((values[i] for i in range(len(values))), np.int64, len(values))


def affine(matrix: Any) -> np.ndarray:
    """(3,4)"""
    return np.array([matrix.c0, matrix.c1, matrix.c2, matrix.c3], np.float64).T


def moved(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points after a transform (3,4)."""
    return np.asarray(points @ matrix[:, :3].T + matrix[:, 3])


def shown(scene: Any) -> list[tuple[Any, Any]]:
    """Nodes and their meshes, those with polygons."""
    pairs = [(node, held(node.mesh)) for node in items(scene.nodes)]
    return [(node, mesh) for node, mesh in pairs if mesh is not None and mesh.num_faces]


@dataclass(frozen=True, slots=True)
class SceneCaches:
    """The geometry caches that a scene names."""

    problems: tuple[str, ...] = ()  # why they cannot be read, one sentence per cache
    begin: float = 0.0  # seconds of the first sample of all caches
    end: float = 0.0  # seconds of the last
    usable: bool = False  # there are caches, and all of them can be read


def find_caches(library: Any, scene: Any, path: Path) -> SceneCaches:
    """The caches that move meshes of a scene, which was loaded without them."""
    deformed = [(mesh, deformer) for _, mesh in shown(scene) for deformer in items(mesh.cache_deformers)]
    rate = scene.settings.frames_per_second or 24.0
    problems: dict[str, None] = {}
    opened: dict[str, Any] = {}  # caches, or why they cannot be read
    times: list[float] = []
    for mesh, deformer in deformed:
        file = held(deformer.file)
        name = file.filename if file is not None else ""
        if name not in opened:
            opened[name] = _missing(name, path) or _opened(library, name, rate)
        cache = opened[name]
        problem = cache if isinstance(cache, str) else _misfit(cache, deformer.channel, mesh, name)
        if problem is not None:
            problems[problem] = None
        else:
            times += [moment for channel in _all(cache.channels) for moment in _span(channel)]
    if problems or not deformed:
        return SceneCaches(tuple(problems))
    return SceneCaches((), min(times, default=0.0), max(times, default=0.0), usable=True)


def _missing(name: str, path: Path) -> str | None:
    """The reason that a cache cannot be opened."""
    shown_name = quote(Path(name).name)
    if not name:
        return "names a geometry cache without a file"
    if not inside(path.parent, Path(name)):
        return f"names the geometry cache {shown_name} outside its folder"
    if not Path(name).is_file():
        expected = Path(name).resolve().relative_to(path.parent.resolve()).as_posix()
        return f"names the geometry cache {quote(expected)}, which is not beside it"
    return None


def _opened(library: Any, name: str, rate: float) -> Any:
    """The cache, or why it cannot be read."""
    try:
        return library.load_geometry_cache(name, frames_per_second=rate)
    except Exception as error:  # the library may raise anything
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return f"names the geometry cache {quote(Path(name).name)}, which cannot be read ({quote(lines[0])})"


def _misfit(cache: Any, name: str, mesh: Any, file: str) -> str | None:
    """The reason that a cache does not move a mesh. As in ufbx, a cache of one channel is used under any name."""
    channels = _all(cache.channels)
    found = channels if len(channels) == 1 else [channel for channel in channels if channel.name == name]
    if not found:
        return f"names channel {quote(name)} of the geometry cache {quote(Path(file).name)}, which does not hold it"
    if found[0].interpretation.name == "VERTEX_NORMAL":
        return None
    counts = {frame.data_count for frame in _all(found[0].frames)}
    wrong = sorted(counts - {mesh.num_vertices})
    if wrong:
        return (
            f"names the geometry cache {quote(Path(file).name)} of {wrong[0]} vertices for a mesh of "
            f"{mesh.num_vertices}"
        )
    return None if counts else f"names the geometry cache {quote(Path(file).name)}, which holds no frame"


def _span(channel: Any) -> list[float]:
    frames = channel.frames
    return [frames[0].time, frames[len(frames) - 1].time] if len(frames) else []


def _all(values: Any) -> list[Any]:
    """All of a list that holds no elements: each item is counted as it should be."""
    return [values[i] for i in range(len(values))]
