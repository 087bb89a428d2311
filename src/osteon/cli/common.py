"""What several commands share: standard options, the progress bar, reports, tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from osteon.cli.outputs import force_option
from osteon.cli.progress_lines import progress_lines
from osteon.core.progress import Progress, ProgressEvent
from osteon.core.progress_time import RemainingTime, duration_text

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "console",
    "json_option",
    "print_json",
    "progress_bar",
    "size_text",
    "write_json",
]

F = TypeVar("F", bound=Callable[..., Any])


def json_option(function: F) -> F:
    """`--json FILE`, `--force` and `--quiet`."""
    to_file = click.option("--json", "json_file", metavar="FILE", help="Write a report as JSON ('-': standard output).")
    quiet = click.option("--quiet", "-q", is_flag=True, help="No progress and no table.")
    return to_file(force_option(quiet(function)))


def size_text(count: int) -> str:
    """Bytes for people."""
    if count < 10_000:
        return f"{count:,} bytes"
    return f"{count / 1e3:,.0f} kB" if count < 10_000_000 else f"{count / 1e6:,.1f} MB"


def console(*, stderr: bool = False) -> Console:
    """Where people read."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Progress | None]:
    """A bar on standard error with the stage, the current error and the time left; gone when the work is done.

    Where standard error is no terminal, lines.
    """
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        with progress_lines(lambda line: click.echo(line, err=True)) as listen_to_lines:
            yield listen_to_lines
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    remaining = RemainingTime()

    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        TextColumn("{task.fields[error]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("start", total=1.0, error="", left=_TimeLeft(remaining))

        def listen(event: ProgressEvent) -> None:
            remaining.hear(event)
            error = "" if event.error_percent is None else f"E {event.error_percent:.3f} %"
            bar.update(task, description=event.stage, completed=event.fraction, error=error)

        yield listen


class _TimeLeft:
    """What the bar says of the time left; asked anew whenever the bar is drawn."""

    def __init__(self, remaining: RemainingTime) -> None:
        self._remaining = remaining

    def __format__(self, _: str) -> str:
        left = self._remaining.left()
        return "" if left is None else f"about {duration_text(left)} left in this stage"


def write_json(value: dict[str, Any], target: str | None) -> None:
    """Write a report to a file, whole or not at all; nothing for '-'."""
    if target is None or target == "-":
        return
    from osteon.io import atomic_file
    from osteon.io.save.marks import MARK, MARK_KEY

    with atomic_file(target) as temporary:
        temporary.write_text(_json_text({MARK_KEY: MARK, **value}))


def print_json(value: dict[str, Any], target: str | None) -> None:
    """The same to standard output for '-'; after all files are written, so that what is read there is true."""
    if target == "-":
        click.echo(_json_text(value), nl=False)


def _json_text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
