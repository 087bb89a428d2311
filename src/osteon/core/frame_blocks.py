"""Walks through all frames of a source, a few million values at a time.

The blocks depend on the number of vertices alone, so the answer is the same from every kind of source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64
from osteon.core.frames import FrameSource

__all__ = ["FrameBlock", "each_frame", "frame_blocks", "frame_centers", "mean_frame", "vertex_tracks"]

#: Values that a block of frames holds: 16 MB as float32.
BLOCK_VALUES = 4_000_000


@dataclass(frozen=True, slots=True)
class FrameBlock:
    """A run of frames, start <= f < stop."""

    start: int
    stop: int
    frames: Float32  # (stop-start,v,3)


def frame_blocks(source: FrameSource, values: int = 0) -> Iterator[FrameBlock]:
    """All frames in order, about `values` numbers at a time; 0: as many as a block holds."""
    step = max(1, (values or BLOCK_VALUES) // max(1, 3 * source.n_vertices))
    for start in range(0, source.n_frames, step):
        stop = min(start + step, source.n_frames)
        yield FrameBlock(start, stop, source.read(start, stop))


def each_frame(source: FrameSource) -> Iterator[Float32]:
    """(v,3) of every frame in order."""
    for block in frame_blocks(source):
        yield from block.frames


def mean_frame(source: FrameSource) -> Float64:
    """(v,3) the mean over all frames."""
    total = np.zeros((source.n_vertices, 3))
    for frame in each_frame(source):  # one after the other, so that the size of a block changes no bit
        total += frame
    total /= source.n_frames
    return total


def frame_centers(source: FrameSource) -> Float64:
    """(f,3) the mean of the vertices of every frame."""
    out = np.empty((source.n_frames, 3))
    for block in frame_blocks(source):
        out[block.start : block.stop] = block.frames.mean(axis=1, dtype=np.float64)
    return out


def vertex_tracks(source: FrameSource, vertices: NDArray[np.integer[Any]]) -> Float32:
    """(n,3f) row by row all frames of some vertices."""
    out = np.empty((len(vertices), source.n_frames, 3), np.float32)
    for block in frame_blocks(source):
        out[:, block.start : block.stop] = block.frames.transpose(1, 0, 2)[vertices]
    return out.reshape(len(vertices), -1)
