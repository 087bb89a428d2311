"""How far a level is from its source: distances from the vertices of each to the surface of the other, in many frames.

    mean = half of the mean over the level's vertices and half of that over the source's; worst = the largest of all

Vertices of no triangle have no distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames
from osteon.measure.closest_point import SurfaceBoxes, closest_points, first_triangles
from osteon.measure.distortion import Worst

__all__ = ["LevelError", "measure_level"]

Side = Literal["level", "source"]


@dataclass(frozen=True, slots=True)
class LevelError:
    """Distances between the surfaces of a level and its source, in units of the input."""

    mean: float  # of both ways
    level_mean: float  # from the level's vertices to the source
    source_mean: float  # from the source's vertices to the level
    worst: Worst  # value, vertex and frame
    worst_side: Side  # whose vertex that is
    frames: Int32  # (f,) of the animation that were looked at
    diagonal: float

    def percent(self, distance: float) -> float:
        """A distance in percent of the diagonal."""
        return 100 * distance / self.diagonal

    @property
    def mean_percent(self) -> float:
        return self.percent(self.mean)

    @property
    def worst_percent(self) -> float:
        return self.percent(self.worst.distance)


def measure_level(
    source: SkinnedModel, level: SkinnedModel, vertex_of_source: Int32, frames: Int32, *, threads: int = 0
) -> LevelError:
    """Compare a level with its source in some frames; (v,) the level's vertex for each of the source makes it quick."""
    few, fewer = source.take_frames(frames), level.take_frames(frames)
    of_level, of_source = (
        first_triangles(level.faces, level.n_vertices),
        first_triangles(source.faces, source.n_vertices),
    )
    beside = np.where(vertex_of_source >= 0, of_level[vertex_of_source], np.int32(-1))
    kept = np.flatnonzero(vertex_of_source >= 0)
    back = np.full(level.n_vertices, -1, np.int32)
    back[vertex_of_source[kept]] = of_source[kept]
    one = _Side(pose_frames(fewer, threads=threads), level.faces, of_level >= 0, back)
    other = _Side(pose_frames(few, threads=threads), source.faces, of_source >= 0, beside)
    there, again = _distances(one, other, threads), _distances(other, one, threads)
    level_mean, source_mean = float(there.mean()), float(again.mean())
    side: Side = "level" if there.max() > again.max() else "source"
    largest = there if side == "level" else again
    at, vertex = np.unravel_index(int(largest.argmax()), largest.shape)
    numbers = np.flatnonzero((one if side == "level" else other).used)
    worst = Worst(float(largest[at, vertex]), int(numbers[vertex]), int(frames[at]))
    return LevelError(0.5 * (level_mean + source_mean), level_mean, source_mean, worst, side, frames, source.diagonal)


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two surfaces."""

    posed: Float32  # (f,v,3)
    faces: Int32  # (t,3)
    used: np.ndarray  # (v,) vertices of triangles
    near: Int32  # (v,) a triangle of the other that is likely to be close


def _distances(queries: _Side, surface: _Side, threads: int) -> Float64:
    """(f,n) from the vertices of one to the other's surface."""
    boxes = SurfaceBoxes.of(surface.posed[0].astype(np.float64), surface.faces)
    out = np.empty((len(queries.posed), int(queries.used.sum())))
    for f, points in enumerate(queries.posed):
        there = boxes.moved(surface.posed[f])
        out[f] = closest_points(there, points[queries.used], queries.near[queries.used], threads=threads).distances
    return out
