"""All levels of bones and blends of a character, as files store them and players read them.

**Blends.** The slots of the skin are sorted so that using fewer of them causes the least error.

With n blends, every slot from the n-th on (counted from 0) transfers its weight to its slot in `heirs`, which transfers
it further if it is dropped too. One table serves all vertices, so a shader needs only the sorted slots. Between two
whole numbers of blends weights are interpolated linearly.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.2 and figure 4.

**Levels.** A level 0 … 1 determines the numbers of bones and of blends.

Level 0 is the root bone and one blend, level 1 is all of both. The level is the fraction of the full cost between these
two, by the paper's count of operations: 60 simple ones and 4 complex ones per bone, 20, 35, 43, 50 per vertex for 1 to
4 blends. Between knots one bone or one blend fades, linearly; the reach of that step is how far it moves the vertices.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 3.1, 4, 4.1.2; table 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, Int32, IntArray, checked, checked_indices
from osteon.core.character import Arrays, Skin
from osteon.core.errors import GeometryError, OptionError
from osteon.lod.bone_order import BoneForm, BoneOrder


def blend_shares(heirs: IntArray, n_blends: int) -> Float64:
    """(k,k) which slot's weight is transferred to which slot with `n_blends`: new weights = old weights @ shares."""
    n_slots = len(heirs)
    if not 1 <= n_blends <= n_slots:
        raise OptionError(f"blends: expected 1 … {n_slots}, got {n_blends}")
    ends = np.arange(n_slots)
    for slot in range(n_blends, n_slots):
        ends[slot] = ends[heirs[slot]]  # an earlier slot
    return np.eye(n_slots)[ends]


