"""A comparison of models as a single HTML file: the verdict, all measures, and where each model is off."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from osteon import __version__
from osteon.io.load.source import PathLike
from osteon.io.save.atomic import atomic_file
from osteon.pipeline.comparison import Comparison
from osteon.report.compare_figures import cost_table, measure_table, poses_figure, sweep_figures
from osteon.report.compare_gallery import DeviationKind, DeviationRow, draw_deviations
from osteon.report.compare_verdict import best_choice, compare_verdict, verdict_lines
from osteon.report.gallery import UpAxis
from osteon.report.numbers import number
from osteon.report.page_parts import section, whole_page
from osteon.report.sections import ScaleWords, charts, heat_scale, picture_row

__all__ = ["build_comparison_page", "write_comparison_page"]

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
        section("Where the surface is off", _pictures(rows, "geometric"), "geometric"),
        section("Where the normals are off", _pictures(rows, "normal"), "normal"),
        section("Pose by pose", charts([poses_figure(comparison), poses_figure(comparison, normals=True)]), "poses"),
        section("How strongly each model was held", charts(sweep_figures(comparison)), "sweep"),
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
        f"weights that saw only the {len(comparison.training)} training poses: frames {trained}. "
        f"{len(comparison.unseen)} poses are left to judge by.</p>"
    )


def _measures(comparison: Comparison) -> str:
    return (
        "<h3>Unseen poses: how well a model has learned the motion</h3>"
        f"{measure_table(comparison, unseen=True)}"
        "<h3>Training poses: how well it could do at best</h3>"
        f"{measure_table(comparison, unseen=False)}"
        '<p class="note">Less is better; the best of each column is bold, with what rounds to the same. '
        "Percentages are of the body’s size, E of the motion.</p>"
        f"<h3>Cost, besides the rest pose and the bones that all share</h3>{cost_table(comparison)}"
    )


def _pictures(rows: dict[DeviationKind, tuple[DeviationRow, ...]], kind: DeviationKind) -> str:
    """Unseen poses first: they decide."""
    unseen = [row for row in rows[kind] if not row.trained]
    trained = [row for row in rows[kind] if row.trained]
    return (
        "<p>Colours can be compared along a row; every row has a scale of its own.</p>"
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
