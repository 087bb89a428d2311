"""The charts of a report, each with its note and the table of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.character import Skin
from osteon.core.sequence import MeshSequence
from osteon.measure.distortion import Distortion
from osteon.measure.skin_report import SkinReport
from osteon.report.advice import BoneShare
from osteon.report.charts import Axis, Bar, Mark, Series, bar_chart, legend, line_chart
from osteon.report.curves import ReportCurves
from osteon.report.page_parts import number, percent, share
from osteon.report.picture import bone_colors

#: Largest number of points of a curve; more are invisible and enlarge the file.
MOST_POINTS = 240
#: Largest number of bones in a bar chart.
MOST_BARS = 10

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its note and its numbers."""

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
    """The motion of the source from frame to frame, with marked jumps."""
    known = np.nan_to_num(steps)
    shown = [f for f in _crests(known) if np.isfinite(steps[f])]
    relative = 100 * known / max(sequence.diagonal, 1e-300)
    readouts = [_frame_readout(sequence, f, known[f], relative[f]) for f in shown]
    line = Series("", shown, [float(relative[f]) for f in shown], readouts)
    marks = _clip_marks(sequence) + [Mark(f, f"jump: {f}", float(relative[f])) for f in jumps[:3]]
    title = "Motion of the source by frame"
    axes = Axis("frame", whole=True), Axis("RMS step from the frame before, % of the body’s size")
    usual = float(np.median(relative[known > 0])) if known.any() else 0.0
    note = f"The median step is {percent(usual)} of the body’s size. "
    note += "Jumps are marked." if jumps else "There are no jumps."
    rows = tuple((str(f), number(known[f]), number(relative[f])) for f in shown)
    chart = line_chart([line], title=title, x=axes[0], y=axes[1], marks=marks)
    return Figure(title, chart, "", note, ("frame", "step, units", "step, % of the body’s size"), rows)


def _clip_marks(sequence: MeshSequence) -> list[Mark]:
    clips = sequence.clips if len(sequence.clips) > 1 else ()
    return [Mark(clip.start, clip.name[:14], quiet=True) for clip in clips]


def _crests(values: Float64) -> list[int]:
    """Indices to show: all, or the largest value of every run of neighbours."""
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
    """The share of the error per bone."""
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
    note = f"Bone {top.bone} has {share(top.error)} of the squared error and moves {share(top.vertices)} of the mesh."
    chart = bar_chart(bars, title=title, x=Axis("bone, numbered as in the picture"), y=Axis("% of the squared error"))
    rows = tuple((str(s.bone), share(s.error), share(s.vertices), str(s.vertex)) for s in shares)
    return Figure(title, chart, "", note, ("bone", "of the error", "of the mesh", "its worst vertex"), rows)


# The paper's figures for one asset: 5 (bones by tolerance), 7 (sorted weights), 13 (by rank).
#
# Based on: James and Twigg, Skinning Mesh Animations, 2005.

#: Smaller weights have no visible effect.
USED_WEIGHT = 0.01


def rank_figure(report: SkinReport) -> Figure | None:
    """Figure 13 of the paper: E of the model truncated to fewer corrections; None without corrections."""
    pairs = sorted((int(rank), error) for rank, error in report.error_percent_by_rank.items())
    if len(pairs) < 2:
        return None
    readouts = [f"rank {rank}: E {percent(error)}" for rank, error in pairs]
    line = Series("", [p[0] for p in pairs], [p[1] for p in pairs], readouts, dots=True)
    title = "Error by rank of the corrections"
    note = (
        f"The model can be truncated to fewer corrections: E is {percent(pairs[0][1])} without any and "
        f"{percent(pairs[-1][1])} with all {pairs[-1][0]}. A fit with a lower rank is closer than this truncation "
        "(the paper's figure 13)."
    )
    axes = Axis("rank", whole=True), Axis("E, % of the motion", log="auto")
    chart = line_chart([line], title=title, x=axes[0], y=axes[1])
    return Figure(title, chart, "", note, ("rank", "E, %"), tuple((str(r), number(e)) for r, e in pairs))


