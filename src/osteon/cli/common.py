"""What several commands share: standard options, the progress bar, reports, tables."""

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
from osteon.core.compile_kernels import WAITED
from osteon.core.progress import Progress, ProgressEvent, RemainingTime, duration_text

if TYPE_CHECKING:
    from rich.console import Console

    from osteon.core.asset import Asset

__all__ = [
    "ProgressLines",
    "WallTime",
    "console",
    "json_option",
    "print_json",
    "process_began",
    "progress_bar",
    "progress_lines",
    "say_lost",
    "size_text",
    "time_text",
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
            remaining.update(event)
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
    from osteon.io.save import GENERATOR, GENERATOR_KEY

    with atomic_file(target) as temporary:
        temporary.write_text(_json_text({GENERATOR_KEY: GENERATOR, **value}))


def print_json(value: dict[str, Any], target: str | None) -> None:
    """The same to standard output for '-'; after all files are written, so that what is read there is true."""
    if target == "-":
        click.echo(_json_text(value), nl=False)


def _json_text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


# What a command leaves out of its input, said on standard error: what reading lost, and what an output cannot hold.


def say_lost(asset: Asset, *outputs: str, quiet: bool = False) -> None:
    """One line for each loss."""
    from osteon.io.models import note_lost_sets

    lost = [*asset.origin.lost, *(note for path in outputs for note in note_lost_sets(asset, path))]
    for said in [] if quiet else lost:
        click.echo(f"osteon: note: {said}", err=True)


# Progress where nobody draws a bar, in a log or a pipe: one line for each stage when it begins, and one per minute.
#
# Work that is done, or refused, within two seconds says nothing: lines are held back until a step comes later than
# that, or a minute is over. Seconds count from the beginning of the work.
#
#        0.4 s  load
#        1.9 s  refine
#       61.9 s  refine, 40 % done, E 1.204 %, about 1 min 30 s left in this stage

#: Seconds between two lines about a stage, and for which lines are held back.
INTERVAL, PATIENCE = 60.0, 2.0


class ProgressLines:
    """Says each stage once, and how far it is when asked; what comes earlier than `patience` is said later."""

    def __init__(
        self, say: Callable[[str], None], patience: float = PATIENCE, now: Callable[[], float] = time.perf_counter
    ) -> None:
        self._say, self._patience, self._now = say, patience, now
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
        """From now on lines are said at once."""
        with self._lock:
            held, self._held = self._held or [], None
            for line in held:
                self._say(line)

    def tick(self) -> None:
        """A line on the stage that is under way, if there is one."""
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
                self._say(line)
            else:
                self._held.append(line)


@contextmanager
def progress_lines(
    say: Callable[[str], None], interval: float = INTERVAL, patience: float = PATIENCE
) -> Iterator[Progress]:
    """A listener for the work inside the block, and a clock that tells of it every so many seconds."""
    lines, done = ProgressLines(say, patience), threading.Event()

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


# Wall time: how long a command takes, from the start of its process, and what that time is spent on.

#: A process that looks older than this when its command starts was not started for it, or its system does not tell.
OLDEST = 60.0

#: Parts as the table calls them, in the order in which they come; stages of the fit stand between.
_PARTS = {
    "import": "importing",
    "compile": "compiling",
    "load": "loading",
    "search": "searching",
    "fit": "fit",
    "measure": "measuring",
    "write": "writing",
    "page": "report",
    "other": "other",
}
#: Keys that are sums of others.
_SUMS = ("wall", "total")


class WallTime:
    """Seconds by stage since a command was given."""

    def __init__(self, began: float | None = None, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._began = now() if began is None else began
        self._stages: dict[str, float] = {"import": now() - self._began}
        self._inside: list[float] = []  # seconds that inner stages took, for every open stage
        self._compiled = WAITED.seconds  # that are counted, or were spent before

    @staticmethod
    def of_command() -> WallTime:
        """The clock of the running command; call it first."""
        return WallTime(click.get_current_context().find_object(float))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """A stage; entering it twice adds up."""
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
        """What was waited for kernels since the last look is a stage of its own."""
        waited, self._compiled = WAITED.seconds - self._compiled, WAITED.seconds
        if waited > 0:
            self._stages["compile"] = self._stages.get("compile", 0.0) + waited
            if self._inside:
                self._inside[-1] += waited

    def split(self, name: str, parts: Mapping[str, float], rest: str) -> None:
        """A stage that tells of its own parts becomes those parts and the rest."""
        spent = self._stages.pop(name, 0.0)
        for part, seconds in parts.items():
            taken = min(spent, seconds)
            self._stages[part] = self._stages.get(part, 0.0) + taken
            spent -= taken
        self._stages[rest] = self._stages.get(rest, 0.0) + spent

    def seconds(self) -> dict[str, float]:
        """Seconds by stage, what no stage took, and all of it."""
        self._count_compiling()
        wall = self._now() - self._began
        named = {name: spent for name, spent in self._stages.items() if name != "other"}
        return {**named, "other": max(0.0, wall - sum(named.values())), "wall": wall}


def process_began() -> float:
    """When this process started, as `time.perf_counter` counts; now where the system does not tell."""
    now = time.perf_counter()
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):  # not Linux
        return now
    return now - age if 0 <= age < OLDEST else now


def time_text(seconds: Mapping[str, float]) -> str:
    """'2.10 s: importing 0.60, fit 1.20 (seed 0.20, refine 1.00), …': parts that round to nothing are left out."""
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
