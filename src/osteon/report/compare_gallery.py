"""Pictures of a comparison: a row for every pose, a column for every model, one colour scale along each row.

Based on: Reid and Jacka, Mesh Approximation for Animated Characters, figures 5 to 8.

Differs from the paper: a scale ends where all but one in five hundred vertices of the row's middle model lie below, so
that neither one vertex nor one bad model leaves the rest in one colour; the largest one stands below every picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.measure.deviation import SourceSurface, normal_deviations, surface_deviations
from osteon.pipeline.comparison import Comparison
from osteon.report.gallery import Picture, Shot, UpAxis, draw_shots, round_up
from osteon.report.numbers import brief, number
from osteon.report.picture import heat_colors
from osteon.report.raster import DrawOptions, frame_camera
from osteon.report.views import both_sides, distinct_frames

__all__ = ["DeviationKind", "DeviationRow", "draw_deviations"]

DeviationKind = Literal["geometric", "normal"]

#: Poses shown of those that models were trained with, and of the unseen ones.
SHOWN = 3
#: Part of the vertices of a row's middle model that lies below the end of its scale.
BELOW = 0.998
#: Width of a picture by the number of models.
WIDTHS = {1: 400, 2: 400, 3: 360}
NARROW = 280  # of more models


@dataclass(frozen=True, slots=True)
class DeviationRow:
    """One pose, as every model shows it."""

    frame: int  # of the input
    trained: bool
    pictures: tuple[Picture, ...]
    maximum: float  # at the end of the scale: % of the body's size, or degrees


@dataclass(frozen=True, slots=True)
class _Pose:
    """A pose and what the models make of it."""

    pose: int
    frame: int
    trained: bool
    source: Float32
    results: tuple[Float32, ...]


def draw_deviations(
    comparison: Comparison, *, up: UpAxis = "y", threads: int = 0
) -> dict[DeviationKind, tuple[DeviationRow, ...]]:
    """Rows for distances to the surface and for angles of normals, training poses first."""
    poses = _shown_poses(comparison)
    width = WIDTHS.get(len(comparison.results), NARROW)
    options = DrawOptions(width=width, height=round(0.75 * width), up=up, shadow=False)
    view = both_sides(comparison.sequence.rest, options)[0]
    kinds: tuple[DeviationKind, ...] = ("geometric", "normal")
    planned = [(kind, pose, *_shots(comparison, pose, kind, view)) for kind in kinds for pose in poses]
    drawn = draw_shots([shots for _, _, shots, _ in planned], threads)
    rows = [
        (kind, DeviationRow(pose.frame, pose.trained, pictures, maximum))
        for (kind, pose, _, maximum), pictures in zip(planned, drawn, strict=True)
    ]
    return {kind: tuple(row for of, row in rows if of == kind) for kind in kinds}


def _shown_poses(comparison: Comparison) -> list[_Pose]:
    """Poses that differ most from each other, of each kind."""
    poses = []
    for chosen, trained in ((comparison.training, True), (comparison.unseen, False)):
        shown = chosen[distinct_frames(comparison.sequence.take_frames(chosen), SHOWN)]
        results = [comparison.pose(result, shown.tolist()) for result in comparison.results]
        for i, pose in enumerate(shown):
            frame, source = int(comparison.distinct[pose]), comparison.sequence.frame(int(pose))
            poses.append(_Pose(int(pose), frame, trained, source, tuple(result[i] for result in results)))
    return poses


def _shots(comparison: Comparison, pose: _Pose, kind: DeviationKind, view: DrawOptions) -> tuple[Sequence[Shot], float]:
    """The pictures of a row, still to be drawn, and the end of its scale."""
    values = _deviations(comparison, pose, kind)
    known = [value[np.isfinite(value)] for value in values]
    ends = [float(np.quantile(each, BELOW)) for each in known if len(each)]
    maximum = round_up(float(np.median(ends or [0.0])))
    # The camera stands where the source is: what a model throws far away does not make the others small.
    camera = frame_camera(pose.source, view)
    write = brief if kind == "geometric" else (lambda angle: f"{number(float(f'{angle:.2g}'))}°")
    shots = []
    for result, points, value in zip(comparison.results, pose.results, values, strict=True):
        mean, largest = (write(float(f)) for f in (np.nanmean(value), np.nanmax(value)))
        caption = f"{result.word}: mean {mean}, largest {largest}"
        alt = f"{result.title} in frame {pose.frame}, {kind} deviation by colour; mean {mean}, largest {largest}"
        shots.append(Shot(points, comparison.sequence.faces, heat_colors(value, maximum), view, camera, alt, caption))
    return shots, maximum


def _deviations(comparison: Comparison, pose: _Pose, kind: DeviationKind) -> list[Float64]:
    """(v,) for every model: % of the body's size, or degrees."""
    faces = comparison.sequence.faces
    if kind == "normal":
        return [normal_deviations(pose.source, result, faces) for result in pose.results]
    against, size = SourceSurface.of(pose.source, faces), 100 / max(comparison.sequence.diagonal, 1e-300)
    return [size * surface_deviations(against, pose.source, result, threads=0) for result in pose.results]
