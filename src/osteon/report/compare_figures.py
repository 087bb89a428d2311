"""Sentences, tables and charts of a comparison of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from osteon.fit.models.registry import ContestantSweep
from osteon.pipeline.comparison import Comparison, ModelResult, PoseMeasures
from osteon.report.charts import Axis, Mark, Series, legend, line_chart
from osteon.report.figures import Figure
from osteon.report.page_parts import brief, grouped_table, number, share
from osteon.report.sections import bytes_text

#: Invisible differences of the mean deviation: a twentieth of it, or a tenth of a pixel for a body of 1000 pixels.
SMALL_PART, SMALL_OF_BODY = 0.05, 1e-4
#: A model is overfitted if the deviation of unseen poses exceeds that of training poses by this factor.
OVERFIT = 2.0
#: Overfitting below this mean deviation, in percent of the body's size, is invisible.
SEEN = 0.01


def best_choice(comparison: Comparison) -> ModelResult:
    """Of the models that are equally close on unseen poses, the one with the fewest numbers."""
    ranked = comparison.ranked()
    return min((r for r in ranked if equally_close(ranked[0], r)), key=lambda r: r.cost.floats)


def compare_verdict(comparison: Comparison) -> str:
    """The first sentence: the best choice on unseen poses."""
    best, ranked = best_choice(comparison), comparison.ranked()
    off, count = best.unseen.deviation, len(comparison.unseen)
    mean = f"{brief(off.percent(off.mean))} of the body’s size"
    if len(ranked) == 1:
        return f"{_capital(best.title)} is off by {mean} on average in the {count} unseen poses."
    others = [result for result in ranked if not equally_close(best, result)]
    if not others:
        return (
            f"All models are equally good: all {len(ranked)} are off by about {mean} on average in the {count} "
            "unseen poses."
        )
    base = comparison.baseline
    other = base if base in others and base is not None else others[0]
    if best is ranked[0]:
        return (
            f"{_capital(best.title)} is closest in the {count} unseen poses: off by {mean} on average, "
            f"{_less(best, other)} than {other.title}."
        )
    least = ranked[0].unseen.deviation
    return (
        f"{_capital(best.title)} is the best choice: in the {count} unseen poses it is off by {mean} on "
        f"average, {_less(best, other)} than {other.title}. {_capital(ranked[0].title)} is closest, off by "
        f"{brief(least.percent(least.mean))}, an invisible difference."
    )


def verdict_lines(comparison: Comparison) -> tuple[str, ...]:
    """Further findings."""
    lines = [*_ties(comparison), *_costs(comparison), *_other_measures(comparison), *_overfitted(comparison)]
    if any(result.word == "dqs" for result in comparison.results) and len(comparison.results) > 1:
        lines.append(
            "All models share bones that were found for linear blending; dual quaternions with their own bones "
            "(osteon skin --model dqs) are closer than here."
        )
    return tuple(lines)


def equally_close(one: ModelResult, other: ModelResult) -> bool:
    """Whether the difference of the mean deviations on unseen poses is invisible."""
    a, b = sorted((one.unseen.deviation.mean, other.unseen.deviation.mean))
    return b - a <= SMALL_PART * b or b - a <= SMALL_OF_BODY * one.unseen.deviation.diagonal


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _less(one: ModelResult, other: ModelResult) -> str:
    return f"{share(1 - one.unseen.deviation.mean / max(other.unseen.deviation.mean, 1e-300))} less"


def _ties(comparison: Comparison) -> list[str]:
    """Models that are as close as the best choice, if others are not."""
    best = best_choice(comparison)
    equal = [result.title for result in comparison.ranked() if result is not best and equally_close(best, result)]
    if not equal or len(equal) == len(comparison.results) - 1:
        return []
    are = "is as close, but holds" if len(equal) == 1 else "are as close, but hold"
    return [f"{_capital(' and '.join(equal))} {are} no fewer numbers: the difference is invisible."]


def _costs(comparison: Comparison) -> list[str]:
    """The cost of the best choice, compared with linear blending."""
    best, base = best_choice(comparison), comparison.baseline
    if base is None or len(comparison.results) == 1:
        return []
    if best is base:
        return [f"{_capital(base.title)} is also supported by every engine, and no other model holds fewer numbers."]
    n = comparison.sequence.n_vertices
    return [
        f"It holds {number(best.cost.floats / n)} numbers per vertex, where {base.title} holds "
        f"{number(base.cost.floats / n)}, and takes {best.cost.multiply_adds} multiply-adds per vertex instead of "
        f"{base.cost.multiply_adds}."
    ]


def _other_measures(comparison: Comparison) -> list[str]:
    """Models with better normals or smaller distances between vertices."""
    best, lines = best_choice(comparison), []
    by_normals = min(comparison.results, key=lambda result: result.unseen.deviation.normal_mean)
    angle, least = best.unseen.deviation.normal_mean, by_normals.unseen.deviation.normal_mean
    if by_normals is not best and least < (1 - SMALL_PART) * angle:
        lines.append(
            f"Normals, which determine the shading, are closest with {by_normals.title}: {number(least)}° off on "
            f"average instead of {number(angle)}°."
        )
    by_rms = min(comparison.results, key=lambda result: result.unseen.distortion.rms)
    if by_rms is not best and by_rms.unseen.distortion.rms < (1 - SMALL_PART) * best.unseen.distortion.rms:
        lines.append(f"Vertex by vertex (RMS) {by_rms.title} is closer.")
    return lines


def _overfitted(comparison: Comparison) -> list[str]:
    lines = []
    for result in comparison.results:
        off = result.unseen.deviation
        if result.growth > OVERFIT and off.percent(off.mean) > SEEN:
            times = f"{result.growth:.1f}" if result.growth < 100 else "many"
            lines.append(
                f"{_capital(result.title)} is overfitted: unseen poses are {times} times as far off as training poses. "
                "Train with more poses."
            )
    return lines


#: Number of distinguishable lines in one chart.
KINDS = 4

Value = Callable[[PoseMeasures], float]

#: Groups of columns, each with heading and value; smaller is better in all of them.
MEASURES: tuple[tuple[str, tuple[tuple[str, Value], ...]], ...] = (
    (
        "distance to the surface",
        (
            ("mean %", lambda m: m.deviation.percent(m.deviation.mean)),
            ("RMS %", lambda m: m.deviation.percent(m.deviation.rms)),
            ("largest %", lambda m: m.deviation.percent(m.deviation.worst.distance)),
        ),
    ),
    (
        "normals",
        (
            ("mean °", lambda m: m.deviation.normal_mean),
            ("largest °", lambda m: m.deviation.normal_worst.distance),
        ),
    ),
    (
        "vertex to vertex",
        (
            ("RMS %", lambda m: m.deviation.percent(m.distortion.rms)),
            ("largest %", lambda m: m.deviation.percent(m.distortion.worst.distance)),
            ("E %", lambda m: m.distortion.error_percent),
        ),
    ),
)
#: Values within this fraction of the best one are marked too.
AS_GOOD = 5e-3

Cell = tuple[str, bool]  # text, and whether it is the best of its column


def measure_table(comparison: Comparison, unseen: bool) -> str:
    """All measures of training or unseen poses, one row per model, the best of each column in bold."""
    measured = [result.unseen if unseen else result.training for result in comparison.results]
    columns = [value for _, group in MEASURES for _, value in group]
    values = np.array([[value(of) for value in columns] for of in measured])
    best = np.where(np.isfinite(values), values, np.inf).min(axis=0)
    rows = [
        [(number(v) if np.isfinite(v) else "–", bool(v <= best[i] * (1 + AS_GOOD))) for i, v in enumerate(row)]
        for row in values
    ]
    groups = [(name, len(group)) for name, group in MEASURES]
    return _table(comparison, groups, [name for _, group in MEASURES for name, _ in group], rows)


def strength_text(strength: float | None) -> str:
    """The lambda of a model in a table: a dash where it has none, infinity where the start of the fit was kept."""
    if strength is None:
        return "–"
    return "∞" if np.isinf(strength) else number(strength)


def cost_table(comparison: Comparison) -> str:
    """Storage, posing and fitting cost of every model."""
    n = max(1, comparison.sequence.n_vertices)
    groups = [("stored", 3), ("posing per vertex", 2), ("its fit", 2)]
    head = ["bones / vertex", "numbers / vertex", "size", "multiply-adds", "ns", "seconds", "λ"]
    rows = [
        [
            (text, False)
            for text in (
                str(result.cost.slots),
                number(result.cost.floats / n),
                bytes_text(result.cost.bytes),
                str(result.cost.multiply_adds),
                f"{result.cost.nanoseconds:.0f}",
                f"{result.seconds:.2f}",
                strength_text(result.strength),
            )
        ]
        for result in comparison.results
    ]
    return _table(comparison, groups, head, rows)


def _table(
    comparison: Comparison, groups: Sequence[tuple[str, int]], head: Sequence[str], rows: Sequence[Sequence[Cell]]
) -> str:
    """One row per model below two lines of headings."""
    named = [
        (
            f'<span class="title">{escape(result.title)} </span><code>{escape(result.word)}</code>',
            [f"<strong>{escape(text)}</strong>" if best else escape(text) for text, best in cells],
        )
        for result, cells in zip(comparison.results, rows, strict=True)
    ]
    return grouped_table(groups, head, "model", named)


def poses_figure(comparison: Comparison, normals: bool = False) -> Figure:
    """Mean deviation of every pose by every model; training poses are marked."""
    shown = comparison.ranked()[:KINDS]
    by_word = {result.word: _by_pose(comparison, result, normals) for result in shown}
    frames = comparison.distinct.tolist()
    series = [Series(word, frames, by_word[word], kind=k, dots=len(frames) <= 60) for k, word in enumerate(by_word)]
    trained = comparison.distinct[comparison.training].tolist()
    marks = [Mark(frame, "", quiet=True) for frame in trained]
    unit = "degrees" if normals else "% of the body’s size"
    title = "Normals, pose by pose" if normals else "Distance to the surface, pose by pose"
    chart = line_chart(series, title=title, x=Axis("frame", whole=True), y=Axis(f"mean, {unit}"), marks=marks)
    note = "Dotted lines mark the training poses."
    rows = tuple(
        (str(f), "training" if f in trained else "unseen", *(number(by_word[word][i]) for word in by_word))
        for i, f in enumerate(frames)
    )
    return Figure(title, chart, legend(series), note, ("frame", "pose", *by_word), rows)


def _by_pose(comparison: Comparison, result: ModelResult, normals: bool) -> list[float]:
    """The mean deviation of each distinct pose, in order."""
    out = np.empty(len(comparison.distinct))
    for poses, measured in ((comparison.training, result.training), (comparison.unseen, result.unseen)):
        off = measured.deviation
        out[poses] = off.normal_per_frame if normals else [off.percent(float(d)) for d in off.per_frame]
    return [float(value) for value in out]


def sweep_figures(comparison: Comparison) -> list[Figure]:
    """Error against the strength of regularisation, for each model that has one (figure 3 of the paper)."""
    found = [(result, result.sweep) for result in comparison.results if result.sweep is not None]
    return [_sweep_figure(result.title, sweep, result.strength) for result, sweep in found]


def _sweep_figure(name: str, sweep: ContestantSweep, chosen: float | None) -> Figure:
    title = f"Strength of regularisation, {name}"
    series = [
        Series("held-out poses", sweep.strengths, sweep.left_out, dots=True),
        Series("fitted poses", sweep.strengths, sweep.training, dots=True, kind=1),
    ]
    marks = [
        Mark(strength, f"chosen: {number(strength)}", left_out)
        for strength, left_out in zip(sweep.strengths, sweep.left_out, strict=True)
        if strength == chosen
    ]
    axes = Axis("strength", log=True), Axis("RMS, % of the body’s size")
    chart = line_chart(series, title=title, x=axes[0], y=axes[1], marks=marks)
    note = "Weak: the model overfits the training poses. Strong: the model stays at the start of its fit."
    if not marks:
        note += " No strength gains enough over the start, which was kept."
    columns = zip(sweep.strengths, sweep.left_out, sweep.training, strict=True)
    rows = tuple(tuple(number(value) for value in row) for row in columns)
    return Figure(title, chart, legend(series), note, ("strength", "RMS %, held out", "RMS %, fitted"), rows)
