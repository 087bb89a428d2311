"""The paper's figures for one asset: 5 (bones by tolerance), 7 (sorted weights), 13 (by rank).

Based on: James and Twigg, Skinning Mesh Animations, 2005.
"""

from __future__ import annotations

import numpy as np

from osteon.core.skin import Skin
from osteon.measure.skin_report import SkinReport
from osteon.report.charts import Axis, Bar, Mark, Series, bar_chart, legend, line_chart
from osteon.report.curves import ReportCurves
from osteon.report.figures import Figure
from osteon.report.numbers import number, percent, share

__all__ = ["influences_figure", "rank_figure", "tolerance_figure", "weights_figure"]

#: A weight below this moves little that can be seen.
USED_WEIGHT = 0.01


def rank_figure(report: SkinReport) -> Figure | None:
    """Figure 13 of the paper: E of the model cut to fewer corrections; nothing where it has none."""
    pairs = sorted((int(rank), error) for rank, error in report.error_percent_by_rank.items())
    if len(pairs) < 2:
        return None
    readouts = [f"rank {rank}: E {percent(error)}" for rank, error in pairs]
    line = Series("", [p[0] for p in pairs], [p[1] for p in pairs], readouts, dots=True)
    title = "Error by rank of the corrections"
    note = (
        f"Cut to fewer corrections the model still plays: E is {percent(pairs[0][1])} without any and "
        f"{percent(pairs[-1][1])} with all {pairs[-1][0]}. A fit with a lower rank is closer than this one cut to it "
        "(the paper's figure 13)."
    )
    axes = Axis("rank", whole=True), Axis("E, % of the motion", log="auto")
    chart = line_chart([line], title=title, x=axes[0], y=axes[1])
    return Figure(title, chart, "", note, ("rank", "E, %"), tuple((str(r), number(e)) for r, e in pairs))


def tolerance_figure(report: SkinReport, curves: ReportCurves) -> Figure | None:
    """Figure 5 of the paper: bones that mean shift finds, against its tolerance."""
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
        "Groups of triangles that turn alike, by how much difference still counts as alike, on a sample (the paper's "
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
    """How many bones move a vertex."""
    used = np.maximum(1, (np.abs(skin.weights) > USED_WEIGHT).sum(axis=1))
    counts = np.bincount(used, minlength=skin.n_influences + 1)[1:]
    part = counts / max(1, counts.sum())
    bars = [
        Bar(str(k + 1), 100 * float(part[k]), f"{k + 1} bones: {counts[k]:,} vertices, {share(float(part[k]))}")
        for k in range(len(counts))
    ]
    title = "Bones a vertex"
    note = (
        f"A vertex follows {float(used.mean()):.2f} bones on average, not counting weights below "
        f"{percent(100 * USED_WEIGHT)}."
    )
    chart = bar_chart(bars, title=title, x=Axis("bones that move the vertex"), y=Axis("% of the vertices"))
    rows = tuple((str(k + 1), f"{counts[k]:,}", share(float(part[k]))) for k in range(len(counts)))
    return Figure(title, chart, "", note, ("bones", "vertices", "of all"), rows)
