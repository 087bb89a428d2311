"""Deviation of an approximated surface from its source: distances to the surface, and angles between normals.

    geometric deviation of a vertex = its distance to the closest point on the source's surface in the same frame
    normal deviation of a vertex    = the angle between its normal and that of the same vertex of the source

A vertex that slides along the surface has no geometric deviation, while RMS and E (`distortion.py`) count it: they
compare vertex with vertex. Viewers see the surface and its shading.

Based on: Reid and Jacka, Mesh Approximation for Animated Characters, section 3.2.1; the figures of merit are
those of Silva, Madeira and Santos, PolyMeCo, 2005.

Differs from the paper: vertices without triangles have no deviation, those without a triangle that has an area have no
normal deviation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int32
from osteon.core.errors import GeometryError
from osteon.core.frames import FrameBlock, FrameSource, frame_blocks
from osteon.core.normals import angles_between, vertex_normals
from osteon.core.parallel import available_threads, for_blocks
from osteon.core.sequence import MeshSequence, frames_of
from osteon.measure.closest_point import SurfaceBoxes, closest_points, first_triangles
from osteon.measure.distortion import Worst

#: Values per block of frames; the tree, distances and normals of each frame take more memory.
BLOCK_VALUES = 1_000_000


@dataclass(frozen=True, slots=True)
class Deviation:
    """Deviations of all vertices and frames that were compared."""

    mean: float  # distance to the surface, units of the input
    rms: float
    worst: Worst
    diagonal: float  # of the rest pose, the unit of percentages
    normal_mean: float  # degrees
    normal_worst: Worst  # its distance is in degrees
    per_frame: Float64  # (f,) mean distance of each frame
    normal_per_frame: Float64  # (f,) mean angle of each frame

    def percent(self, distance: float) -> float:
        """A distance in percent of the diagonal."""
        return 100 * distance / max(self.diagonal, 1e-300)


@dataclass(frozen=True, slots=True)
class SourceSurface:
    """The mesh that deviations are measured against: its tree in one pose, and one start triangle per vertex."""

    surface: SurfaceBoxes
    near: Int32  # (v,)

    @staticmethod
    def of(vertices: FloatArray, faces: Int32) -> SourceSurface:
        return SourceSurface(SurfaceBoxes.of(vertices, faces), first_triangles(faces, len(vertices)))


def surface_deviations(against: SourceSurface, source: FloatArray, result: FloatArray, *, threads: int = 1) -> Float64:
    """(v,) distances from the vertices of the result (v,3) to the surface of the source (v,3).

    NaN for vertices without triangles, which are on no surface.
    """
    found = closest_points(against.surface.moved(source), result, against.near, threads=threads)
    return np.where(against.near >= 0, found.distances, np.nan)


def normal_deviations(source: FloatArray, result: FloatArray, faces: Int32) -> Float64:
    """(v,) degrees between the normals of source and result; NaN where the source has none."""
    normals = vertex_normals(source, faces)
    angles = angles_between(normals, vertex_normals(result, faces))
    return np.where(normals.any(axis=1), angles, np.nan)


def measure_deviation(
    frames: MeshSequence | FrameSource | Float32,
    faces: Int32,
    approximate: Callable[[int, int], Float32],
    diagonal: float,
    *,
    threads: int = 0,
) -> Deviation:
    """Compare frames (f,v,3) with approximate(start, stop), which returns the same frames of the result."""
    source = frames_of(frames)
    sums = _Sums(*np.zeros((8, source.n_frames)))
    against = SourceSurface.of(source.read(0, 1)[0], faces)
    for block in frame_blocks(source, BLOCK_VALUES):
        result = approximate(block.start, block.stop)
        if result.shape != block.frames.shape:
            raise GeometryError(f"compared frames have shape {result.shape}, expected {block.frames.shape}")
        for_blocks(
            partial(_measure_frames, sums, against, block, result, faces), len(result), 1, available_threads(threads)
        )
    on_surface = max(1, int((against.near >= 0).sum()))
    count = source.n_frames * on_surface
    angles = float(sums.angles.sum())
    return Deviation(
        float(sums.distance.sum()) / count,
        float(np.sqrt(sums.squared.sum() / count)),
        _worst(sums.farthest, sums.where),
        diagonal,
        float(sums.angle.sum()) / max(1.0, angles),
        _worst(sums.largest_angle, sums.where_angle),
        sums.distance / on_surface,
        sums.angle / np.maximum(1.0, sums.angles),
    )


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums over the vertices of each frame, (f,) each."""

    distance: Float64
    squared: Float64
    farthest: Float64
    where: Float64  # the vertex of the farthest
    angle: Float64
    angles: Float64  # number of normals
    largest_angle: Float64
    where_angle: Float64


def _measure_frames(
    sums: _Sums, against: SourceSurface, block: FrameBlock, result: Float32, faces: Int32, start: int, stop: int
) -> None:
    for i in range(start, stop):
        f = block.start + i
        off = np.nan_to_num(surface_deviations(against, block.frames[i], result[i]))
        sums.distance[f], sums.squared[f] = off.sum(), (off**2).sum()
        sums.where[f] = int(off.argmax())
        sums.farthest[f] = off[int(sums.where[f])]
        angles = normal_deviations(block.frames[i], result[i], faces)
        known = np.isfinite(angles)
        angles = np.where(known, angles, 0.0)
        sums.angle[f], sums.angles[f] = angles.sum(), known.sum()
        sums.where_angle[f] = int(angles.argmax())
        sums.largest_angle[f] = angles[int(sums.where_angle[f])]


def _worst(largest: Float64, where: Float64) -> Worst:
    frame = int(largest.argmax())
    return Worst(float(largest[frame]), int(where[frame]), frame)
