"""Interpenetration as a single HTML file: which frames, how deep, and pictures of the worst ones."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from osteon import __version__
from osteon.apply.collide.interpenetration import FrameOverlap, Overlaps, runs_of
from osteon.core.model import SkinnedModel
from osteon.io.load.source import PathLike, numbered
from osteon.io.save.atomic import atomic_file
from osteon.report.charts import Axis, Mark, Series, line_chart
from osteon.report.collide_gallery import OverlapRow, draw_overlaps
from osteon.report.figures import Figure
from osteon.report.gallery import UpAxis
from osteon.report.page_parts import brief, number, percent, section, table, whole_page
from osteon.report.sections import charts, picture_row

#: Rows of the table, the deepest frames first.
LISTED = 60


def write_overlap_page(path: PathLike, found: Overlaps, models: Sequence[SkinnedModel], *, up: UpAxis = "y") -> None:
    """Write the page; the file appears whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(build_overlap_page(found, models, up=up), encoding="utf-8")


def build_overlap_page(found: Overlaps, models: Sequence[SkinnedModel], *, up: UpAxis = "y") -> str:
    """The whole page as text."""
    names = " and ".join(model.name for model in models) if len(models) > 1 else f"{models[0].name} and itself"
    title = f"{names}: interpenetration"
    rows = draw_overlaps(found, models, up=up)
    figures = [depth_figure(found, models[0]), pairs_figure(found, models[0])] if len(found.frames) > 1 else []
    sections = (
        section("Worst frames", _pictures(rows, models), "pictures"),
        section("Frame by frame", charts(figures), "frames"),
        section("All frames with interpenetration", _table(found, models[0]), "table"),
    )
    return whole_page(
        title,
        f'<header><h1>{escape(title)}</h1><p class="verdict">{_verdict(found)}</p>{_setting(found, models)}</header>'
        f"<main>{''.join(sections)}</main>{_footer()}",
    )


def _verdict(found: Overlaps) -> str:
    worst, searched = found.deepest, numbered(len(found.frames), "frame")
    if worst is None:
        return f'<strong class="good">No triangles intersect</strong> in {searched}.'
    runs = runs_of([one.frame for one in found.found])
    ranges = ", ".join(str(start) if start == stop else f"{start}–{stop}" for start, stop in runs[:8])
    more = f" and {len(runs) - 8} more runs" if len(runs) > 8 else ""
    depth = brief(100 * worst.depth / found.diagonal)
    return (
        f'<strong class="bad">{len(found.found):,} of {searched}</strong> interpenetrate: {ranges}{more}. '
        f"The deepest is frame {worst.frame}, by {depth} of the body’s size."
    )


def _setting(found: Overlaps, models: Sequence[SkinnedModel]) -> str:
    labels = ("A, grey", "B, blue") if len(models) > 1 else ("A",)
    listed = zip(labels, models, strict=True)
    meshes = "; ".join(f"{label}: {escape(model.name)}, {len(model.faces):,} triangles" for label, model in listed)
    return f"<p>{meshes}. The body’s size is the diagonal of A, {number(found.diagonal)} units.</p>"


def _pictures(rows: Sequence[OverlapRow], models: Sequence[SkinnedModel]) -> str:
    if not rows:
        return ""
    columns = "two" if len(models) == 1 else "three"
    hidden = "" if len(models) == 1 else " Each surface is also shown alone, since one hides the other."
    body = "".join(picture_row(row.pictures, columns) for row in rows)
    return f"<p>Triangles that intersect are red; the ring marks the deepest pair.{hidden}</p>{body}"


def _place(frame: int, model: SkinnedModel) -> tuple[str, int]:
    """The clip of a frame, and its number there."""
    clip = next(clip for clip in model.clips if clip.start <= frame < clip.stop)
    return clip.name, frame - clip.start


