"""The charts and tables of a comparison: measures of every model, deviation pose by pose, strengths that were tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from osteon.fit.models.registry import ContestantSweep
from osteon.pipeline.comparison import Comparison, ModelResult, PoseMeasures
from osteon.report.charts import Axis, Mark, Series, legend, line_chart
from osteon.report.figures import Figure
from osteon.report.numbers import number
from osteon.report.sections import bytes_text

__all__ = ["cost_table", "measure_table", "poses_figure", "sweep_figures"]

#: Lines of one chart that can be told apart.
KINDS = 4

Value = Callable[[PoseMeasures], float]

#: What is measured, and of it the heading and value of every column; less is better in all of them.
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
#: What rounds to the best value is as good.
AS_GOOD = 5e-3

Cell = tuple[str, bool]  # text, and whether it is the best of its column


def measure_table(comparison: Comparison, unseen: bool) -> str:
    """All measures of training or unseen poses, a row for every model, the best of each column marked."""
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


def cost_table(comparison: Comparison) -> str:
    """What every model takes to store and to pose."""
    n = max(1, comparison.sequence.n_vertices)
    groups = [("stored", 3), ("posing a vertex", 2), ("its fit", 1)]
    head = ["bones a vertex", "numbers a vertex", "size", "multiply-adds", "measured, ns", "seconds"]
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
            )
        ]
        for result in comparison.results
    ]
    return _table(comparison, groups, head, rows)


def _table(
    comparison: Comparison, groups: Sequence[tuple[str, int]], head: Sequence[str], rows: Sequence[Sequence[Cell]]
) -> str:
    """A row for every model below two lines of headings."""
    above = "".join(f'<th scope="colgroup" colspan="{count}">{escape(name)}</th>' for name, count in groups)
    starts = {sum(count for _, count in groups[:i]) for i in range(len(groups))}
    begins = [' class="begins"' if i in starts else "" for i in range(len(head))]
    top = "".join(f'<th scope="col"{begins[i]}>{escape(name)}</th>' for i, name in enumerate(head))
    body = "".join(
        f'<tr><th scope="row"><span class="title">{escape(result.title)} </span><code>{escape(result.word)}</code></th>'
        + "".join(
            f"<td{begins[i]}>{f'<strong>{escape(text)}</strong>' if best else escape(text)}</td>"
            for i, (text, best) in enumerate(cells)
        )
        + "</tr>"
        for result, cells in zip(comparison.results, rows, strict=True)
    )
    return (
        '<div class="measures" tabindex="0"><table><thead>'
        f'<tr><td></td>{above}</tr><tr><th scope="col">model</th>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


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
    note = "Dotted lines stand at the poses that the models were trained with."
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
    """What regularisation of several strengths gave, for each model that tried (figure 3 of the paper)."""
    return [_sweep_figure(result.title, result.sweep) for result in comparison.results if result.sweep is not None]


def _sweep_figure(name: str, sweep: ContestantSweep) -> Figure:
    best = int(np.argmin(sweep.left_out))
    title = f"Strength of regularisation, {name}"
    series = [
        Series("poses left out", sweep.strengths, sweep.left_out, dots=True),
        Series("poses fitted", sweep.strengths, sweep.training, dots=True, kind=1),
    ]
    mark = Mark(sweep.strengths[best], f"taken: {number(sweep.strengths[best])}", sweep.left_out[best])
    axes = Axis("strength", log=True), Axis("RMS, % of the body’s size")
    chart = line_chart(series, title=title, x=axes[0], y=axes[1], marks=[mark])
    note = "Weak: the training poses are learned by heart. Strong: the model is held where its fit began."
    columns = zip(sweep.strengths, sweep.left_out, sweep.training, strict=True)
    rows = tuple(tuple(number(value) for value in row) for row in columns)
    return Figure(title, chart, legend(series), note, ("strength", "RMS %, left out", "RMS %, fitted"), rows)
