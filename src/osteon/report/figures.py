"""The charts of a report that say where and when the error is: what each shows, its words, the table of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.sequence import MeshSequence
from osteon.measure.distortion import Distortion
from osteon.report.charts import Axis, Bar, Mark, Series, bar_chart, line_chart
from osteon.report.evidence import BoneShare
from osteon.report.numbers import number, percent, share
from osteon.report.picture import bone_colors

__all__ = ["Figure", "frames_figure", "motion_figure", "shares_figure", "vertices_figure"]

#: Points of a curve at most; more would not be seen, and make the file large.
MOST_POINTS = 240
#: Bones that get a bar of their own.
MOST_BARS = 10

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its words and its numbers."""

    title: str
    chart: str  # SVG
    legend: str  # HTML
    note: str
    head: Row
    rows: tuple[Row, ...]


def frames_figure(distortion: Distortion, sequence: MeshSequence) -> Figure:
    """RMS error of every frame."""
    errors, diagonal = distortion.per_frame, max(sequence.diagonal, 1e-300)
    shown = _crests(errors)
    relative = 100 * errors / diagonal
    readouts = [_frame_readout(sequence, f, errors[f], relative[f]) for f in shown]
    line = Series("", shown, [float(relative[f]) for f in shown], readouts)
    worst = int(errors.argmax())
    marks = [*_clip_marks(sequence), Mark(worst, f"largest: {worst}", float(relative[worst]))]
    axes = Axis("frame", whole=True), Axis("RMS, % of the body’s size")
    title = "Error by frame"
    top = f"{number(errors[worst])} units, {percent(relative[worst])} of the body’s size"
    note = f"The frame with the largest RMS is {worst}: {top}."
    rows = tuple((str(f), sequence.clip_of_frame(f).name, number(errors[f]), number(relative[f])) for f in shown)
    chart = line_chart([line], title=title, x=axes[0], y=axes[1], marks=marks)
    return Figure(title, chart, "", note, ("frame", "clip", "RMS, units", "RMS, % of the body’s size"), rows)


def motion_figure(steps: Float64, sequence: MeshSequence, jumps: Sequence[int]) -> Figure:
    """How far the source moves from frame to frame, where it jumps marked."""
    known = np.nan_to_num(steps)
    shown = [f for f in _crests(known) if np.isfinite(steps[f])]
    relative = 100 * known / max(sequence.diagonal, 1e-300)
    readouts = [_frame_readout(sequence, f, known[f], relative[f]) for f in shown]
    line = Series("", shown, [float(relative[f]) for f in shown], readouts)
    marks = _clip_marks(sequence) + [Mark(f, f"jump: {f}", float(relative[f])) for f in jumps[:3]]
    title = "Motion of the source by frame"
    axes = Axis("frame", whole=True), Axis("RMS step from the frame before, % of the body’s size")
    usual = float(np.median(relative[known > 0])) if known.any() else 0.0
    note = f"A step is {percent(usual)} of the body’s size, usually. "
    note += "A jump that stands out is marked." if jumps else "No frame jumps."
    rows = tuple((str(f), number(known[f]), number(relative[f])) for f in shown)
    chart = line_chart([line], title=title, x=axes[0], y=axes[1], marks=marks)
    return Figure(title, chart, "", note, ("frame", "step, units", "step, % of the body’s size"), rows)


def _clip_marks(sequence: MeshSequence) -> list[Mark]:
    clips = sequence.clips if len(sequence.clips) > 1 else ()
    return [Mark(clip.start, clip.name[:14], quiet=True) for clip in clips]


def _crests(values: Float64) -> list[int]:
    """Indices to show: all, or of every run of neighbours the one with the largest value."""
    step = -(-len(values) // MOST_POINTS)
    return [start + int(values[start : start + step].argmax()) for start in range(0, len(values), step)]


def _frame_readout(sequence: MeshSequence, frame: int, units: float, relative: float) -> str:
    clip = f" ({sequence.clip_of_frame(frame).name})" if len(sequence.clips) > 1 else ""
    return f"frame {frame}{clip}: {number(units)} units, {percent(relative)} of the body’s size"


def vertices_figure(distortion: Distortion, diagonal: float) -> Figure:
    """RMS error of every vertex over all frames, sorted."""
    relative = np.sort(100 * distortion.per_vertex / max(diagonal, 1e-300))
    at = np.linspace(0, 100, min(101, max(2, len(relative))))
    values = np.percentile(relative, at)
    readouts = [
        f"{s:.0f} % of the vertices: at most {percent(v)} of the body’s size" for s, v in zip(at, values, strict=True)
    ]
    line = Series("", at.tolist(), values.tolist(), readouts)
    title = "Error by vertex, sorted"
    half, most = np.percentile(relative, [50, 99])
    note = f"Half of the vertices are within {percent(half)}, 99 % of them within {percent(most)} of the body’s size."
    axes = Axis("% of the vertices"), Axis("RMS over all frames, % of the body’s size")
    chart = line_chart([line], title=title, x=axes[0], y=axes[1], marks=[Mark(99, "99 %", quiet=True)])
    chosen = (0, 25, 50, 75, 90, 95, 99, 100)
    rows = tuple((f"{c} %", number(float(v))) for c, v in zip(chosen, np.percentile(relative, chosen), strict=True))
    return Figure(title, chart, "", note, ("part of the vertices", "RMS at most, % of the body’s size"), rows)


def shares_figure(shares: Sequence[BoneShare], n_bones: int) -> Figure:
    """Which bones hold the error."""
    shown = shares[:MOST_BARS]
    colors = (255 * bone_colors(n_bones)).round().astype(int)
    bars = [
        Bar(
            str(s.bone),
            100 * s.error,
            f"bone {s.bone}: {share(s.error)} of the squared error, {share(s.vertices)} of the mesh",
            "rgb({},{},{})".format(*colors[s.bone]),
        )
        for s in shown
    ]
    title = "Error by bone"
    top = shown[0]
    note = f"Bone {top.bone} holds {share(top.error)} of the squared error and moves {share(top.vertices)} of the mesh."
    chart = bar_chart(bars, title=title, x=Axis("bone, numbered as in the picture"), y=Axis("% of the squared error"))
    rows = tuple((str(s.bone), share(s.error), share(s.vertices), str(s.vertex)) for s in shares)
    return Figure(title, chart, "", note, ("bone", "of the error", "of the mesh", "its worst vertex"), rows)
