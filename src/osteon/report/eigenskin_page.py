"""A fitted EigenSkin as a single HTML file: poses before and after, supports, singular values, errors.

Based on: Kry, James and Pai, EigenSkin, 2002, figures 3, 5 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from osteon import __version__
from osteon.pipeline.eigenskin import LearnedSkin, PoseErrors
from osteon.report.charts import Axis, Mark, Series, legend, line_chart
from osteon.report.eigenskin_gallery import EigenSkinGallery, draw_eigenskin
from osteon.report.figures import Figure
from osteon.report.gallery import UpAxis
from osteon.report.page_parts import brief, number, percent, section, table, whole_page
from osteon.report.sections import ScaleWords, charts, heat_scale, picture_row

#: Lines in one chart.
KINDS = 4
#: Pictures of single supports in the page; further ones are collapsed.
SUPPORTS = 8
#: Singular values shown of a driver.
VALUES = 12
WORDS = ScaleWords(more="Darker is worse.")
_STYLE = """
.joints-key { display: flex; flex-wrap: wrap; gap: .2rem 1rem; list-style: none; padding: 0; margin: .6rem 0; }
.joints-key i { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .4em; }
"""


def write_eigenskin_page(learned: LearnedSkin, facts: Mapping[str, Any], path: Path, *, up: UpAxis = "y") -> None:
    """Write the page; `facts` are those of the JSON report."""
    path.write_text(build_eigenskin_page(learned, facts, up=up), encoding="utf-8")


def build_eigenskin_page(learned: LearnedSkin, facts: Mapping[str, Any], *, up: UpAxis = "y") -> str:
    """The whole page as text."""
    gallery = draw_eigenskin(learned, up=up, threads=learned.options.threads)
    name = learned.model.name
    notes = "".join(f"<li>{escape(note[:1].upper() + note[1:])}.</li>" for note in facts["warnings"])
    sections = (
        section("Before and after", _poses(learned, gallery), "poses"),
        section("Supports", _supports(learned, gallery), "supports"),
        section("Singular values", _singular(learned, facts), "singular"),
        section("Error against number", _ladder(learned, facts), "ladder"),
        section("Every pose", _every_pose(learned), "every"),
    )
    head = (
        f'<header><h1>{escape(name)}: corrections that follow the joints</h1><p class="verdict">{_verdict(learned)}</p>'
        + (f'<ul class="findings">{notes}</ul>' if notes else "")
        + "</header>"
    )
    return whole_page(f"{name}: EigenSkin", f"{head}<main>{''.join(sections)}</main>{_footer()}", _STYLE)


def _verdict(learned: LearnedSkin) -> str:
    judged, unseen = learned.validation or learned.training, learned.validation is not None
    removed = 100 * float(judged.removed.mean())
    grade = "good" if removed >= 80 else "fair" if removed >= 50 else "bad"
    before, after = (100 * float(rms.mean()) / judged.diagonal for rms in (judged.skin, judged.corrected))
    poses = f"{len(judged.names)} {'unseen' if unseen else 'learned'} pose{'s' if len(judged.names) > 1 else ''}"
    more = "" if unseen else " No pose was kept to validate the result."
    return (
        f'{learned.displacement.rank} eigendisplacements remove <strong class="{grade}">{brief(removed)} of the skin’s '
        f"error</strong> in {poses}: {brief(before)} of the body’s size (RMS) become {brief(after)}. They were learned "
        f"from {len(learned.training.names)} poses.{more}"
    )


def _poses(learned: LearnedSkin, gallery: EigenSkinGallery) -> str:
    which = "Unseen poses" if learned.validation is not None else "Learned poses"
    rows = "".join(
        f"<h3>{escape(row.name)}</h3>{picture_row(row.pictures, 'three')}{picture_row(row.heat, 'three')}"
        for row in gallery.poses
    )
    return (
        f"<p>{which} in which the skin is farthest from the given mesh: the skin alone, with EigenSkin, and the given "
        f"mesh. Errors below have one scale.</p>{heat_scale(gallery.maximum, 'Distance', WORDS)}{rows}"
    )


def _supports(learned: LearnedSkin, gallery: EigenSkinGallery) -> str:
    key = "".join(
        f'<li><i style="background: rgb({r},{g},{b})"></i>{escape(name)}</li>'
        for name, (r, g, b) in zip(
            _joint_names(learned), (255 * gallery.colors).round().astype(int).tolist(), strict=True
        )
    )
    first, rest = gallery.each[:SUPPORTS], gallery.each[SUPPORTS:]
    more = f"<details><summary>{len(rest)} more joints</summary>{picture_row(rest, 'four')}</details>" if rest else ""
    return (
        f"<p>The support of a joint: vertices that it displaces by more than {brief(100 * learned.options.threshold)} "
        "of its longest displacement. Colours mix where supports overlap; grey vertices follow the skin alone.</p>"
        f'{picture_row(gallery.supports, "two")}<ul class="joints-key">{key}</ul>'
        f"<p>Each joint alone, in full colour where it displaces most.</p>{picture_row(first, 'four')}{more}"
    )


def _joint_names(learned: LearnedSkin) -> list[str]:
    """Joints of the bases of single joints."""
    names, settings = learned.model.track.names, learned.fit.settings
    return [names[int(settings.joints[b.field.joints[0]])] for b in learned.fit.bases if not b.is_pair]


def _singular(learned: LearnedSkin, facts: Mapping[str, Any]) -> str:
    drivers = [*facts["method"]["joints"], *facts["method"]["pairs"]]
    strongest = sorted(drivers, key=lambda row: -_energy(row))[:KINDS]
    series = []
    for kind, row in enumerate(strongest):
        values = np.array(row["singular_values"][:VALUES]) / max(row["singular_values"][0], 1e-300)
        shown = values[values > 1e-6]
        series.append(
            Series(" + ".join(row["joints"]), list(range(1, len(shown) + 1)), shown.tolist(), dots=True, kind=kind)
        )
    title = "Singular values of the strongest drivers"
    axes = Axis("eigendisplacement", whole=True), Axis("over the first", log="auto")
    rows = [
        (
            " + ".join(row["joints"]),
            str(row["settings"]),
            f"{row['support']:,}",
            number(row["longest_displacement"]),
            str(row["eigendisplacements"]),
            ", ".join(number(value) for value in row["singular_values"][:3]),
        )
        for row in drivers
    ]
    head = ("joint or pair", "settings", "vertices", "longest displacement", "columns", "first singular values")
    note = "How fast the displacements of a driver are used up: each value over the first one of the same driver."
    numbers = tuple((s.name, ", ".join(number(v) for v in s.y)) for s in series)
    figure = Figure(
        title,
        line_chart(series, title=title, x=axes[0], y=axes[1]),
        legend(series),
        note,
        ("driver", "values"),
        numbers,
    )
    return charts([figure]) + table(head, rows)


def _energy(row: Mapping[str, Any]) -> float:
    return float(np.square(row["singular_values"]).sum())


def _ladder(learned: LearnedSkin, facts: Mapping[str, Any]) -> str:
    rungs = facts["ladder"]
    if len(rungs) < 2:
        return ""
    x, y = [float(rung["value"]) for rung in rungs], [100 * float(rung["relative_error"]) for rung in rungs]
    title = "Error of the skin that is left"
    chosen = learned.options.per_joint if not (learned.options.total or learned.options.max_error) else None
    marks = [] if chosen is None or chosen >= len(y) else [Mark(float(chosen), f"{chosen} per joint", y[chosen])]
    figure = Figure(
        title,
        line_chart(
            [Series("poses of single joints", x, y, dots=True)],
            title=title,
            x=Axis("eigendisplacements per joint and axis", whole=True),
            y=Axis("% left", log="auto"),
            marks=marks,
        ),
        "",
        "In the learned poses of single joints, on their supports, without a limit per vertex.",
        ("per joint", "% left"),
        tuple((f"{a:.0f}", number(b)) for a, b in zip(x, y, strict=True)),
    )
    return charts([figure])


def _every_pose(learned: LearnedSkin) -> str:
    doubts = {doubt.pose: doubt for doubt in learned.doubts}
    rows = [
        row
        for word, errors in (("unseen", learned.validation), ("learned", learned.training))
        if errors is not None
        for row in _pose_rows(word, errors, {name: doubt.cause for name, doubt in doubts.items()})
    ]
    head = ("pose", "", "skin", "corrected", "removed", "at best", "doubt")
    return (
        "<p>RMS distance from the given mesh in percent of the body’s size; at best: what the same columns could "
        f"remove with the best coefficients for that pose.</p>{table(head, rows)}"
    )


def _pose_rows(word: str, errors: PoseErrors, doubts: Mapping[str, str]) -> list[Sequence[str]]:
    return [
        (
            name,
            word,
            percent(100 * skin / errors.diagonal),
            percent(100 * corrected / errors.diagonal),
            percent(round(100 * removed, 1)),
            percent(round(100 * limit, 1)),
            doubts.get(name, ""),
        )
        for name, skin, corrected, removed, limit in zip(
            errors.names, errors.skin, errors.corrected, errors.removed, errors.limit, strict=True
        )
    ]


def _footer() -> str:
    return (
        "<footer><p>The body’s size is the diagonal of the rest pose’s bounding box.</p>"
        f"<p>Osteon {escape(__version__)}.</p></footer>"
    )
