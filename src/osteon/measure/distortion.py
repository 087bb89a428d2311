"""Errors of an approximation, each with where and when it is worst.

    E  = 100 || P - A ||_F / || P - mean over frames of P ||_F        James and Twigg 2005, table 1
    KG = 100 || P - A ||_F / || P - centroid of each frame ||_F       Karni and Gotsman 2004
    RMS = || P - A ||_F / sqrt(f v), in the units of the input

P are the source frames, A the approximation. Both are walked through a few frames at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.kernels import kernel

__all__ = ["Distortion", "Worst", "measure_distortion", "vertex_normals"]

#: Values of a block of frames that are in memory at a time.
BLOCK_VALUES = 4_000_000


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


@kernel
def vertex_normals(points, faces, out):
    """Area-weighted unit normals (v,3) of points (v,3); zero where a vertex has no triangle."""
    out[:] = 0
    for t in range(faces.shape[0]):
        i, j, k = faces[t, 0], faces[t, 1], faces[t, 2]
        ax, ay, az = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
        bx, by, bz = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
        nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        for v in (i, j, k):
            out[v, 0] += nx
            out[v, 1] += ny
            out[v, 2] += nz
    for v in range(out.shape[0]):
        length = np.sqrt(out[v, 0] ** 2 + out[v, 1] ** 2 + out[v, 2] ** 2)
        if length > 0:
            for i in range(3):
                out[v, i] /= length


@kernel
def _normal_angles(source, result, faces, count):
    """Sum and maximum of the angles (degrees) between normals, and how many were compared."""
    n = source.shape[1]
    first = np.zeros((n, 3))
    second = np.zeros((n, 3))
    total = 0.0
    largest = 0.0
    for f in range(source.shape[0]):
        vertex_normals(source[f].astype(np.float64), faces, first)
        vertex_normals(result[f].astype(np.float64), faces, second)
        for v in range(n):
            dot = 0.0
            chord = 0.0
            size = 0.0
            for i in range(3):
                dot += first[v, i] * second[v, i]
                chord += (first[v, i] - second[v, i]) ** 2
                size += first[v, i] ** 2
            if size == 0:
                continue
            # The chord is exact for small angles, where the cosine has no digits left.
            angle = 2 * np.arcsin(min(1.0, 0.5 * np.sqrt(chord))) * 180 / np.pi
            total += angle
            count[0] += 1
            largest = max(largest, angle)
    return total, largest


def _blocks(n_frames: int, n_vertices: int) -> Iterator[tuple[int, int]]:
    step = max(1, BLOCK_VALUES // max(1, 3 * n_vertices))
    for start in range(0, n_frames, step):
        yield start, min(start + step, n_frames)


def measure_distortion(frames: Float32, faces: Int32, approximate: Callable[[int, int], Float32]) -> Distortion:
    """Compare frames (f,v,3) with approximate(start, stop), which gives the same frames of the result."""
    n_frames, n_vertices = frames.shape[:2]
    mean = frames.mean(axis=0, dtype=np.float64)
    per_frame, per_vertex = np.zeros(n_frames), np.zeros(n_vertices)
    motion = extent = angle_sum = angle_max = 0.0
    count = np.zeros(1, np.int64)
    worst = Worst(-1.0, 0, 0)
    for start, stop in _blocks(n_frames, n_vertices):
        source = frames[start:stop].astype(np.float64)
        result = approximate(start, stop)
        if result.shape != source.shape:
            raise GeometryError(f"compared frames have shape {result.shape}, expected {source.shape}")
        squared = ((source - result) ** 2).sum(axis=2)
        per_frame[start:stop] = squared.sum(axis=1)
        per_vertex += squared.sum(axis=0)
        where = int(squared.argmax())
        if (distance := float(np.sqrt(squared.flat[where]))) > worst.distance:
            worst = Worst(distance, where % n_vertices, start + where // n_vertices)
        total, largest = _normal_angles(frames[start:stop], result, faces, count)
        angle_sum, angle_max = angle_sum + total, max(angle_max, largest)
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
        angle_sum / max(1, int(count[0])),
        angle_max,
    )


def _percent(error: float, reference: float) -> float:
    if reference <= 0:
        return 0.0 if error <= 0 else float("inf")
    return float(100 * np.sqrt(error / reference))
