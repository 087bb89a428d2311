"""Animation channels and their values at any time.

Between keys a channel is constant, linear (rotations: spherically, along the shorter arc) or a cubic Hermite spline;
before its first and after its last key it is constant. glTF 2.0, section 3.11 and appendix C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.transforms import slerp, unit_quaternions

ChannelPath = Literal["translation", "rotation", "scale", "weights"]


@dataclass(frozen=True, slots=True)
class Channel:
    """One property of one node over time."""

    node: int
    path: ChannelPath
    interpolation: str  # STEP, LINEAR or CUBICSPLINE
    times: Float64  # (k,) ascending seconds
    values: Float64  # (k,n), or (k,3,n): tangent in, value, tangent out

    def at(self, times: Float64) -> Float64:
        """(f,n) values."""
        if self.interpolation == "CUBICSPLINE":
            out = _cubic(self.times, self.values, times)
        else:
            before, after, u = _between(self.times, times)
            if self.interpolation == "STEP":
                out = self.values[np.where(u >= 1, after, before)]
            elif self.path == "rotation":
                out = slerp(self.values[before], self.values[after], u)
            else:
                out = self.values[before] * (1 - u)[:, None] + self.values[after] * u[:, None]
        return unit_quaternions(out) if self.path == "rotation" else out


@dataclass(frozen=True, slots=True)
class Animation:
    """The channels of one animation."""

    name: str
    channels: tuple[Channel, ...]
    number: int  # in the file

    @property
    def start(self) -> float:
        return float(min(c.times[0] for c in self.channels))

    @property
    def end(self) -> float:
        return float(max(c.times[-1] for c in self.channels))


def _between(keys: Float64, times: Float64) -> tuple[np.ndarray, np.ndarray, Float64]:
    """For each time the keys before and after it, and its position between them (0 … 1)."""
    after = np.searchsorted(keys, times, side="right").clip(0, len(keys) - 1)
    before = np.maximum(after - 1, 0)
    span = keys[after] - keys[before]
    u = (times - keys[before]) / np.where(span > 0, span, 1)
    return before, after, u.clip(0, 1)


def _cubic(keys: Float64, values: Float64, times: Float64) -> Float64:
    before, after, u = _between(keys, times)
    span = (keys[after] - keys[before])[:, None]
    t = u[:, None]
    start, tangent_out = values[before, 1], values[before, 2] * span
    tangent_in, stop = values[after, 0] * span, values[after, 1]
    return np.asarray(
        (2 * t**3 - 3 * t**2 + 1) * start
        + (t**3 - 2 * t**2 + t) * tangent_out
        + (3 * t**2 - 2 * t**3) * stop
        + (t**3 - t**2) * tangent_in
    )
