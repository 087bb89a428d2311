"""Shared by all commands: standard options, progress, reports, tables and wall time."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from osteon.cli.outputs import force_option
from osteon.core.progress import Progress, ProgressEvent, RemainingTime, duration_text

if TYPE_CHECKING:
    from rich.console import Console

    from osteon.core.mesh import Asset


F = TypeVar("F", bound=Callable[..., Any])


def json_option(function: F) -> F:
    """`--json FILE`, `--force` and `--quiet`."""
    to_file = click.option("--json", "json_file", metavar="FILE", help="Write a report as JSON ('-': standard output).")
    quiet = click.option("--quiet", "-q", is_flag=True, help="No progress and no table.")
    return to_file(force_option(quiet(function)))


def size_text(count: int) -> str:
    """A number of bytes with a readable unit."""
    if count < 10_000:
        return f"{count:,} bytes"
    return f"{count / 1e3:,.0f} kB" if count < 10_000_000 else f"{count / 1e6:,.1f} MB"


def console(*, stderr: bool = False) -> Console:
    """A terminal for tables and notes."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Progress | None]:
    """Show progress on standard error: a bar with stage, error and remaining time, or lines if it is not a terminal."""
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
            remaining.update(event)
            error = "" if event.error_percent is None else f"E {event.error_percent:.3f} %"
            bar.update(task, description=event.stage, completed=event.fraction, error=error)

        yield listen


class _TimeLeft:
    """The remaining time, computed each time the bar is drawn."""

    def __init__(self, remaining: RemainingTime) -> None:
        self._remaining = remaining

    def __format__(self, _: str) -> str:
        left = self._remaining.left()
        return "" if left is None else f"about {duration_text(left)} left in this stage"


def write_json(value: dict[str, Any], target: str | None) -> None:
    """Write a report to a file; does nothing for '-'."""
    if target is None or target == "-":
        return
    from osteon.io import atomic_file
    from osteon.io.save import GENERATOR, GENERATOR_KEY

    with atomic_file(target) as temporary:
        temporary.write_text(_json_text({GENERATOR_KEY: GENERATOR, **value}))


def print_json(value: dict[str, Any], target: str | None) -> None:
    """Print the report for '-'. Call it after all files have been written, so that the report is true."""
    if target == "-":
        click.echo(_json_text(value), nl=False)


def _json_text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def say_lost(asset: Asset, *outputs: str, quiet: bool = False) -> None:
    """Print a note for everything that was lost in reading, and that an output cannot hold."""
    from osteon.io.models import note_lost_sets

    lost = [*asset.origin.lost, *(note for path in outputs for note in note_lost_sets(asset, path))]
    for note in [] if quiet else lost:
        click.echo(f"osteon: note: {note}", err=True)


# Progress in a log or a pipe: one line for each stage when it begins, and one per minute. Work that ends within two
# seconds prints nothing. Seconds count from the beginning of the work.
#
#        0.4 s  load
#        1.9 s  refine
#       61.9 s  refine, 40 % done, E 1.204 %, about 1 min 30 s left in this stage

#: Seconds between two lines about a stage, and seconds until the first line is printed.
INTERVAL, PATIENCE = 60.0, 2.0


class ProgressLines:
    """Prints each stage once, and its progress on each tick; lines before `patience` seconds are delayed."""

    def __init__(
        self, write: Callable[[str], None], patience: float = PATIENCE, now: Callable[[], float] = time.perf_counter
    ) -> None:
        self._write, self._patience, self._now = write, patience, now
        self._began = now()
        self._remaining = RemainingTime(now)
        self._seen: set[str] = set()
        self._last: ProgressEvent | None = None
        self._held: list[str] | None = []  # lines until the work is long
        self._lock = threading.Lock()

    def listen(self, event: ProgressEvent) -> None:
        """One step of the work."""
        self._remaining.update(event)
        self._last = event
        stage = re.sub(r"\d+", "#", event.stage)  # "compiling 3 of 20" is the stage that "compiling 2 of 20" was
        if stage not in self._seen:
            self._seen.add(stage)
            self._line(event.stage)
        if self._held is not None and self._now() - self._began >= self._patience:
            self._release()

    def _release(self) -> None:
        """Print the delayed lines, and later ones at once."""
        with self._lock:
            held, self._held = self._held or [], None
            for line in held:
                self._write(line)

    def tick(self) -> None:
        """Print the progress of the current stage, if there is one."""
        self._release()
        event = self._last
        if event is None:
            return
        error = "" if event.error_percent is None else f", E {event.error_percent:.3f} %"
        left = self._remaining.left()
        more = "" if left is None else f", about {duration_text(left)} left in this stage"
        self._line(f"{event.stage}, {event.fraction:.0%} done{error}{more}")

    def _line(self, text: str) -> None:
        line = f"{self._now() - self._began:8.1f} s  {text}"
        with self._lock:
            if self._held is None:
                self._write(line)
            else:
                self._held.append(line)


