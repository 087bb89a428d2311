"""Named runs of frames, and names that tell things apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from osteon.core.errors import GeometryError

__all__ = ["DEFAULT_FPS", "Clip", "check_clips", "clips_or_one", "distinct_names"]

DEFAULT_FPS = 24.0


@dataclass(frozen=True, slots=True)
class Clip:
    """A named run of consecutive frames, start <= f < stop."""

    name: str
    start: int
    stop: int
    fps: float = DEFAULT_FPS  # frames per second

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.stop:
            raise GeometryError(f"clip '{self.name}': frames {self.start} … {self.stop} are empty or negative")
        if not (np.isfinite(self.fps) and self.fps > 0):
            raise GeometryError(f"clip '{self.name}': frame rate must be positive, got {self.fps}")

    @property
    def n_frames(self) -> int:
        return self.stop - self.start


def check_clips(clips: tuple[Clip, ...], n_frames: int) -> None:
    """Refuse clips that leave gaps, overlap, or do not end with the last frame."""
    stops = [0, *(c.stop for c in clips)]
    if [c.start for c in clips] != stops[:-1] or stops[-1] != n_frames:
        raise GeometryError(f"clips must follow each other and cover all {n_frames} frames")


def distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names, each that came before with one to three _ added, or else a number: `a`, `a_`, …, `a_4`."""
    taken: dict[str, None] = {}
    times: dict[str, int] = {}
    for name in names:
        candidate = name
        while candidate in taken:
            times[name] = times.get(name, 0) + 1
            candidate = name + "_" * times[name] if times[name] <= 3 else f"{name}_{times[name]}"
        taken[candidate] = None
    return tuple(taken)


def clips_or_one(clips: Iterable[Clip], n_frames: int) -> tuple[Clip, ...]:
    """The clips, or, where there are none, one that holds all frames; refused if they do not cover the frames."""
    found = tuple(clips) or (Clip("clip", 0, n_frames),)
    check_clips(found, n_frames)
    return found
