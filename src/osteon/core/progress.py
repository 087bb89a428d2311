"""Progress of long work, as events. The library never prints: the command line and the page draw these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Progress", "ProgressEvent", "report_progress"]


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """One step of long work."""

    stage: str
    fraction: float  # of this stage, 0 … 1
    error_percent: float | None = None  # current E %, where the stage knows it


#: A callback may raise (KeyboardInterrupt, or its own) to stop the work.
Progress = Callable[[ProgressEvent], None]


def report_progress(progress: Progress | None, stage: str, fraction: float, error_percent: float | None = None) -> None:
    """Send an event if anybody listens."""
    if progress is not None:
        progress(ProgressEvent(stage, min(1.0, max(0.0, fraction)), error_percent))