@contextmanager
def progress_lines(
    write: Callable[[str], None], interval: float = INTERVAL, patience: float = PATIENCE
) -> Iterator[Progress]:
    """Yield a progress callback that prints lines; the current stage is also printed every `interval` seconds."""
    lines, done = ProgressLines(write, patience), threading.Event()

    def tick() -> None:
        while not done.wait(interval):
            lines.tick()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield lines.listen
    finally:
        done.set()
        thread.join()


# Wall time: how long a command takes, from the start of its process, and how that time is spent.
#
#     clock = WallTime.of_command()
#     with clock.stage("load"):
#         …
#     clock.seconds()     # {"import": …, "load": …, …, "other": …, "wall": …}
#
# Until its function runs, a command imports. The time of a nested stage, and of waiting for kernels to be compiled
# (once per machine), is not part of the outer stage.

#: Seconds. A process that is older than this when its command starts was not started for it.
OLDEST = 60.0

#: Names of the parts in the table, in their order; stages of the fit come between them.
_PARTS = {
    "import": "importing",
    "compile": "compiling",
    "load": "loading",
    "search": "searching",
    "fit": "fit",
    "edit": "editing",
    "measure": "measuring",
    "write": "writing",
    "page": "report",
    "other": "other",
}
#: Keys that are sums of others.
_SUMS = ("wall", "total")


def _compile_seconds() -> float:
    """Seconds that this process has waited for kernels."""
    from osteon.core.compile_kernels import WAITED  # not at the top: `osteon --help` needs no threads

    return WAITED.seconds


class WallTime:
    """Seconds by stage since the start of a command."""

    def __init__(self, began: float | None = None, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._began = now() if began is None else began
        self._stages: dict[str, float] = {"import": now() - self._began}
        self._inside: list[float] = []  # seconds of nested stages, for every open stage
        self._compiled = _compile_seconds()  # seconds of compiling that are counted

    @staticmethod
    def of_command() -> WallTime:
        """The clock of the running command; call it first."""
        return WallTime(click.get_current_context().find_object(float))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a stage; the times of several blocks with one name are added."""
        self._count_compiling()
        start = self._now()
        self._inside.append(0.0)
        try:
            yield
        finally:
            self._count_compiling()
            spent = self._now() - start
            self._stages[name] = self._stages.get(name, 0.0) + spent - self._inside.pop()
            if self._inside:
                self._inside[-1] += spent

    def _count_compiling(self) -> None:
        """Add the time spent waiting for kernels to the stage "compile"."""
        before, self._compiled = self._compiled, _compile_seconds()
        waited = self._compiled - before
        if waited > 0:
            self._stages["compile"] = self._stages.get("compile", 0.0) + waited
            if self._inside:
                self._inside[-1] += waited

    def split(self, name: str, parts: Mapping[str, float], rest: str) -> None:
        """Replace a stage by its parts and the rest."""
        spent = self._stages.pop(name, 0.0)
        for part, seconds in parts.items():
            taken = min(spent, seconds)
            self._stages[part] = self._stages.get(part, 0.0) + taken
            spent -= taken
        self._stages[rest] = self._stages.get(rest, 0.0) + spent

    def seconds(self) -> dict[str, float]:
        """Seconds by stage, the unassigned rest and the total."""
        self._count_compiling()
        wall = self._now() - self._began
        named = {name: spent for name, spent in self._stages.items() if name != "other"}
        return {**named, "other": max(0.0, wall - sum(named.values())), "wall": wall}


def process_began() -> float:
    """When this process started, as `time.perf_counter` counts; now where the system does not report it."""
    now = time.perf_counter()
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):  # not Linux
        return now
    return now - age if 0 <= age < OLDEST else now


def time_text(seconds: Mapping[str, float]) -> str:
    """'2.10 s: importing 0.60, fit 1.20 (seed 0.20, refine 1.00), …': parts that round to zero are omitted."""
    parts = [(shown, seconds.get(key, 0.0), key) for key, shown in _PARTS.items()]
    texts = [
        f"{shown} {spent:.2f}" + (_fit_text(seconds) if key == "fit" else "")
        for shown, spent, key in parts
        if spent >= 0.005
    ]
    wall = seconds["wall"] if "wall" in seconds else sum(spent for _, spent, _ in parts)
    return f"{wall:.2f} s" + (f": {', '.join(texts)}" if texts else "")


def _fit_text(seconds: Mapping[str, float]) -> str:
    """The stages of a fit in brackets."""
    stages = [(name, spent) for name, spent in seconds.items() if name not in _PARTS and name not in _SUMS]
    texts = [f"{name} {spent:.2f}" for name, spent in stages if spent >= 0.005]
    return f" ({', '.join(texts)})" if texts else ""
