"""How long a stage of long work still takes, from what of it has been done: rounds, frames, whatever its events count.

    left = (1 - fraction) (now - begin) / (fraction - fraction at begin) - time since the last event

A stage begins with its first event. Nothing is said before enough of it is done to tell, nor of stages that count
nothing, nor of one that goes on beyond what it had counted on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from osteon.core.progress import ProgressEvent

__all__ = ["RemainingTime", "duration_text"]

#: Part of a stage that must be done, and seconds that must have passed, before the rest is worth telling.
ENOUGH_DONE = 0.02
ENOUGH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Moment:
    seconds: float
    fraction: float


class RemainingTime:
    """Listens to the events of long work and tells how much of the current stage is left."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._stage = ""
        self._begin = self._last = _Moment(0.0, 0.0)

    def hear(self, event: ProgressEvent) -> None:
        """One step; a fraction that falls back is a stage that starts over."""
        moment = _Moment(self._now(), event.fraction)
        if event.stage != self._stage or event.fraction < self._last.fraction:
            self._stage, self._begin = event.stage, moment
        self._last = moment

    def left(self) -> float | None:
        """Seconds until the current stage is done; None where that cannot be told."""
        done, spent = self._last.fraction - self._begin.fraction, self._last.seconds - self._begin.seconds
        if done < ENOUGH_DONE or spent < ENOUGH_SECONDS or self._last.fraction >= 1:
            return None
        whole = spent * (1 - self._last.fraction) / done
        return max(0.0, whole - (self._now() - self._last.seconds))


def duration_text(seconds: float) -> str:
    """A time for people, as exact as an estimate is: '8 s', '1 min 20 s', '2 h 5 min'."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        tens = round(seconds / 10) * 10
        return f"{tens // 60} min" + (f" {tens % 60} s" if tens % 60 else "")
    minutes = round(seconds / 60)
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
