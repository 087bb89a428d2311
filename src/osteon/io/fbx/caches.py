"""Geometry caches of an FBX: files beside it that hold a position for every vertex and frame (Maya .xml with .mcx or
.mc, 3ds Max .pc2).

ufbx reads them when it poses a scene. What it would pass over in silence is looked at before: a file that is not there,
one outside the folder of the FBX (which is not opened), one that cannot be read, and one of another number of vertices.
The library tries the absolute path of a cache that it does not find beside the FBX, so either all of them are read or
none.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osteon.io.fbx.library import held, items, shown
from osteon.io.load.source import inside, quote

__all__ = ["SceneCaches", "find_caches"]


@dataclass(frozen=True, slots=True)
class SceneCaches:
    """The geometry caches that a scene names."""

    problems: tuple[str, ...] = ()  # why they cannot be read, one sentence per cache
    begin: float = 0.0  # seconds of the first sample of all caches
    end: float = 0.0  # seconds of the last
    usable: bool = False  # there are caches, and all of them can be read


def find_caches(library: Any, scene: Any, path: Path) -> SceneCaches:
    """The caches that move meshes of a scene, which was loaded without them."""
    asked = [(mesh, deformer) for _, mesh in shown(scene) for deformer in items(mesh.cache_deformers)]
    rate = scene.settings.frames_per_second or 24.0
    problems: dict[str, None] = {}
    opened: dict[str, Any] = {}  # caches, or why they cannot be read
    times: list[float] = []
    for mesh, deformer in asked:
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
    if problems or not asked:
        return SceneCaches(tuple(problems))
    return SceneCaches((), min(times, default=0.0), max(times, default=0.0), usable=True)


def _missing(name: str, path: Path) -> str | None:
    """Why a cache cannot be opened."""
    shown_name = quote(Path(name).name)
    if not name:
        return "names a geometry cache without a file"
    if not inside(path.parent, Path(name)):
        return f"names the geometry cache {shown_name} outside its folder"
    if not Path(name).is_file():
        return f"names the geometry cache {quote(_below(name, path))}, which is not beside it"
    return None


def _below(name: str, path: Path) -> str:
    """The cache as seen from the folder of the FBX."""
    return Path(name).resolve().relative_to(path.parent.resolve()).as_posix()


def _opened(library: Any, name: str, rate: float) -> Any:
    """The cache, or why it cannot be read."""
    try:
        return library.load_geometry_cache(name, frames_per_second=rate)
    except Exception as error:  # whatever the library says of it
        said = str(error).strip().splitlines() or [type(error).__name__]
        return f"names the geometry cache {quote(Path(name).name)}, which cannot be read ({quote(said[0])})"


def _misfit(cache: Any, name: str, mesh: Any, file: str) -> str | None:
    """Why a cache does not move a mesh. As ufbx does, a cache of one channel is taken whatever the channel's name."""
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
