"""Errors of an approximation, each with where and when it is worst.

    E  = 100 || P - A ||_F / || P - mean over frames of P ||_F        James and Twigg 2005, table 1
    KG = 100 || P - A ||_F / || P - centroid of each frame ||_F       Karni and Gotsman 2004
    RMS = || P - A ||_F / sqrt(f v), in the units of the input

P are the source frames, A the approximation. Both are walked through a few frames at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.frame_blocks import FrameBlock, frame_blocks, mean_frame
from osteon.core.frames import FrameSource
from osteon.core.normals import angles_between, vertex_normals
from osteon.core.parallel import available_threads, for_blocks
from osteon.core.sequence import MeshSequence, frames_of

__all__ = ["Distortion", "Worst", "measure_distortion"]


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest distance between a vertex and its source."""

    distance: float
    vertex: int
    frame: int


@dataclass(frozen=True, slots=True)
class Distortion:
    """How far an approximation is from its source."""

    error_percent: float  # E
    karni_gotsman_percent: float
    rms: float
    worst: Worst
    per_frame: Float64  # (f,) RMS of each frame
    per_vertex: Float64  # (v,) RMS of each vertex
    normal_mean: float  # degrees between vertex normals
    normal_max: float


@dataclass(frozen=True, slots=True)
class _FrameSums:
    """What the vertices of each frame add up to, (f,) each."""

    error: Float64  # squared distances
    motion: Float64  # squared, from the mean over frames
    extent: Float64  # squared, from the frame's centre
    angle: Float64  # between vertex normals, degrees
    largest_angle: Float64
    angles: Float64  # how many there are

    @staticmethod
    def of(n_frames: int) -> _FrameSums:
        return _FrameSums(*(np.zeros(n_frames) for _ in range(6)))


def _measure_frames(
    sums: _FrameSums,
    squared: Float64,
    block: FrameBlock,
    result: Float32,
    mean: Float64,
    faces: Int32,
    start: int,
    stop: int,
) -> None:
    """Frames start … stop of a block; also fills their rows of the squared distances (f,v)."""
    for i in range(start, stop):
        f, source = block.start + i, block.frames[i].astype(np.float64)
        squared[i] = _squared(source - result[i])
        sums.error[f] = squared[i].sum()
        sums.motion[f] = _squared(source - mean).sum()
        sums.extent[f] = _squared(source - source.mean(axis=0)).sum()
        normals = vertex_normals(source, faces)
        angles = angles_between(normals, vertex_normals(result[i], faces))[normals.any(axis=1)]
        sums.angle[f], sums.largest_angle[f], sums.angles[f] = angles.sum(), angles.max(initial=0.0), len(angles)


def _squared(vectors: Float64) -> Float64:
    """(v,) squared lengths."""
    squared: Float64 = np.einsum("vi,vi->v", vectors, vectors)
    return squared


def measure_distortion(
    frames: MeshSequence | FrameSource | Float32, faces: Int32, approximate: Callable[[int, int], Float32]
) -> Distortion:
    """Compare frames (f,v,3) with approximate(start, stop), which gives the same frames of the result."""
    original = frames_of(frames)
    n_frames, n_vertices = original.n_frames, original.n_vertices
    mean = mean_frame(original)
    sums, per_vertex = _FrameSums.of(n_frames), np.zeros(n_vertices)
    worst, threads = Worst(-1.0, 0, 0), available_threads()
    for block in frame_blocks(original):
        result = approximate(block.start, block.stop)
        if result.shape != block.frames.shape:
            raise GeometryError(f"compared frames have shape {result.shape}, expected {block.frames.shape}")
        squared = np.empty(result.shape[:2])
        for_blocks(partial(_measure_frames, sums, squared, block, result, mean, faces), len(result), 1, threads)
        per_vertex += squared.sum(axis=0)
        where = int(squared.argmax())
        if (distance := float(np.sqrt(squared.flat[where]))) > worst.distance:
            worst = Worst(distance, where % n_vertices, block.start + where // n_vertices)
    error = float(sums.error.sum())
    return Distortion(
        _percent(error, float(sums.motion.sum())),
        _percent(error, float(sums.extent.sum())),
        float(np.sqrt(error / (n_frames * n_vertices))),
        worst,
        np.sqrt(sums.error / n_vertices),
        np.sqrt(per_vertex / n_frames),
        float(sums.angle.sum()) / max(1, int(sums.angles.sum())),
        float(sums.largest_angle.max(initial=0.0)),
    )


def _percent(error: float, reference: float) -> float:
    if reference <= 0:
        return 0.0 if error <= 0 else float("inf")
    return float(100 * np.sqrt(error / reference))
