"""What `osteon study` says to people: how many answers there are, and the figures of a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from osteon.cli.common import console

if TYPE_CHECKING:
    from osteon.study.answers import AnswerFile
    from osteon.study.results import StudyResults

__all__ = ["answers_text", "print_results"]


def answers_text(answers: AnswerFile) -> str:
    """How much the file holds."""
    given, raters = answers.counts()
    return f"{given} answer{'' if given == 1 else 's'} of {raters} rater{'' if raters == 1 else 's'}"


def print_results(results: StudyResults, page: Path) -> None:
    """Means and tests as tables."""
    from rich.table import Table

    means = Table("candidate", "mean", "deviation", "95 % interval", "answers", box=None, pad_edge=False)
    for result in results.results:
        summary = result.summary
        interval = "" if summary.interval is None else "{:.2f} … {:.2f}".format(*summary.interval)
        means.add_row(summary.name, _two(summary.mean), _two(summary.deviation), interval, str(summary.count))
    console().print(means)
    for pair in results.comparisons:
        if pair.t is None or pair.p is None:
            click.echo(f"{pair.first} against {pair.second}: {pair.reason}")
        else:
            click.echo(f"{pair.first} against {pair.second}: t {pair.t:.3f}, df {pair.degrees}, p {pair.p:.3g}")
    click.echo(f"written to {page}")


def _two(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
