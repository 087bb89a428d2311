"""A comparison of models as a single HTML file: the verdict, all measures, and pictures of the deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import numpy as np

from osteon import __version__
from osteon.core.arrays import Float32, Float64
from osteon.io.load.source import PathLike
from osteon.io.save.atomic import atomic_file
from osteon.measure.deviation import SourceSurface, normal_deviations, surface_deviations
from osteon.pipeline.comparison import Comparison
from osteon.report.compare_figures import (
    best_choice,
    compare_verdict,
    cost_table,
    measure_table,
    poses_figure,
    sweep_figures,
    verdict_lines,
)
from osteon.report.gallery import Picture, Shot, UpAxis, draw_shots, round_up
from osteon.report.page_parts import brief, number, section, whole_page
from osteon.report.picture import heat_colors
from osteon.report.raster import DrawOptions, frame_camera
from osteon.report.sections import ScaleWords, charts, heat_scale, picture_row
from osteon.report.views import both_sides, distinct_frames

#: Classes of the style sheet by the number of models in a row.
COLUMNS = {1: "two", 2: "two", 3: "three", 5: "five"}

_WORDS: dict[DeviationKind, tuple[str, ScaleWords]] = {
    "geometric": ("distance to the surface", ScaleWords(more="Dark red is that and more.")),
    "normal": (
        "angle between normals",
        ScaleWords(lambda angle: f"{number(angle)}°", "degrees", "", "Dark red is that and more."),
    ),
}


def write_comparison_page(path: PathLike, comparison: Comparison, *, up: UpAxis = "y") -> None:
    """Write the page of a comparison; the file appears whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(build_comparison_page(comparison, up=up), encoding="utf-8")


def build_comparison_page(comparison: Comparison, *, up: UpAxis = "y") -> str:
    """The whole page as text."""
    rows = draw_deviations(comparison, up=up, threads=comparison.options.threads)
    name = escape(comparison.sequence.name)
    lines = "".join(f"<li>{escape(line)}</li>" for line in verdict_lines(comparison))
    sections = (
        section("All measures", _measures(comparison), "measures"),
        section("Deviation of the surface", _pictures(rows, "geometric"), "geometric"),
        section("Deviation of the normals", _pictures(rows, "normal"), "normal"),
        section("Pose by pose", charts([poses_figure(comparison), poses_figure(comparison, normals=True)]), "poses"),
        section("Strength of regularisation", charts(sweep_figures(comparison)), "sweep"),
    )
    return whole_page(
        f"{comparison.sequence.name}: models compared",
        f'<header><h1>{name}: models compared</h1><p class="verdict">{_verdict(comparison)}</p>'
        f'<ul class="findings">{lines}</ul>{_setting(comparison)}</header>'
        f"<main>{''.join(sections)}</main>{_footer(comparison)}",
    )


def _verdict(comparison: Comparison) -> str:
    """The first sentence, the winner in colour."""
    text, first = escape(compare_verdict(comparison)), escape(best_choice(comparison).title)
    head = first[:1].upper() + first[1:]
    return f'<strong class="good">{head}</strong>{text[len(head) :]}' if text.startswith(head) else text


def _setting(comparison: Comparison) -> str:
    trained = ", ".join(map(str, comparison.distinct[comparison.training].tolist()))
    return (
        f"<p>{len(comparison.distinct)} distinct poses of {comparison.n_frames} frames, "
        f"{comparison.sequence.n_vertices:,} vertices. Every model has the same {comparison.n_bones} rigid bones, and "
        f"weights fitted to the {len(comparison.training)} training poses only: frames {trained}. "
        f"{len(comparison.unseen)} poses are held out for the evaluation.</p>"
    )


def _measures(comparison: Comparison) -> str:
    return (
        "<h3>Unseen poses: how well a model generalises</h3>"
        f"{measure_table(comparison, unseen=True)}"
        "<h3>Training poses: the best possible fit</h3>"
        f"{measure_table(comparison, unseen=False)}"
        '<p class="note">Less is better; the best values of each column are bold. '
        "Percentages are of the body’s size, E of the motion.</p>"
        f"<h3>Cost, without the shared rest pose and bones</h3>{cost_table(comparison)}"
    )


