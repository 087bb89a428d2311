"""Common parts of point caches: frames that are read on demand, and triangles that come from another file.

A cache holds no mesh. Its triangles are those of `--faces`, whose vertices must be as many and in the same order, and
its first frame is the rest pose. Frames stay in the file until they are needed, so that a cache may be larger than
the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from osteon.core.animation import Clip
from osteon.core.arrays import Float32
from osteon.core.frames import ReaderFrames
from osteon.core.sequence import MeshSequence
from osteon.io.formats.options import ReadRequest
from osteon.io.load.clips import select_clips
from osteon.io.load.source import Source


@dataclass(frozen=True, slots=True)
class CacheLayout:
    """Contents of the header of a point cache."""

    n_frames: int
    n_vertices: int
    fps: float | None  # None: the file has no frame rate
    offset: int  # bytes before the first position
    dtype: str  # of the positions, with their byte order


def read_point_cache(
    path: Path, request: ReadRequest, read_layout: Callable[[IO[bytes], Source], CacheLayout], kind: str
) -> MeshSequence:
    """The frames of a cache on the triangles of `--faces`."""
    source = Source(path)
    if request.connectivity is None:
        raise source.format_error("holds positions only; name the mesh that it moves with --faces FILE")
    with source.open() as file:
        layout = read_layout(file, source)
        size = file.seek(0, 2)
    _check(layout, size, source, kind)
    _check_mesh(layout, request, source)
    options = request.options
    rate = layout.fps if options.fps == "file" and layout.fps is not None else options.frame_rate
    frames = _mapped_frames(layout, source)
    with source.naming():
        sequence = MeshSequence(
            frames,
            request.connectivity.faces,
            frames.read(0, 1)[0],
            (Clip(path.stem, 0, layout.n_frames, rate),),
            request.connectivity.asset_for(layout.n_vertices),
            path.stem,
        )
    return select_clips(sequence, options.clips, path)


def _check(layout: CacheLayout, size: int, source: Source, kind: str) -> None:
    """Refuse headers that the size of the file contradicts."""
    if layout.n_frames < 1 or layout.n_vertices < 1:
        raise source.format_error(
            f"names {layout.n_frames} frames of {layout.n_vertices} vertices, expected at least one; "
            f"it is not a {kind} point cache, or it is damaged"
        )
    needed = layout.offset + 12 * layout.n_frames * layout.n_vertices
    if needed > size:
        raise source.format_error(
            f"promises {layout.n_frames} frames of {layout.n_vertices} vertices ({needed} bytes) but has {size} bytes; "
            f"it is truncated, or not a {kind} point cache"
        )


def _check_mesh(layout: CacheLayout, request: ReadRequest, source: Source) -> None:
    connectivity = request.connectivity
    assert connectivity is not None
    named = int(connectivity.faces.max()) + 1 if connectivity.faces.size else 0
    expected = named if connectivity.n_vertices is None else connectivity.n_vertices
    if named > layout.n_vertices or (connectivity.n_vertices is not None and expected != layout.n_vertices):
        raise source.geometry_error(
            f"has {layout.n_vertices} vertices, but {connectivity.origin} has {expected}; "
            "name the mesh that the cache was exported from"
        )


def _mapped_frames(layout: CacheLayout, source: Source) -> ReaderFrames:
    """Frames read on demand. A file that shrinks meanwhile is reported, where a memory map would crash."""
    n_values, n_bytes = 3 * layout.n_vertices, 12 * layout.n_vertices

    def read(start: int, stop: int) -> Float32:
        with source.open() as file:
            file.seek(layout.offset + start * n_bytes)
            data = np.fromfile(file, layout.dtype, (stop - start) * n_values)
        if len(data) != (stop - start) * n_values:
            raise source.format_error("ends early; the file has changed since it was opened")
        frames = data.reshape(stop - start, layout.n_vertices, 3)
        return np.stack([Source(source.path, f).positions(frame) for f, frame in enumerate(frames, start)])

    return ReaderFrames(layout.n_frames, layout.n_vertices, read)
