"""Levels of a model as a single HTML file: a table to decide from, pictures, and what bones and blends cost."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from osteon import __version__
from osteon.core.progress import Progress, report_progress
from osteon.io.load.source import PathLike
from osteon.io.save.atomic import atomic_file
from osteon.lod.model_levels import SCREEN
from osteon.pipeline.level_measures import BoneCosts, measure_costs
from osteon.pipeline.levels import LevelsFit
from osteon.report.gallery import Picture, UpAxis
from osteon.report.lod_figures import (
    blends_word,
    bones_figures,
    cost_figure,
    level_table,
    order_table,
    triangles_figure,
)
from osteon.report.lod_gallery import LevelGallery, draw_levels
from osteon.report.numbers import brief, number
from osteon.report.page_parts import section, whole_page
from osteon.report.sections import charts, picture_row

__all__ = ["build_levels_page", "write_levels_page"]

#: Classes of the style sheet by the number of pictures in a row.
COLUMNS = {1: "two", 2: "two", 3: "three", 4: "four", 5: "five"}
#: Charts of clips that are shown at once; the others are behind a line.
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
    """Write the page of some levels; the file appears whole or not at all. `sizes` are bytes of each level alone."""
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
        section("What they look like", _pictures(gallery), "pictures"),
        section("Error against bones and blends", _errors(found), "errors"),
        section("Which bones come first", _orders(found), "orders"),
        section("What they cost", _costs(found, costs), "costs"),
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
    """The coarsest level in a sentence."""
    levels, model = found.levels.levels, found.levels.model
    last, first = levels[-1], levels[0]
    if len(levels) == 1 or (last.bones, last.blends, last.mesh) == (first.bones, first.blends, first.mesh):
        return "Nothing can be left out within what was asked for."
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
        "on the screen while the RMS is below a pixel, and how far the worst vertex is off then. Matrices: the time to "
        "prepare them, measured. Alone: the bytes of the level as a .glb of its own, its textures included, as "
        "<code>--bake-level</code> writes it.</p>"
    )


def _pictures(gallery: LevelGallery) -> str:
    columns = COLUMNS[len(gallery.meshes)]
    text = (
        f"<p>Frame {gallery.frame} of ‘{escape(gallery.clip)}’, the one farthest from the rest pose: the mesh of every "
        "level, then the bones that it computes. Bones that are not drawn follow one that is.</p>"
        f"{picture_row(gallery.meshes, columns)}{picture_row(gallery.skeletons, columns)}"
    )
    if not gallery.sizes:
        return text
    pairs = "".join(map(_at_true_size, gallery.sizes))
    return (
        f"{text}<h3>At the size that each is for</h3>"
        "<p>The model on the left, the level on the right, pixel for pixel, "
        "unless that is more than the page can show.</p>"
        f'<div class="actual">{pairs}</div>'
    )


def _at_true_size(picture: Picture) -> str:
    return picture_row([picture], "actual-one").replace(' class="pictures actual-one"', "")


def _errors(found: LevelsFit) -> str:
    figures = bones_figures(found)
    shown, rest = figures[:SHOWN_CLIPS], figures[SHOWN_CLIPS:]
    text = (
        "<p>What is left of the squared error of “only the root moves, and all bones copy it”, by how many bones are "
        "active and how many of them a vertex blends. Dotted lines stand at the levels.</p>"
        f"{charts(shown)}"
    )
    if not rest:
        return text
    return f"{text}<details><summary>{len(rest)} more clips</summary>{charts(rest)}</details>"


def _orders(found: LevelsFit) -> str:
    return (
        "<p>How many bones each clip needs for an RMS error of so many percent of the body’s size, and which are "
        f"activated first.</p>{order_table(found)}"
    )


def _costs(found: LevelsFit, costs: BoneCosts) -> str:
    mesh = triangles_figure(found)
    return charts([cost_figure(costs), *([] if mesh is None else [mesh])])


def _footer() -> str:
    return (
        "<footer><p>The body’s size is the diagonal of the rest pose’s bounding box, as large as the body plays. "
        f"In the file a mesh’s size on the screen is told as a part of {number(SCREEN)} lines.</p>"
        f"<p>Osteon {escape(__version__)}.</p></footer>"
    )
