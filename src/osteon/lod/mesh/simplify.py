"""Simplify the mesh of a skinned model to one or more levels, by triangle count or by error.

    weld - choose poses - sum quadrics - collapse edges - cut levels - fit each to the source - measure it

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7 and figure 14 (levels that keep weights and
corrections); Pilgrim, Steed, Aguado, Progressive Skinning for Character Animation, 2007, section 4.4.
Differs from the second paper: it simplifies the rest pose with weights as attributes of vertices. Here the cost of a
change of weights is its effect on the surface in several poses, and levels are fitted to the source.

The error of a level: distances from the vertices of level and source to the surface of the other, in many frames.

    mean = half of the mean over the level's vertices and half of that over the source's; worst = the largest of all;
    rms squared = half of the mean square of each

Isolated vertices are not measured.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.compile_kernels import compile_kernels
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.options import check_options, option
from osteon.core.progress import FitReport, Progress, report_progress
from osteon.deform.pose import pose_frames
from osteon.fit.kernel_modules import LEVEL_KERNELS
from osteon.lod.mesh.corners import corners_of
from osteon.lod.mesh.fit_level import fit_level
from osteon.lod.mesh.level import LevelDraft
from osteon.lod.mesh.level_shape import SourceShape
from osteon.lod.mesh.poses import Poses, choose_frames
from osteon.lod.mesh.sequence import CollapseSequence, collapse_model
from osteon.measure.closest_point import SurfaceBoxes, closest_points, first_triangles
from osteon.measure.distortion import Worst


@dataclass(frozen=True, slots=True)
class SimplifyOptions:
    """Options of mesh simplification."""

    poses: int = option(
        6, help="Poses besides the rest pose in which shape is preserved and no triangle flips.", minimum=1, maximum=64
    )
    texture: float = option(
        0.5,
        help="Cost of a displacement of the texture, relative to the same displacement of the surface.",
        minimum=0.0,
        maximum=100.0,
    )
    fit: bool = option(True, help="Fit positions and weights of every level to the source.")
    lock_borders: bool = option(False, help="Keep open borders unchanged.")
    measured: int = option(24, help="Poses in which the error of a level is measured.", minimum=1, maximum=4096)
    threads: int = option(0, help="Number of threads; 0: all.", minimum=0)

    def __post_init__(self) -> None:
        check_options(self)


Side = Literal["level", "source"]


@dataclass(frozen=True, slots=True)
class LevelError:
    """Distances between the surfaces of a level and its source, in units of the input."""

    mean: float  # of both directions
    level_mean: float  # from the level's vertices to the source
    source_mean: float  # from the source's vertices to the level
    rms: float  # root mean square of both directions
    worst: Worst  # value, vertex and frame
    worst_side: Side  # whether the worst vertex is of the level or of the source
    frames: Int32  # (f,) measured frames of the animation
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
    """Measure a level in some frames; `vertex_of_source` (v,) provides starting points of the closest-point search."""
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
    rms = float(np.sqrt(0.5 * ((there**2).mean() + (again**2).mean())))
    side: Side = "level" if there.max() > again.max() else "source"
    largest = there if side == "level" else again
    at, vertex = np.unravel_index(int(largest.argmax()), largest.shape)
    numbers = np.flatnonzero((one if side == "level" else other).used)
    worst = Worst(float(largest[at, vertex]), int(numbers[vertex]), int(frames[at]))
    mean = 0.5 * (level_mean + source_mean)
    return LevelError(mean, level_mean, source_mean, rms, worst, side, frames, source.diagonal)


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two surfaces."""

    posed: Float32  # (f,v,3)
    faces: Int32  # (t,3)
    used: np.ndarray  # (v,) vertices of triangles
    near: Int32  # (v,) a triangle of the other surface that is likely to be close


def _distances(queries: _Side, surface: _Side, threads: int) -> Float64:
    """(f,n) distances from the vertices of one to the surface of the other."""
    boxes = SurfaceBoxes.of(surface.posed[0].astype(np.float64), surface.faces)
    out = np.empty((len(queries.posed), int(queries.used.sum())))
    for f, points in enumerate(queries.posed):
        there = boxes.moved(surface.posed[f])
        out[f] = closest_points(there, points[queries.used], queries.near[queries.used], threads=threads).distances
    return out


#: The search for a level by error ends when its interval is 1 / SEARCHED of its steps. If the level found exceeds the
#: bound in the full measurement, finer levels are tried, each with BACK_OFF times as many triangles.
SEARCHED, BACK_OFF = 200, 1.05


@dataclass(frozen=True, slots=True)
class MeshLevel:
    """A model with fewer triangles, its error, and the correspondence with the source."""

    model: SkinnedModel
    vertex_of_source: Int32  # (v,) the vertex of the level for each of the source; -1: none
    error: LevelError
    shells_gone: int  # number of shells that were dropped, as no other edge could collapse
    reached: bool  # whether the requested number of triangles, or error, is met

    @property
    def n_triangles(self) -> int:
        return self.model.mesh.n_triangles


@dataclass(frozen=True, slots=True)
class MeshLevels:
    """Levels in the order of the request, by triangles and then by error."""

    levels: tuple[MeshLevel, ...]
    poses: Int32  # (f,) frames in which shape was preserved, besides the rest pose
    sequence: CollapseSequence  # from which more levels can be extracted
    report: FitReport
    _work: _Work

    def level(self, triangles: int, *, fit: bool, measured: int) -> MeshLevel:
        """One more level of the same collapses, fitted or not, and measured in so many poses."""
        return self._work.changed(fit, measured).by_count(triangles)