def _pictures(rows: dict[DeviationKind, tuple[DeviationRow, ...]], kind: DeviationKind) -> str:
    """Unseen poses first, since they decide."""
    unseen = [row for row in rows[kind] if not row.trained]
    trained = [row for row in rows[kind] if row.trained]
    return (
        "<p>Colours can be compared along a row; every row has its own scale.</p>"
        f"<h3>Unseen poses</h3>{_rows(unseen, kind)}<h3>Training poses</h3>{_rows(trained, kind)}"
    )


def _rows(rows: Sequence[DeviationRow], kind: DeviationKind) -> str:
    name, words = _WORDS[kind]
    return "".join(
        picture_row(row.pictures, f"{COLUMNS.get(len(row.pictures), 'four')} models")
        + heat_scale(row.maximum, f"Frame {row.frame}: {name}", words, key=f"-{kind}-{row.frame}")
        for row in rows
    )


def _footer(comparison: Comparison) -> str:
    notes = "".join(f"<p>Note: {escape(note)}.</p>" for note in comparison.notes)
    return (
        "<footer><p>Distance to the surface: from a vertex of the model to the closest point on the source’s surface "
        "in the same pose. Normals: the angle between the normals of a vertex and of the same vertex of the source. "
        "RMS and E compare vertex with vertex. The body’s size is the diagonal of the rest pose’s bounding box.</p>"
        f"{notes}<p>Osteon {escape(__version__)}, seed {comparison.options.seed}.</p></footer>"
    )


# Pictures of a comparison: one row per pose, one column per model, one colour scale per row.
#
# Based on: Reid and Jacka, Mesh Approximation for Animated Characters, figures 5 to 8.
#
# Differs from the paper: a scale ends at the 99.8th percentile of the row's median model, so that neither one vertex
# nor one bad model determines it; the largest value is in the caption of every picture.

DeviationKind = Literal["geometric", "normal"]

#: Number of training poses and of unseen poses to show.
SHOWN = 3
#: Quantile of the vertices of a row's median model at which its scale ends.
BELOW = 0.998
#: Width of a picture by the number of models.
WIDTHS = {1: 400, 2: 400, 3: 360}
NARROW = 280  # of more models


@dataclass(frozen=True, slots=True)
class DeviationRow:
    """One pose in every model."""

    frame: int  # of the input
    trained: bool
    pictures: tuple[Picture, ...]
    maximum: float  # at the end of the scale: % of the body's size, or degrees


@dataclass(frozen=True, slots=True)
class _Pose:
    """A pose of the source and of the models."""

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
    """Training and unseen poses that differ most from each other."""
    poses = []
    for chosen, trained in ((comparison.training, True), (comparison.unseen, False)):
        shown = chosen[distinct_frames(comparison.sequence.take_frames(chosen), SHOWN)]
        results = [comparison.pose(result, shown.tolist()) for result in comparison.results]
        for i, pose in enumerate(shown):
            frame, source = int(comparison.distinct[pose]), comparison.sequence.frame(int(pose))
            poses.append(_Pose(int(pose), frame, trained, source, tuple(result[i] for result in results)))
    return poses


def _shots(comparison: Comparison, pose: _Pose, kind: DeviationKind, view: DrawOptions) -> tuple[Sequence[Shot], float]:
    """The pictures of a row, not yet drawn, and the end of its scale."""
    values = _deviations(comparison, pose, kind)
    known = [value[np.isfinite(value)] for value in values]
    ends = [float(np.quantile(each, BELOW)) for each in known if len(each)]
    maximum = round_up(float(np.median(ends or [0.0])))
    # The camera frames the source, so that outliers of a model do not make the others small.
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
    """(v,) deviations for every model: % of the body's size, or degrees."""
    faces = comparison.sequence.faces
    if kind == "normal":
        return [normal_deviations(pose.source, result, faces) for result in pose.results]
    against, size = SourceSurface.of(pose.source, faces), 100 / max(comparison.sequence.diagonal, 1e-300)
    return [size * surface_deviations(against, pose.source, result, threads=0) for result in pose.results]
