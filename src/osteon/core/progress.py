"""Progress of long work as events, the time that remains, and reports of fits.

The library never prints: the command line and the page draw progress events. The remaining time of a stage follows
from the part of it that is done:

    left = (1 - fraction) (now - begin) / (fraction - fraction at begin) - time since the last event
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """One step of long work."""

    stage: str
    fraction: float  # of this stage, 0 … 1
    error_percent: float | None = None  # current E %, for stages that compute it


#: A callback may raise (KeyboardInterrupt, or its own) to stop the work.
Progress = Callable[[ProgressEvent], None]


def report_progress(progress: Progress | None, stage: str, fraction: float, error_percent: float | None = None) -> None:
    """Send an event to the callback, if there is one."""
    if progress is not None:
        progress(ProgressEvent(stage, min(1.0, max(0.0, fraction)), error_percent))


#: Part of a stage that must be done, and seconds that must have passed, before an estimate is made.
ENOUGH_DONE = 0.02
ENOUGH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Moment:
    seconds: float
    fraction: float


class RemainingTime:
    """Estimates how long the current stage still takes.

    A stage begins with its first event. There is no estimate before enough of a stage is done, for stages without a
    fraction, and for stages that continue beyond their fraction.
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._stage = ""
        self._begin = self._last = _Moment(0.0, 0.0)

    def update(self, event: ProgressEvent) -> None:
        """Take the next event; a smaller fraction than before means that the stage starts over."""
        moment = _Moment(self._now(), event.fraction)
        if event.stage != self._stage or event.fraction < self._last.fraction:
            self._stage, self._begin = event.stage, moment
        self._last = moment

    def left(self) -> float | None:
        """Seconds until the current stage is done; None if there is no estimate."""
        done, spent = self._last.fraction - self._begin.fraction, self._last.seconds - self._begin.seconds
        if done < ENOUGH_DONE or spent < ENOUGH_SECONDS or self._last.fraction >= 1:
            return None
        whole = spent * (1 - self._last.fraction) / done
        return max(0.0, whole - (self._now() - self._last.seconds))


def duration_text(seconds: float) -> str:
    """A rounded duration: '8 s', '1 min 20 s', '2 h 5 min'."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        tens = round(seconds / 10) * 10
        return f"{tens // 60} min" + (f" {tens % 60} s" if tens % 60 else "")
    minutes = round(seconds / 60)
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")


@dataclass(frozen=True, slots=True)
class FitReport:
    """How a fit went."""

    stage: str
    seconds: float
    iterations: int = 0
    converged: bool = True
    stopped_by: str = ""  # why the iteration ended
    history: tuple[float, ...] = ()  # E % after each round
    warnings: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    full_problem: bool = True  # False for rounds on a sample of the vertices


class Stopwatch:
    """Seconds by stage; entering a stage twice adds up."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def peak_memory_mb() -> float:
    """Largest resident size of this process so far; 0 on systems that do not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