@dataclass(frozen=True, slots=True)
class BlendOrder:
    """Sorted slots of every vertex, and the error of using fewer of them."""

    skin: Skin  # (v,k) slots, the most important first
    heirs: Int32  # (k,) the earlier slot that receives the weight of a dropped slot; 0 for the first
    errors: Float64  # (k,) squared error of 1 … k blends over all clips, all bones active; the last is 0

    def __post_init__(self) -> None:
        n_slots = self.skin.n_influences
        if n_slots < 1:
            raise GeometryError("skin: expected at least one slot per vertex, got none")
        object.__setattr__(self, "errors", checked("errors", self.errors, (n_slots,), np.float64))
        object.__setattr__(self, "heirs", checked_indices("heirs", self.heirs, (n_slots,), n_slots))
        if (self.heirs[1:] >= np.arange(1, n_slots)).any() or self.heirs[0]:
            raise GeometryError(f"heirs: expected an earlier slot for each, got {self.heirs.tolist()}")

    @property
    def n_blends(self) -> int:
        """The number of slots."""
        return self.skin.n_influences

    @property
    def bones(self) -> Int32:
        """(v,k) the same at every level."""
        return self.skin.bones

    def shares(self, blends: float) -> Float64:
        """(k,k) the fraction of each slot that each slot receives, with so many blends, 1 … k."""
        if not 1 <= blends <= self.n_blends:
            raise OptionError(f"blends: expected 1 … {self.n_blends}, got {blends}")
        low = int(np.floor(blends))
        below = blend_shares(self.heirs, low)
        if low == blends:
            return below
        part = blends - low
        return np.asarray((1 - part) * below + part * blend_shares(self.heirs, low + 1))

    def weights(self, blends: float) -> Float32:
        """(v,k) weights with so many blends, 1 … k; dropped slots have 0."""
        shares = self.shares(blends)
        if blends == self.n_blends:
            return self.skin.weights
        return np.asarray(self.skin.weights.astype(np.float64) @ shares, np.float32)

    def arrays(self) -> Arrays:
        """Named arrays for files and packs; a file may store the slots as those of its skin."""
        return {"bones": self.skin.bones, "weights": self.skin.weights, "heirs": self.heirs, "errors": self.errors}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`; refuses what does not fit."""
        return cls(Skin(arrays["bones"], arrays["weights"]), arrays["heirs"], arrays["errors"])


#: The reach of steps in files that have none: no step moves a vertex farther than half of the body.
UNKNOWN_REACH = 0.5


class LevelPoint(NamedTuple):
    """The numbers of bones and blends of a level."""

    bones: float  # 1 … n allowed to be active; the fraction is the fade of the next one
    blends: float  # 1 … k, likewise


@dataclass(frozen=True, slots=True)
class LevelCurve:
    """Knots from (1 bone, 1 blend) at level 0 to all of both at level 1."""

    levels: Float64  # (m,) rising from 0 to 1
    bones: Float64  # (m,) never falling
    blends: Float64  # (m,) never falling
    rms: Float64  # (m,) root mean square distance of the clip's vertices at each knot, in units of the model
    reach: Float64  # (m,) the largest way of a vertex from the knot before, as a part of the body's size

    def __post_init__(self) -> None:
        count = len(np.asarray(self.levels))
        for name in ("levels", "bones", "blends", "rms", "reach"):
            object.__setattr__(self, name, checked(name, getattr(self, name), (count,), np.float64))
        if not count or self.levels[0] != 0 or self.levels[-1] != 1 or (np.diff(self.levels) < 0).any():
            raise GeometryError("levels: expected numbers that rise from 0 to 1")
        if (np.diff(self.bones) < 0).any() or (np.diff(self.blends) < 0).any():
            raise GeometryError("bones, blends: expected numbers that never fall")
        if (self.reach < 0).any():
            raise GeometryError("reach: expected numbers of at least 0")

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

    def moved(self, level: float, goal: float, way: float) -> float:
        """A level on the way to a goal, as near as it gets while no vertex moves by more than `way` of the body's size.

        One step of bones or blends ends before the next one begins.
        """
        up = goal > level
        while level != goal:
            here = int(np.searchsorted(self.levels, level, side="right" if up else "left"))  # the knot above
            here = min(max(here, 1), len(self.levels) - 1)
            low, high, reach = float(self.levels[here - 1]), float(self.levels[here]), float(self.reach[here])
            end = min(goal, high) if up else max(goal, low)
            needed = reach * abs(end - level) / max(high - low, 1e-300)
            if needed > way:
                return level + (end - level) * way / needed
            level, way = end, way - needed
        return level

    def arrays(self) -> Arrays:
        """Named arrays for files and packs."""
        return {name: getattr(self, name) for name in ("levels", "bones", "blends", "rms", "reach")}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`; refuses what does not fit. Older files have no reach: steps are then slow."""
        unknown = np.full(len(arrays["levels"]), UNKNOWN_REACH)
        reach = arrays.get("reach", unknown)
        levels, bones, blends, rms = (arrays[name] for name in ("levels", "bones", "blends", "rms"))
        return cls(levels, bones, blends, rms, reach)


@dataclass(frozen=True, slots=True)
class ProgressiveSkin:
    """Orders of bones for every clip, the order of blends, and the curves that select from them by level."""

    orders: tuple[BoneOrder, ...]  # one per clip of the model, in their order
    curves: tuple[LevelCurve, ...]  # one per clip
    all_clips: BoneOrder  # serves every clip, for characters that blend between clips
    blends: BlendOrder

    def __post_init__(self) -> None:
        if not self.orders or len(self.orders) != len(self.curves):
            raise GeometryError(f"orders, curves: expected one per clip, got {len(self.orders)} and {len(self.curves)}")
        if any(order.n_bones != self.n_bones for order in (*self.orders, self.all_clips)):
            raise GeometryError(f"orders: expected {self.n_bones} bones in each")
        if int(self.blends.bones.max(initial=-1)) >= self.n_bones:
            raise GeometryError(f"blends: name bone {self.blends.bones.max()} of {self.n_bones}")

    @property
    def n_bones(self) -> int:
        """Bones of the model."""
        return self.all_clips.n_bones

    @property
    def n_ordered(self) -> int:
        """Bones that can be active."""
        return self.all_clips.n_ordered

    def clip_number(self, name: str) -> int:
        """The number of a clip by its name."""
        names = [order.clip for order in self.orders]
        if name not in names:
            raise OptionError(f"clip: expected one of {', '.join(names)}, got '{name}'")
        return names.index(name)

    def arrays(self) -> Arrays:
        """Named arrays for files and packs: `clip0.order`, `all.order`, `blends.weights`, …"""
        found: Arrays = {}
        for number, (order, curve) in enumerate(zip(self.orders, self.curves, strict=True)):
            found |= {f"clip{number}.{name}": array for name, array in order.arrays().items()}
            found |= {f"curve{number}.{name}": array for name, array in curve.arrays().items()}
        found |= {f"all.{name}": array for name, array in self.all_clips.arrays().items()}
        found |= {f"blends.{name}": array for name, array in self.blends.arrays().items()}
        return found

    @property
    def clips(self) -> tuple[tuple[str, BoneForm], ...]:
        """The name of each clip and the form of its order, stored beside `arrays`."""
        return tuple((order.clip, order.form) for order in self.orders)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], clips: tuple[tuple[str, BoneForm], ...]) -> Self:
        """The inverse of `arrays` and `clips`; refuses what does not fit."""
        orders = [
            BoneOrder.from_arrays(_part(arrays, f"clip{i}"), clip=name, form=form)
            for i, (name, form) in enumerate(clips)
        ]
        return cls(
            tuple(orders),
            tuple(LevelCurve.from_arrays(_part(arrays, f"curve{i}")) for i in range(len(clips))),
            BoneOrder.from_arrays(_part(arrays, "all")),
            BlendOrder.from_arrays(_part(arrays, "blends")),
        )


def _part(arrays: Mapping[str, NDArray[Any]], word: str) -> Arrays:
    """The arrays with a prefix, by their names without it."""
    found = {name.partition(".")[2]: array for name, array in arrays.items() if name.partition(".")[0] == word}
    if not found:
        raise GeometryError(f"levels: expected arrays '{word}.…', got none")
    return found