def tolerance_figure(report: SkinReport, curves: ReportCurves) -> Figure | None:
    """Figure 5 of the paper: number of bones from mean shift, against its tolerance."""
    points = curves.tolerances
    if len(points) < 2 or not any(p.bones for p in points):
        return None
    readouts = [
        f"tolerance {number(p.tolerance)}: {p.bones} bones, {share(p.near_rigid_fraction)} of the triangles near-rigid"
        for p in points
    ]
    line = Series("", [p.tolerance for p in points], [p.bones for p in points], readouts, dots=True)
    title = "Bones found by tolerance"
    note = (
        "Groups of triangles with similar rotations, by the tolerance of the similarity, on a sample (the paper's "
        f"figure 5). Near-rigid at {number(report.tolerance)}: {share(report.near_rigid_fraction)} of the triangles."
    )
    marks = [Mark(report.tolerance, f"used: {number(report.tolerance)}", quiet=True)]
    axes = Axis("tolerance, eps: entries of a rotation matrix", log=True), Axis("bones", whole=True)
    chart = line_chart([line], title=title, x=axes[0], y=axes[1], marks=marks)
    rows = tuple((number(p.tolerance), str(p.bones), share(p.near_rigid_fraction)) for p in points)
    return Figure(title, chart, "", note, ("tolerance", "bones", "near-rigid"), rows)


def weights_figure(skin: Skin) -> Figure:
    """Figure 7 of the paper: the largest, second largest, … weight of every vertex, each sorted."""
    weights = -np.sort(-skin.weights.astype(np.float64), axis=1)[:, :8]
    at = np.linspace(0, 100, min(101, max(2, len(weights))))
    names = ["largest", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"][: weights.shape[1]]
    lines = [
        Series(name, at.tolist(), np.percentile(weights[:, k], 100 - at).tolist(), kind=k % 4)
        for k, name in enumerate(names)
    ]
    title = "Weights, sorted"
    lowest = float(weights.min())
    note = f"On average the largest weight of a vertex is {weights[:, 0].mean():.2f}" + (
        "; no weight is negative (the paper's figure 7)."
        if lowest >= 0
        else f"; the most negative is {lowest:.2f}, a sign of over-fitting (the paper's figure 7)."
    )
    chart = line_chart(lines, title=title, x=Axis("% of the vertices"), y=Axis("weight, of 1"))
    rows = tuple(
        (name, f"{column.mean():.3f}", f"{column.min():.3f}", f"{column.max():.3f}")
        for name, column in zip(names, weights.T, strict=True)
    )
    return Figure(title, chart, legend(lines), note, ("weight", "mean", "least", "most"), rows)


def influences_figure(skin: Skin) -> Figure:
    """The number of bones per vertex."""
    used = np.maximum(1, (np.abs(skin.weights) > USED_WEIGHT).sum(axis=1))
    counts = np.bincount(used, minlength=skin.n_influences + 1)[1:]
    part = counts / max(1, counts.sum())
    bars = [
        Bar(str(k + 1), 100 * float(part[k]), f"{k + 1} bones: {counts[k]:,} vertices, {share(float(part[k]))}")
        for k in range(len(counts))
    ]
    title = "Bones per vertex"
    note = (
        f"A vertex follows {float(used.mean()):.2f} bones on average, not counting weights below "
        f"{percent(100 * USED_WEIGHT)}."
    )
    chart = bar_chart(bars, title=title, x=Axis("bones that move the vertex"), y=Axis("% of the vertices"))
    rows = tuple((str(k + 1), f"{counts[k]:,}", share(float(part[k]))) for k in range(len(counts)))
    return Figure(title, chart, "", note, ("bones", "vertices", "of all"), rows)
