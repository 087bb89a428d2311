"""Time lines: clips one after the other for formats that know only one, and the frame rate behind key times."""

from __future__ import annotations

import numpy as np

from osteon.core.animation import Clip
from osteon.core.arrays import Float64

__all__ = ["DEFAULT_KEY_FPS", "KEY_TOLERANCE", "frame_times", "key_rate"]

DEFAULT_KEY_FPS = 30.0
COMMON_RATES = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0)
#: A key may miss its frame by this part of a frame: times are float32, and some files round them.
KEY_TOLERANCE = 0.02


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


def key_rate(times: Float64) -> float:
    """The lowest common frame rate on whose frames all key times fall, or 30."""
    since = times - times.min()
    for rate in COMMON_RATES:
        if np.abs(since * rate - np.rint(since * rate)).max() <= KEY_TOLERANCE:
            return rate
    return DEFAULT_KEY_FPS
