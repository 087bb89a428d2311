"""The one number of a level, 0 … 1, as how many bones and how many blends are computed.

Level 0 is the root bone and one blend, level 1 is all of both. The number is the share of the full cost between these
two ends, by the paper's count of operations: 60 simple ones and 4 complex ones a bone, 20, 35, 43, 50 a vertex for 1
to 4 blends. Between knots both move straight, so both fade.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 3.1, 4, 4.1.2; table 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, checked
from osteon.core.character import Arrays
from osteon.core.errors import GeometryError, OptionError

__all__ = ["LevelCurve", "LevelPoint"]


class LevelPoint(NamedTuple):
    """What a level computes."""

    bones: float  # 1 … n allowed to be active; the fraction is how far the next one has faded in
    blends: float  # 1 … k, likewise


@dataclass(frozen=True, slots=True)
class LevelCurve:
    """Knots from (1 bone, 1 blend) at level 0 to all of both at level 1."""

    levels: Float64  # (m,) rising from 0 to 1
    bones: Float64  # (m,) never falling
    blends: Float64  # (m,) never falling
    rms: Float64  # (m,) root mean square distance of the clip's vertices at each knot, in units of the model

    def __post_init__(self) -> None:
        count = len(np.asarray(self.levels))
        for name in ("levels", "bones", "blends", "rms"):
            object.__setattr__(self, name, checked(name, getattr(self, name), (count,), np.float64))
        if not count or self.levels[0] != 0 or self.levels[-1] != 1 or (np.diff(self.levels) < 0).any():
            raise GeometryError("levels: expected numbers that rise from 0 to 1")
        if (np.diff(self.bones) < 0).any() or (np.diff(self.blends) < 0).any():
            raise GeometryError("bones, blends: expected numbers that never fall")

    def at(self, level: float) -> LevelPoint:
        """Bones and blends of a level."""
        if not 0 <= level <= 1:
            raise OptionError(f"level: expected 0 … 1, got {level}")
        return LevelPoint(
            float(np.interp(level, self.levels, self.bones)), float(np.interp(level, self.levels, self.blends))
        )

    def level_for_rms(self, rms: float) -> float:
        """The lowest knot whose root mean square distance is no more than that; 1 if there is none."""
        enough = np.flatnonzero(self.rms <= rms)
        return float(self.levels[enough[0]]) if len(enough) else 1.0

    def level_of_bones(self, bones: float) -> float:
        """The lowest level that allows so many bones; 1 if none does."""
        if bones > self.bones[-1]:
            return 1.0
        i = int(np.searchsorted(self.bones, bones))
        if i == 0 or self.bones[i] == bones:
            return float(self.levels[i])
        return float(np.interp(bones, self.bones[i - 1 : i + 1], self.levels[i - 1 : i + 1]))

    def arrays(self) -> Arrays:
        """Named arrays for files and packs."""
        return {"levels": self.levels, "bones": self.bones, "blends": self.blends, "rms": self.rms}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`; refuses what does not fit."""
        return cls(*(arrays[name] for name in ("levels", "bones", "blends", "rms")))