def _by_frame(found: Overlaps) -> list[tuple[int, FrameOverlap | None]]:
    there = {one.frame: one for one in found.found}
    return [(frame, there.get(frame)) for frame in sorted(set(found.frames))]


def _marks(found: Overlaps, model: SkinnedModel) -> list[Mark]:
    shown = set(found.frames)
    clips = [clip for clip in model.clips if clip.start in shown] if len(model.clips) > 1 else []
    return [Mark(clip.start, clip.name[:14], quiet=True) for clip in clips]


def depth_figure(found: Overlaps, model: SkinnedModel) -> Figure:
    """Depth over the frames that were searched."""
    frames = _by_frame(found)
    depths = [0.0 if one is None else 100 * one.depth / found.diagonal for _, one in frames]
    readouts = [f"frame {f} ({_named(f, model)}): depth {percent(d)}" for (f, _), d in zip(frames, depths, strict=True)]
    line = Series("", [f for f, _ in frames], depths, readouts)
    marks = _marks(found, model)
    worst = found.deepest
    if worst is not None:
        marks.append(Mark(worst.frame, f"deepest: {worst.frame}", 100 * worst.depth / found.diagonal))
    title = "Depth by frame"
    axes = Axis("frame", whole=True), Axis("depth, % of the body’s size")
    note = "How far the deepest corner is inside the other surface; of open surfaces, how far a triangle must move."
    rows = tuple((str(f), _named(f, model), number(d)) for (f, _), d in zip(frames, depths, strict=True))
    chart = line_chart([line], title=title, x=axes[0], y=axes[1], marks=marks)
    return Figure(title, chart, "", note, ("frame", "frame of clip", "depth, % of the body’s size"), rows)


def pairs_figure(found: Overlaps, model: SkinnedModel) -> Figure:
    """Pairs of triangles over the frames that were searched."""
    frames = _by_frame(found)
    pairs = [0.0 if one is None else float(len(one.contacts)) for _, one in frames]
    readouts = [f"frame {f} ({_named(f, model)}): {p:,.0f} pairs" for (f, _), p in zip(frames, pairs, strict=True)]
    line = Series("", [f for f, _ in frames], pairs, readouts)
    title = "Pairs of triangles that intersect, by frame"
    chart = line_chart(
        [line], title=title, x=Axis("frame", whole=True), y=Axis("pairs", whole=True), marks=_marks(found, model)
    )
    rows = tuple((str(f), _named(f, model), f"{p:,.0f}") for (f, _), p in zip(frames, pairs, strict=True))
    note = "Triangles that share a vertex do not count. Each pair is one line along which the surfaces cross."
    return Figure(title, chart, "", note, ("frame", "frame of clip", "pairs"), rows)


def _named(frame: int, model: SkinnedModel) -> str:
    clip, inside = _place(frame, model)
    return f"{clip} {inside}"


def _table(found: Overlaps, model: SkinnedModel) -> str:
    deepest = sorted(found.found, key=lambda one: (-one.depth, one.frame))
    head = ("frame", "frame of clip", "pairs", "triangles of A and B", "depth, %", "deepest pair")
    rows = []
    for one in deepest[:LISTED]:
        at = int(one.contacts.depths.argmax())
        pair = f"{int(one.contacts.triangles[at])} × {int(one.contacts.others[at])}"
        triangles = f"{len(one.triangles):,} + {len(one.others):,}"
        depth = number(100 * one.depth / found.diagonal)
        rows.append((str(one.frame), _named(one.frame, model), f"{len(one.contacts):,}", triangles, depth, pair))
    if not rows:
        return ""
    left = len(deepest) - len(rows)
    more = f'<p class="note">{left:,} less deep frames are in the file of --json.</p>' if left > 0 else ""
    return f"<p>The deepest frames first.</p>{table(head, rows)}{more}"


def _footer() -> str:
    return (
        "<footer><p>Frames of equal number are compared; a second model of one frame stands still.</p>"
        f"<p>Osteon {escape(__version__)}.</p></footer>"
    )
