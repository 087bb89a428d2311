"""The history of a benchmark as one HTML file: a table of all figures, and charts of those that changed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from osteon.io import atomic_file
from osteon.report.charts import Axis, Mark, Series, legend, line_chart
from osteon.report.page_parts import number, whole_page
from osteon_bench.history import BenchHistory, MetricHistory, run_name
from osteon_bench.rows import Row
from osteon_bench.stamp import RunStamp

#: Largest number of runs in the table; charts show all.
COLUMNS = 8
STYLE = """.rows { max-height: none; }
td.missed { color: var(--alarm); font-weight: 650; }
td:not(:first-child) { text-align: right; }"""


def write_history_page(path: Path, history: BenchHistory) -> None:
    """Write the page; the file appears whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(history_page(history), encoding="utf-8")


def history_page(history: BenchHistory) -> str:
    """The whole page as text."""
    title = f"bench {history.bench}"
    sections = "".join(_case(history, case, metrics) for case, metrics in history.cases.items())
    body = (
        f'<header><h1>{escape(title)}</h1><p class="verdict">{_verdict(history)}</p>{_runs(history.runs)}</header>'
        f"<main>{sections}</main>"
    )
    return whole_page(title, body, STYLE)


def _verdict(history: BenchHistory) -> str:
    missed, count = len(history.missed), len(history.runs)
    runs = f"{count} run{'' if count == 1 else 's'}"
    verdict = f"misses {missed} bound{'' if missed == 1 else 's'}" if missed else "keeps all bounds"
    return f"{runs}; the newest <strong>{verdict}</strong>."


def _table(head: Sequence[str], rows: Sequence[str]) -> str:
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="rows" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _cells(*texts: str) -> str:
    return "".join(f"<td>{escape(text)}</td>" for text in texts)


def _runs(runs: Sequence[RunStamp]) -> str:
    rows = [
        _cells(str(count), stamp.date, stamp.version, stamp.commit, stamp.machine)
        for count, stamp in enumerate(runs, 1)
    ]
    return _table(("run", "date", "version", "commit", "machine"), rows)


def _case(history: BenchHistory, case: str, metrics: Sequence[MetricHistory]) -> str:
    shown = list(enumerate(history.runs, 1))[-COLUMNS:]
    head = ("", *(f"{count}: {run_name(stamp)}" for count, stamp in shown), "bound")
    rows = [_cells(m.metric) + "".join(map(_value, m.rows[-COLUMNS:])) + _cells(_bound(m.newest)) for m in metrics]
    charts = "".join(_chart(history, m) for m in metrics if m.moved and m.newest.bound is not None)
    more = f'<div class="charts">{charts}</div>' if charts else ""
    return f"<section><h2>{escape(case)}</h2>{_table(head, rows)}{more}</section>"


def _value(row: Row | None) -> str:
    if row is None:
        return "<td></td>"
    kind = "" if row.ok else ' class="missed"'
    return f"<td{kind}>{number(row.value)}</td>"


def _bound(row: Row) -> str:
    return "" if row.bound is None else f"{'≤' if row.kind == 'max' else '≥'} {number(row.bound)}"


def _chart(history: BenchHistory, metric: MetricHistory) -> str:
    """The value and its bound over the runs, with marks where the bound is missed."""
    points = [(run, row) for run, row in enumerate(metric.rows, 1) if row is not None]
    readouts = [f"{run_name(history.runs[run - 1])}: {number(row.value)} ({_bound(row)})" for run, row in points]
    runs = [run for run, _ in points]
    lines = [Series("value", runs, [row.value for _, row in points], readouts, dots=True)]
    bounds = [(run, row.bound) for run, row in points if row.bound is not None]
    lines.append(Series("bound", [run for run, _ in bounds], [bound for _, bound in bounds], kind=1))
    marks = [Mark(run, "missed", row.value) for run, row in points if not row.ok]
    chart = line_chart(lines, title=metric.metric, x=Axis("run", whole=True), y=Axis("", log="auto"), marks=marks)
    return (
        f"<figure><h3>{escape(metric.metric)}</h3>{legend(lines)}{chart}"
        '<p class="readout" aria-live="polite"></p></figure>'
    )
