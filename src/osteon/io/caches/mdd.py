"""MDD point cache (.mdd) of LightWave, Blender, Maya and Houdini, big-endian:

    int32     number of frames
    int32     number of vertices
    float32   time of every frame in seconds
    float32   positions, x y z of every vertex, frame by frame

The frame rate is that of the times. Frames at uneven times are refused unless `--fps` sets a rate.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO

import numpy as np

from osteon.core.animation import frame_times
from osteon.core.arrays import Float64
from osteon.core.sequence import MeshSequence
from osteon.io.caches.point_cache import CacheLayout, read_point_cache
from osteon.io.formats.format_types import SequenceFormat
from osteon.io.formats.options import ReadRequest
from osteon.io.load.source import Source

_HEAD = struct.Struct(">ii")
#: Rates that are restored exactly where the times differ from them by less than this part.
_RATES, SAME_RATE = (*(float(rate) for rate in range(1, 241)), 24000 / 1001, 30000 / 1001, 60000 / 1001), 2e-4
#: Single precision rounds the times of an hour at 60 frames per second by less than this part of a frame.
EVEN = 0.02


def read_mdd(path: Path, request: ReadRequest) -> MeshSequence:
    """The frames in `path` with the triangles of `--faces`."""

    def layout(file: IO[bytes], source: Source) -> CacheLayout:
        return _layout(file, source, needs_rate=request.options.fps == "file")

    return read_point_cache(path, request, layout, "MDD")


def _layout(file: IO[bytes], source: Source, *, needs_rate: bool) -> CacheLayout:
    size = file.seek(0, 2)
    file.seek(0)
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise source.format_error(f"has {len(head)} bytes, too few for an MDD point cache; export it again")
    n_frames, n_vertices = _HEAD.unpack(head)
    offset = _HEAD.size + 4 * max(n_frames, 0)
    if n_frames < 1 or offset > size:
        return CacheLayout(n_frames, n_vertices, None, offset, ">f4")  # refused by its size
    with np.errstate(invalid="ignore"):  # NaN of damaged files, refused below
        times = np.frombuffer(file.read(4 * n_frames), ">f4").astype(np.float64)
    return CacheLayout(n_frames, n_vertices, _rate(times, source) if needs_rate else None, offset, ">f4")


def _rate(times: Float64, source: Source) -> float | None:
    """Frames per second; None where all times are equal, as some exporters write a single frame."""
    if not np.isfinite(times).all():
        raise source.format_error("has a time that is NaN or infinite; it is not an MDD point cache, or it is damaged")
    if times[-1] == times[0]:
        return None
    step = (times[-1] - times[0]) / (len(times) - 1)
    uneven = np.abs(np.diff(times) - step) > EVEN * abs(step) + 2 * np.spacing(np.float32(np.abs(times).max()))
    if step <= 0 or uneven.any():
        first = int(np.argmax(uneven)) + 1
        raise source.format_error(
            f"has frames at uneven times (frame {first} at {times[first]:g} s); set a frame rate with --fps"
        )
    return next((rate for rate in _RATES if abs(rate * step - 1) < SAME_RATE), float(1 / step))


def write_mdd(path: Path, sequence: MeshSequence) -> None:
    """All frames, one after the other; clips follow each other, each at its own rate."""
    with path.open("wb") as file:
        file.write(_HEAD.pack(sequence.n_frames, sequence.n_vertices))
        file.write(frame_times(sequence.clips).astype(">f4").tobytes())
        for block in sequence.blocks():
            file.write(block.frames.astype(">f4").tobytes())


MDD = SequenceFormat(".mdd", "MDD point cache", read_mdd, write_mdd, positions_only=True)
