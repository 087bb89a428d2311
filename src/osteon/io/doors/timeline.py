"""Clips one after the other on one time line, for formats that know only one."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.sequence import Clip

__all__ = ["frame_times"]


def frame_times(clips: tuple[Clip, ...], rate: float = 1.0) -> Float64:
    """(f,) when each frame shows, in units of which `rate` make a second.

    A clip starts where the next frame of the clip before it would be. With the clips' own rate the times are 0, 1, 2, …
    """
    times, start = [], 0.0
    for clip in clips:
        step = rate / clip.fps
        times.append(start + np.arange(clip.n_frames) * step)
        start += clip.n_frames * step
    return np.concatenate(times)
