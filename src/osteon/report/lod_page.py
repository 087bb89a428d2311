"""Levels of a model as a single HTML file: a table, pictures, and the error and cost of bones, blends and triangles.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, figures 6 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from osteon import __version__
from osteon.core.progress import Progress, report_progress
from osteon.io.load.source import PathLike
from osteon.io.save.atomic import atomic_file
from osteon.lod.model_levels import SCREEN, Level
from osteon.lod.options import FARTHEST
from osteon.lod.search.level_errors import SkinErrors
from osteon.pipeline.level_measures import BoneCosts, measure_costs
from osteon.pipeline.levels import LevelsFit
from osteon.report.charts import Axis, Mark, Series, legend, line_chart
from osteon.report.figures import Figure
from osteon.report.gallery import Picture, UpAxis
from osteon.report.lod_gallery import LevelGallery, blends_word, draw_levels
from osteon.report.page_parts import brief, grouped_table, number, percent, section, whole_page
from osteon.report.sections import bytes_text, charts, picture_row

#: Classes of the style sheet by the number of pictures in a row.
COLUMNS = {1: "two", 2: "two", 3: "three", 4: "four", 5: "five"}
#: Charts of clips that are expanded; the others are collapsed.
SHOWN_CLIPS = 6

_STYLE = """
.actual { display: flex; flex-wrap: wrap; align-items: flex-end; gap: 1.2rem 1.6rem; margin: 1rem 0; }
.actual .frame img { width: auto; max-width: 100%; }
.measures .words { text-align: left; white-space: normal; min-width: 18rem; }
details .charts { font-size: 1rem; }
"""


def write_levels_page(
    path: PathLike, found: LevelsFit, sizes: Sequence[int], *, up: UpAxis = "y", progress: Progress | None = None
) -> None:
    """Write the page; the file appears whole or not at all. `sizes` are bytes of each level as a single file."""
    report_progress(progress, "draw", 0.0)
    text = build_levels_page(found, sizes, up=up)
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def build_levels_page(found: LevelsFit, sizes: Sequence[int], *, up: UpAxis = "y") -> str:
    """The whole page as text."""
    costs = measure_costs(found.levels)
    gallery = draw_levels(found.levels, up=up, threads=found.options.threads)
    name = found.levels.model.name
    notes = "".join(f"<li>{escape(_sentence(note))}</li>" for note in found.notes)
    sections = (
        section("The levels", _table(found, sizes, costs), "levels"),
        section("Pictures", _pictures(gallery), "pictures"),
        section("Error against bones and blends", _errors(found), "errors"),
        section("Which bones come first", _orders(found), "orders"),
        section("Cost", _costs(found, costs), "costs"),
    )
    head = (
        f'<header><h1>{escape(name)}: levels of detail</h1><p class="verdict">{_verdict(found)}</p>'
        + (f'<ul class="findings">{notes}</ul>' if notes else "")
        + "</header>"
    )
    return whole_page(f"{name}: levels", f"{head}<main>{''.join(sections)}</main>{_footer()}", _STYLE)


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


def _verdict(found: LevelsFit) -> str:
    """A sentence about the coarsest level."""
    levels, model = found.levels.levels, found.levels.model
    last, first = levels[-1], levels[0]
    if len(levels) == 1 or (last.bones, last.blends, last.mesh) == (first.bones, first.blends, first.mesh):
        return "Nothing can be removed within the requested bounds."
    size = f", less than a pixel while the body is no larger than {last.pixels:,.0f} pixels" if last.pixels else ""
    bones = f'<strong class="good">{last.bones} of {first.bones} bones</strong>'
    return (
        f"The coarsest of {len(levels)} levels computes {bones}, {blends_word(last.blends)} and "
        f"{last.triangles:,} of {len(model.faces):,} triangles. It is off by "
        f"{brief(last.rms_percent)} of the body’s size (RMS){size}."
    )


def _table(found: LevelsFit, sizes: Sequence[int], costs: BoneCosts) -> str:
    return (
        f"{level_table(found.levels.levels, sizes, costs)}"
        '<p class="note">RMS: root mean square distance of all vertices in all frames of the worst clip. Worst: no '
        "vertex is farther off in any frame. E: of bones and blends, in percent of the motion. Up to: the body’s size "
        f"on the screen while the RMS is below a pixel and no vertex is off by more than {FARTHEST:.0f} pixels, "
        "and how far the worst vertex is off then. Matrices: the time to prepare them, measured. Alone: the bytes of a "
        ".glb with only this level, its textures included, as <code>--bake-level</code> writes it.</p>"
    )


def _pictures(gallery: LevelGallery) -> str:
    columns = COLUMNS[len(gallery.meshes)]
    text = (
        f"<p>Frame {gallery.frame} of ‘{escape(gallery.clip)}’, the one farthest from the rest pose: the mesh of every "
        "level, then the bones that it computes. Bones that are not drawn follow one that is drawn.</p>"
        f"{picture_row(gallery.meshes, columns)}{picture_row(gallery.skeletons, columns)}"
    )
    if not gallery.sizes:
        return text
    pairs = "".join(map(_at_true_size, gallery.sizes))
    return (
        f"{text}<h3>At the intended size</h3>"
        "<p>The model on the left, the level on the right, pixel for pixel, "
        "unless the page is too small.</p>"
        f'<div class="actual">{pairs}</div>'
    )


def _at_true_size(picture: Picture) -> str:
    return picture_row([picture], "actual-one").replace(' class="pictures actual-one"', "")


def _errors(found: LevelsFit) -> str:
    figures = bones_figures(found)
    shown, rest = figures[:SHOWN_CLIPS], figures[SHOWN_CLIPS:]
    text = (
        "<p>The residual squared error, relative to “only the root moves, and all bones copy it”, by the number of "
        "active bones and of blends per vertex. Dotted lines mark the levels.</p>"
        f"{charts(shown)}"
    )
    if not rest:
        return text
    return f"{text}<details><summary>{len(rest)} more clips</summary>{charts(rest)}</details>"


def _orders(found: LevelsFit) -> str:
    return (
        "<p>The number of bones each clip needs for an RMS error in percent of the body’s size, and the bones that are "
        f"activated first.</p>{order_table(found)}"
    )


def _costs(found: LevelsFit, costs: BoneCosts) -> str:
    mesh = triangles_figure(found)
    return charts([cost_figure(costs), *([] if mesh is None else [mesh])])


def _footer() -> str:
    return (
        "<footer><p>The body’s size is the diagonal of the rest pose’s bounding box, at the size of the animated body. "
        f"In the file the size of a mesh on the screen is a fraction of {number(SCREEN)} lines.</p>"
        f"<p>Osteon {escape(__version__)}.</p></footer>"
    )


#: Number of distinguishable lines in one chart.
KINDS = 4
#: Smaller shares of the squared error count as zero and end a line.
LEAST = 1e-6
#: Bones listed of each order.
FIRST_BONES = 8


def bones_figures(found: LevelsFit) -> list[Figure]:
    """One chart per clip, one line per number of blends (figure 7); the last chart is one order for all clips."""
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
        f"With half of the bones {_left(share[half, -1])} of the squared error remains, with a quarter "
        f"{_left(share[quarter, -1])}."
    )
    head = ("bones", *(f"RMS %, {blends_word(k)}" for k in shown))
    rows = tuple((str(n), *(number(rms[n, k - 1]) for k in shown)) for n in counts)
    return Figure(title, chart, legend(series), note, head, rows)


def _left(share: float) -> str:
    """A residual share of the error in words."""
    return "less than 0.001\u00a0%" if share < 1e-3 else percent(share)


def cost_figure(costs: BoneCosts) -> Figure:
    """Time to compute the matrices of a character (figure 6)."""
    title = "Cost against bones"
    bones, times = costs.bones.tolist(), costs.microseconds.tolist()
    whole = times[-1]
    readouts = [
        f"{b} bones: {number(t)} µs per character, {percent(100 * t / whole)} of all bones"
        for b, t in zip(bones, times, strict=True)
    ]
    line = Series("", bones, times, readouts, dots=True)
    chart = line_chart(
        [line], title=title, x=Axis("active bones", whole=True), y=Axis("µs per character, measured here")
    )
    note = (
        f"Keys, kinematics and matrices of ‘{costs.clip}’ for a crowd, on one core: {number(whole)} µs per character "
        f"with all bones, {number(times[0])} with one."
    )
    rows = tuple((str(b), number(t), percent(100 * t / whole)) for b, t in zip(bones, times, strict=True))
    return Figure(title, chart, "", note, ("bones", "µs per character", "of all bones"), rows)


def triangles_figure(found: LevelsFit) -> Figure | None:
    """Error of the simplified meshes."""
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
    note = "Symmetric distance between surfaces, with all bones; the meshes of the levels are fitted in addition."
    rows = tuple((f"{t:,}", number(e)) for t, e in zip(counts, rms, strict=True))
    return Figure(title, chart, "", note, ("triangles", "RMS %"), rows)


def level_table(levels: Sequence[Level], sizes: Sequence[int], costs: BoneCosts) -> str:
    """One row per level: what it computes, its error, the size it is meant for, and its cost."""
    groups = (("computed", 3), ("distance, % of the body’s size", 2), ("motion", 1), ("on the screen", 2), ("cost", 2))
    head = ("bones", "blends", "triangles", "RMS", "worst", "E %", "up to", "worst there", "matrices", "alone")
    rows = [
        (f"{i}{' (full)' if i == 0 else ''}", [escape(text) for text in _cells(level, size, costs)])
        for i, (level, size) in enumerate(zip(levels, sizes, strict=True))
    ]
    return grouped_table(groups, head, "level", rows)


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
    """The first bones of every clip, and the number of bones that reach an error."""
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
