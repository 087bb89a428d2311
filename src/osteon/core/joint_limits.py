"""How far joints turn: an axis of the rest pose and a range of degrees for each way in which a joint moves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import GeometryError
from osteon.core.transforms import rotation_from_axis_angle

__all__ = ["JointLimit", "hinge_axes"]

#: A half turn to either side; beyond, another angle means the same turn.
HALF_TURN = 180.0


@dataclass(frozen=True, slots=True)
class JointLimit:
    """One way in which a joint turns; a joint with one of them is a hinge."""

    joint: str
    axis: tuple[float, float, float]  # in the rest pose, goes along with what the joint hangs on; made a unit vector
    low: float  # degrees
    high: float  # degrees, above low
    name: str = ""  # such as `spread`, where a joint has several

    def __post_init__(self) -> None:
        length = math.hypot(*self.axis)
        if len(self.axis) != 3 or not math.isfinite(length) or not length:
            raise GeometryError(f"limits of joint '{self.joint}': an axis needs a direction, got {self.axis}")
        object.__setattr__(self, "axis", tuple(float(x) / length for x in self.axis))
        if not -HALF_TURN <= self.low < self.high <= HALF_TURN:
            raise GeometryError(
                f"limits of joint '{self.joint}': expected degrees [lowest, highest] within a half turn, "
                f"got [{self.low:g}, {self.high:g}]"
            )

    @property
    def far(self) -> float:
        """The end that is farther from rest, degrees."""
        return max(self.high, self.low, key=abs)

    def turn(self, degrees: float) -> Float64:
        """(3,3) about the axis."""
        return rotation_from_axis_angle(np.array(self.axis), np.deg2rad(degrees))


def hinge_axes(limits: tuple[JointLimit, ...]) -> dict[str, Float64]:
    """(3,) by joint: the axis of those that turn in one way only."""
    times: dict[str, list[JointLimit]] = {}
    for limit in limits:
        times.setdefault(limit.joint, []).append(limit)
    return {joint: np.array(found[0].axis) for joint, found in times.items() if len(found) == 1}
