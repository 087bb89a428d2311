"""Reports of fits: stages, seconds and memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FitReport", "Stopwatch", "peak_memory_mb"]


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