def simplify_model(
    model: SkinnedModel,
    *,
    triangles: Sequence[int] = (),
    max_errors: Sequence[float] = (),
    options: SimplifyOptions | None = None,
    progress: Progress | None = None,
) -> MeshLevels:
    """Simplify to levels with at most the given numbers of triangles, or worst distances in % of the diagonal.

    If borders, seams and shells do not allow so few triangles, the level is the coarsest possible one and its
    `reached` is False.
    """
    options = options or SimplifyOptions()
    _check_targets(model, triangles, max_errors)
    compile_kernels(LEVEL_KERNELS, progress)
    began = time.perf_counter()
    work = _Work.of(model, 1 if max_errors else min(triangles), options, progress)
    levels = []
    for count in triangles:
        levels.append(work.by_count(count))
        report_progress(progress, "levels", len(levels) / (len(triangles) + len(max_errors)))
    for bound in max_errors:
        levels.append(work.by_error(bound))
        report_progress(progress, "levels", len(levels) / (len(triangles) + len(max_errors)))
    reached = all(level.reached for level in levels)
    report = FitReport(
        "simplify",
        time.perf_counter() - began,
        work.sequence.n_steps,
        reached,
        "all levels reached" if reached else "borders, seams and shells allow no fewer triangles",
        options=asdict(options),
    )
    return MeshLevels(tuple(levels), work.poses.frames, work.sequence, report, work)


def _check_targets(model: SkinnedModel, triangles: Sequence[int], max_errors: Sequence[float]) -> None:
    if not len(triangles) and not len(max_errors):
        raise OptionError("levels: expected numbers of triangles or errors, got none")
    for count in triangles:
        if count < 1:
            raise OptionError(f"triangles: expected 1 or more, got {count}")
    for bound in max_errors:
        if not (np.isfinite(bound) and bound > 0):
            raise OptionError(f"max_errors: expected positive percentages of the diagonal, got {bound}")
    if not model.mesh.n_triangles:
        raise GeometryError(f"'{model.name}': has no triangles, so that there is nothing to simplify")


@dataclass(frozen=True, slots=True)
class _Work:
    """Data shared by all levels of one run."""

    source: SkinnedModel
    poses: Poses
    frames: Int32  # in which levels are measured
    sequence: CollapseSequence
    shape: SourceShape
    options: SimplifyOptions

    @staticmethod
    def of(model: SkinnedModel, until: int, options: SimplifyOptions, progress: Progress | None) -> _Work:
        frames = choose_frames(model, max(options.poses, options.measured))
        poses = Poses.of(model, frames[: options.poses])
        posed = poses.posed(model.deformer, model.character.displacements, model.rest)
        corners = corners_of(model.mesh, posed)
        if not len(corners.triangles):
            raise GeometryError(f"'{model.name}': no triangle has three distinct corners, so that none can be kept")
        sequence = collapse_model(
            model,
            corners,
            poses,
            until,
            texture=options.texture,
            lock_borders=options.lock_borders,
            progress=progress,
        )
        measured = np.sort(frames[: options.measured])
        return _Work(model, poses, measured, sequence, SourceShape.of(posed, model.faces), options)

    def changed(self, fit: bool, measured: int) -> _Work:
        """The same collapses; levels are fitted or not, and measured in so many poses."""
        frames = np.sort(choose_frames(self.source, measured))
        return replace(self, frames=frames, options=replace(self.options, fit=fit, measured=measured))

    def by_count(self, count: int) -> MeshLevel:
        """The finest level with at most `count` triangles."""
        if count >= self.source.mesh.n_triangles:
            return self._whole()
        level = self._level(self.sequence.steps_to(count), self.options.fit, self.frames)
        return replace(level, reached=level.n_triangles <= count)

    def by_error(self, bound: float) -> MeshLevel:
        """The coarsest level found whose worst distance is at most `bound` percent of the diagonal.

        The search measures levels without fitting, in the selected poses; the result meets the bound in all measured
        frames.
        """
        enough, too_many = 0, self.sequence.n_steps + 1
        while too_many - enough > max(1, enough // SEARCHED):
            middle = (enough + too_many) // 2
            worst = self._level(middle, False, self.poses.frames).error.worst_percent
            enough, too_many = (middle, too_many) if worst <= bound else (enough, middle)
        steps = enough
        while steps:
            for fit in dict.fromkeys((self.options.fit, False)):
                level = self._level(steps, fit, self.frames)
                if level.error.worst_percent <= bound:
                    return level
            steps = min(steps - 1, self.sequence.steps_to(int(BACK_OFF * self.sequence.triangles[steps]) + 1))
        return self._whole()

    def _whole(self) -> MeshLevel:
        """The source as a level."""
        same = np.arange(self.source.n_vertices, dtype=np.int32)
        error = measure_level(self.source, self.source, same, self.frames[:1], threads=self.options.threads)
        return MeshLevel(self.source, same, error, 0, True)

    def _level(self, steps: int, fit: bool, frames: Int32) -> MeshLevel:
        """The level after `steps` collapses, measured in the given frames."""
        draft = LevelDraft(self.source, self.poses, self.sequence, steps)
        shape, threads = draft.shape, self.options.threads
        if fit:
            shape = fit_level(shape, self.shape, draft.point_of_source, threads=threads)
        model = draft.model(shape)
        error = measure_level(self.source, model, draft.vertex_of_source, frames, threads=threads)
        return MeshLevel(model, draft.vertex_of_source, error, draft.cut.shells_gone, True)
