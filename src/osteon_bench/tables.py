"""Tables that `osteon bench` prints: the rows of a run, and the history of a bench."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from osteon.cli.common import console

if TYPE_CHECKING:
    from osteon_bench.history import BenchHistory, MetricHistory
    from osteon_bench.rows import Row


#: Runs that are listed, and that a line of a figure shows.
LISTED, DRAWN = 8, 24
#: Width of a terminal below which earlier values are omitted.
NARROW = 100


def print_rows(rows: Sequence[Row]) -> None:
    """The figures of one run, case by case."""
    out = console()
    for case in dict.fromkeys(row.case for row in rows):
        table = Table(box=None, pad_edge=False, title=case, title_justify="left", title_style="bold", show_header=False)
        for side in ("left", "right", "right", "left"):
            table.add_column(justify="left" if side == "left" else "right")
        for row in rows:
            if row.case == case:
                table.add_row(f"  {row.metric}", f"{row.value:.4g}", _bound(row), _verdict(row))
        out.print(table)


def print_history(history: BenchHistory) -> None:
    """The runs, and every figure: its way over the runs, the last two values, the change, the bound."""
    out = console()
    out.print(_runs_table(history))
    if not history.metrics:
        return
    narrow = out.width < NARROW
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("")
    for title in ("runs", *(() if narrow else ("before",)), "newest", "change", "bound", ""):
        table.add_column(title, justify="left" if title in ("runs", "") else "right", no_wrap=True)
    for case, metrics in history.cases.items():
        table.add_row(Text(case, style="bold"))
        for metric in metrics:
            cells = [Padding(Text(metric.metric), (0, 0, 0, 2)), _trend(metric), *_values(metric)[narrow:]]
            table.add_row(*cells, style="" if metric.current else "dim")
    out.print(table)
    out.print(_summary(history))


def _runs_table(history: BenchHistory) -> Table:
    count = len(history.runs)
    title = f"{history.bench}: {count} recorded run{'' if count == 1 else 's'}, newest last"
    table = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold", header_style="dim")
    for name in ("run", "date", "version", "commit", "machine"):
        table.add_column(name, justify="right" if name == "run" else "left", no_wrap=name != "machine")
    if count > LISTED:
        table.add_row("…", f"{count - LISTED} more before")
    for number, stamp in list(enumerate(history.runs, 1))[-LISTED:]:
        date = stamp.date.replace("T", " ").removesuffix("Z")
        table.add_row(str(number), *(text or "-" for text in (date, stamp.version, stamp.commit, stamp.machine)))
    return table


def _values(metric: MetricHistory) -> tuple[Text | str, ...]:
    """Value before, newest value, change, bound, verdict."""
    before, newest = metric.before, metric.newest
    return (
        "" if before is None else f"{before.value:.4g}",
        Text(f"{newest.value:.4g}", style="" if newest.ok else "red"),
        _change(metric),
        _bound(newest),
        _verdict(newest) if metric.current else "gone",
    )


def _trend(metric: MetricHistory) -> Text:
    """A letter a run, red where it missed its bound."""
    from osteon_bench.history import sparkline

    letters = list(zip(sparkline(metric), metric.rows, strict=True))[-DRAWN:]
    return Text.assemble(*((letter, "" if row is None or row.ok else "red") for letter, row in letters))


def _change(metric: MetricHistory) -> str:
    if metric.before is None:
        return "new" if len(metric.rows) > 1 and metric.current else ""
    change = metric.change
    if change is None:
        return "from 0"
    return "=" if change == 0 else f"{100 * change:+.1f} %" if abs(change) < 10 else f"x {1 + change:.3g}"


def _summary(history: BenchHistory) -> Text:
    bounded = sum(metric.current and metric.newest.bound is not None for metric in history.metrics)
    missed = len(history.missed)
    if missed:
        return Text(f"The newest run misses {missed} of its {bounded} bounds.", style="red")
    return Text(f"The newest run keeps all of its {bounded} bounds.")


def _bound(row: Row) -> str:
    return "" if row.bound is None else f"{'<=' if row.kind == 'max' else '>='} {row.bound:.4g}"


def _verdict(row: Row) -> str:
    return "" if row.bound is None else "[green]ok[/]" if row.ok else "[red]missed[/]"
