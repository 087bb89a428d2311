"""Errors of an approximation, each with where and when it is worst.

    E  = 100 || P - A ||_F / || P - mean over frames of P ||_F        James and Twigg 2005, table 1
    KG = 100 || P - A ||_F / || P - centroid of each frame ||_F       Karni and Gotsman 2004
    RMS = || P - A ||_F / sqrt(f v), in the units of the input

P are the source frames, A the approximation. Both are walked through a few frames at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.frame_blocks import frame_blocks, mean_frame
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


def _normal_angles(source: Float32, result: Float32, faces: Int32, threads: int) -> tuple[float, float, int]:
    """Sum and maximum of the angles (degrees) between vertex normals of two runs of frames, and how many there are."""
    sums, largest, counts = (np.zeros(len(source)) for _ in range(3))

    def work(start: int, stop: int) -> None:
        for f in range(start, stop):
            normals = vertex_normals(source[f], faces)
            angles = angles_between(normals, vertex_normals(result[f], faces))[normals.any(axis=1)]
            sums[f], largest[f], counts[f] = angles.sum(), angles.max(initial=0.0), len(angles)

    for_blocks(work, len(source), 1, threads)
    return float(sums.sum()), float(largest.max(initial=0.0)), int(counts.sum())


def measure_distortion(
    frames: MeshSequence | FrameSource | Float32, faces: Int32, approximate: Callable[[int, int], Float32]
) -> Distortion:
    """Compare frames (f,v,3) with approximate(start, stop), which gives the same frames of the result."""
    original = frames_of(frames)
    n_frames, n_vertices = original.n_frames, original.n_vertices
    threads = available_threads()
    mean = mean_frame(original)
    per_frame, per_vertex = np.zeros(n_frames), np.zeros(n_vertices)
    motion = extent = angle_sum = angle_max = 0.0
    count = 0
    worst = Worst(-1.0, 0, 0)
    for block in frame_blocks(original):
        start, stop = block.start, block.stop
        source = block.frames.astype(np.float64)
        result = approximate(start, stop)
        if result.shape != source.shape:
            raise GeometryError(f"compared frames have shape {result.shape}, expected {source.shape}")
        squared = ((source - result) ** 2).sum(axis=2)
        per_frame[start:stop] = squared.sum(axis=1)
        per_vertex += squared.sum(axis=0)
        where = int(squared.argmax())
        if (distance := float(np.sqrt(squared.flat[where]))) > worst.distance:
            worst = Worst(distance, where % n_vertices, start + where // n_vertices)
        total, largest, compared = _normal_angles(block.frames, result, faces, threads)
        angle_sum, angle_max, count = angle_sum + total, max(angle_max, largest), count + compared
        extent += float(((source - source.mean(axis=1, keepdims=True)) ** 2).sum())
        source -= mean
        motion += float((source**2).sum())
    error = float(per_frame.sum())
    return Distortion(
        _percent(error, motion),
        _percent(error, extent),
        float(np.sqrt(error / (n_frames * n_vertices))),
        worst,
        np.sqrt(per_frame / n_vertices),
        np.sqrt(per_vertex / n_frames),
        angle_sum / max(1, count),
        angle_max,
    )


def _percent(error: float, reference: float) -> float:
    if reference <= 0:
        return 0.0 if error <= 0 else float("inf")
    return float(100 * np.sqrt(error / reference))
