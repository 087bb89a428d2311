"""The charts and tables of levels: error against bones and blends, cost against bones, error against triangles.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, figures 6 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from osteon.lod.model_levels import Level
from osteon.lod.skin_errors import SkinErrors
from osteon.pipeline.level_measures import BoneCosts
from osteon.pipeline.levels import LevelsFit
from osteon.report.charts import Axis, Mark, Series, legend, line_chart
from osteon.report.figures import Figure
from osteon.report.numbers import number, percent
from osteon.report.sections import bytes_text

__all__ = ["blends_word", "bones_figures", "cost_figure", "level_table", "order_table", "triangles_figure"]

#: Lines of one chart that can be told apart.
KINDS = 4
#: Shares of the squared error below this are nothing, and end a line.
LEAST = 1e-6
#: Bones that an order is told by.
FIRST_BONES = 8


def blends_word(blends: int) -> str:
    return f"{blends} blend{'' if blends == 1 else 's'}"


def bones_figures(found: LevelsFit) -> list[Figure]:
    """A chart for every clip, a line for every number of blends (figure 7); the last one is an order for all clips."""
    errors = found.errors
    one = len(errors.clips) == 2
    return [_bones_figure(errors, clip, found.levels.levels) for clip in range(len(errors.clips) - (1 if one else 0))]


def _bones_figure(errors: SkinErrors, clip: int, levels: Sequence[Level]) -> Figure:
    share, rms = 100 * errors.share(clip), 100 * errors.rms(clip)
    shown = sorted({*range(1, min(errors.n_blends, KINDS) + 1), errors.n_blends})[-KINDS:]
    counts = list(range(1, errors.n_bones + 1))
    series = []
    for kind, blends in enumerate(reversed(shown)):
        values = share[1:, blends - 1]
        readouts = [
            f"{n} bones, {blends_word(blends)}: {percent(values[n - 1])} of the squared error, RMS "
            f"{percent(rms[n, blends - 1])} of the body’s size"
            for n in counts
        ]
        series.append(
            Series(blends_word(blends), counts, np.maximum(values, 100 * LEAST).tolist(), readouts, kind=kind)
        )
    name = errors.clips[clip] or "all clips by one order"
    title = f"Error against bones: {name}"
    marks = [Mark(level.bones, f"level {i}", quiet=True) for i, level in enumerate(levels) if i]
    chart = line_chart(
        series,
        title=title,
        x=Axis("active bones", whole=True),
        y=Axis("squared error, % of root only", log="auto"),
        marks=marks,
    )
    half, quarter = (max(1, round(part * errors.n_bones)) for part in (0.5, 0.25))
    note = (
        f"With half of the bones {_left(share[half, -1])} of the squared error is left, with a quarter "
        f"{_left(share[quarter, -1])}."
    )
    head = ("bones", *(f"RMS %, {blends_word(k)}" for k in shown))
    rows = tuple((str(n), *(number(rms[n, k - 1]) for k in shown)) for n in counts)
    return Figure(title, chart, legend(series), note, head, rows)


def _left(share: float) -> str:
    """A share of the error in words."""
    return "less than 0.001\u00a0%" if share < 1e-3 else percent(share)


def cost_figure(costs: BoneCosts) -> Figure:
    """Time that the matrices of a character take (figure 6)."""
    title = "Cost against bones"
    bones, times = costs.bones.tolist(), costs.microseconds.tolist()
    whole = times[-1]
    readouts = [
        f"{b} bones: {number(t)} µs a character, {percent(100 * t / whole)} of all bones"
        for b, t in zip(bones, times, strict=True)
    ]
    line = Series("", bones, times, readouts, dots=True)
    chart = line_chart([line], title=title, x=Axis("active bones", whole=True), y=Axis("µs a character, measured here"))
    note = (
        f"Keys, kinematics and matrices of ‘{costs.clip}’ for a crowd, on one core: {number(whole)} µs a character "
        f"with all bones, {number(times[0])} with one."
    )
    rows = tuple((str(b), number(t), percent(100 * t / whole)) for b, t in zip(bones, times, strict=True))
    return Figure(title, chart, "", note, ("bones", "µs a character", "of all bones"), rows)


def triangles_figure(found: LevelsFit) -> Figure | None:
    """Error of coarser meshes, of those that were offered."""
    if len(found.offered) < 2:
        return None
    size = found.levels.model.diagonal or 1.0
    counts = [offer.triangles for offer in reversed(found.offered)]
    rms = [100 * offer.rms / size for offer in reversed(found.offered)]
    title = "Error against triangles"
    readouts = [f"{t:,} triangles: RMS {percent(e)} of the body’s size" for t, e in zip(counts, rms, strict=True)]
    line = Series("", counts, rms, readouts, dots=True)
    chart = line_chart(
        [line], title=title, x=Axis("triangles", log=True), y=Axis("RMS, % of the body’s size", log="auto")
    )
    note = "Distance between surfaces, both ways, with all bones; those of the levels are fitted besides."
    rows = tuple((f"{t:,}", number(e)) for t, e in zip(counts, rms, strict=True))
    return Figure(title, chart, "", note, ("triangles", "RMS %"), rows)


def level_table(levels: Sequence[Level], sizes: Sequence[int], costs: BoneCosts) -> str:
    """A row for every level: what it computes, how far it is off, for which size, and what it costs."""
    groups = (("computed", 3), ("distance, % of the body’s size", 2), ("motion", 1), ("on the screen", 2), ("cost", 2))
    head = ("bones", "blends", "triangles", "RMS", "worst", "E %", "up to", "worst there", "matrices", "alone")
    starts = {sum(count for _, count in groups[:i]) for i in range(len(groups))}
    begins = [' class="begins"' if i in starts else "" for i in range(len(head))]
    above = "".join(f'<th scope="colgroup" colspan="{count}">{escape(name)}</th>' for name, count in groups)
    top = "".join(f'<th scope="col"{begins[i]}>{escape(name)}</th>' for i, name in enumerate(head))
    body = "".join(
        f'<tr><th scope="row">{i}{" (full)" if i == 0 else ""}</th>'
        + "".join(f"<td{begins[j]}>{escape(text)}</td>" for j, text in enumerate(_cells(level, size, costs)))
        + "</tr>"
        for i, (level, size) in enumerate(zip(levels, sizes, strict=True))
    )
    return (
        '<div class="measures" tabindex="0"><table><thead>'
        f'<tr><td></td>{above}</tr><tr><th scope="col">level</th>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cells(level: Level, size: int, costs: BoneCosts) -> list[str]:
    time = float(np.interp(level.bones, costs.bones, costs.microseconds)) / costs.microseconds[-1]
    seen = (
        [f"{level.pixels:,.0f} px", f"{level.worst_percent / 100 * level.pixels:.1f} px"]
        if level.pixels
        else ["any", ""]
    )
    whole = not level.pixels
    return [
        str(level.bones),
        str(level.blends),
        f"{level.triangles:,}",
        *(["", "", ""] if whole else map(number, (level.rms_percent, level.worst_percent, level.error_percent))),
        *seen,
        f"{100 * time:.0f} %",
        bytes_text(size),
    ]


def order_table(found: LevelsFit) -> str:
    """Which bones come first in every clip, and how many do for an error."""
    errors, names = found.errors, found.levels.model.track.names
    bounds = (1.0, 0.5, 0.1)
    head = ["clip", "form", *(f"bones for {bound:g} %" for bound in bounds), "the first bones"]
    rows = []
    for number_, order in enumerate((*found.levels.skin.orders, found.levels.skin.all_clips)):
        if len(found.levels.skin.orders) == 1 and not order.clip:
            continue
        rms = 100 * errors.rms(number_)[1:, -1]
        fewest = [str(int(np.flatnonzero(rms <= bound)[0]) + 1) if (rms <= bound).any() else "–" for bound in bounds]
        first = ", ".join(names[b] for b in order.order[:FIRST_BONES])
        rows.append([order.clip or "all, by one order", order.form, *fewest, first])
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head[:-1])
    top += f'<th scope="col" class="words">{escape(head[-1])}</th>'
    body = "".join(
        f'<tr>{"".join(f"<td>{escape(cell)}</td>" for cell in row[:-1])}<td class="words">{escape(row[-1])}</td></tr>'
        for row in rows
    )
    return f'<div class="measures" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
