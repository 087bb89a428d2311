"""How long a command takes, from the start of its process, and what that time goes to: the parts sum to the whole.

    clock = WallTime.of_command()
    with clock.stage("load"):
        …
    clock.seconds()     # {"import": …, "load": …, …, "other": …, "wall": …}

Until its function runs, a command imports. A stage inside another takes its time from the outer one, and so does
waiting for kernels to be compiled, which happens once on a machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from osteon.core.compile_kernels import WAITED

__all__ = ["WallTime", "process_began", "time_text"]

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
