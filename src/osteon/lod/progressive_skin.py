"""All levels of bones and blends of a character: what is stored beside it, and what a run time needs besides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import NDArray

from osteon.core.character import Arrays
from osteon.core.errors import GeometryError, OptionError
from osteon.lod.bind_pose import BindPose
from osteon.lod.blend_order import BlendOrder
from osteon.lod.bone_order import BoneForm, BoneOrder
from osteon.lod.level_curve import LevelCurve

__all__ = ["ProgressiveSkin"]


@dataclass(frozen=True, slots=True)
class ProgressiveSkin:
    """Orders of bones for every clip, the order of blends, and how one number chooses among them."""

    orders: tuple[BoneOrder, ...]  # one a clip of the model, in their order
    curves: tuple[LevelCurve, ...]  # one a clip
    all_clips: BoneOrder  # serves every clip, for characters that blend between clips
    blends: BlendOrder
    bind_pose: BindPose

    def __post_init__(self) -> None:
        if not self.orders or len(self.orders) != len(self.curves):
            raise GeometryError(f"orders, curves: expected one a clip, got {len(self.orders)} and {len(self.curves)}")
        if any(order.n_bones != self.n_bones for order in (*self.orders, self.all_clips)):
            raise GeometryError(f"orders: expected {self.n_bones} bones in each")
        if self.bind_pose.shared.shape != (len(self.orders), self.n_bones):
            raise GeometryError(f"bind_pose: expected {len(self.orders)} clips of {self.n_bones} bones")
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
        """Named arrays for files and packs: `clip0.order`, `all.order`, `blends.weights`, `bind.pose`, …"""
        found: Arrays = {}
        for number, (order, curve) in enumerate(zip(self.orders, self.curves, strict=True)):
            found |= {f"clip{number}.{name}": array for name, array in order.arrays().items()}
            found |= {f"curve{number}.{name}": array for name, array in curve.arrays().items()}
        for word, part in (("all", self.all_clips), ("blends", self.blends), ("bind", self.bind_pose)):
            found |= {f"{word}.{name}": array for name, array in part.arrays().items()}
        return found

    @property
    def clips(self) -> tuple[tuple[str, BoneForm], ...]:
        """The name of each clip, and the form of its order: the words that go with `arrays`."""
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
            BindPose.from_arrays(_part(arrays, "bind")),
        )


def _part(arrays: Mapping[str, NDArray[Any]], word: str) -> Arrays:
    """The arrays of one part, by their own names."""
    found = {name.partition(".")[2]: array for name, array in arrays.items() if name.partition(".")[0] == word}
    if not found:
        raise GeometryError(f"levels: expected arrays '{word}.…', got none")
    return found
