"""Joints in a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Int32, checked
from osteon.core.errors import GeometryError

__all__ = ["Skeleton"]


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Joints in a tree, where they stand in the rest pose."""

    names: tuple[str, ...]
    parents: Int32  # (j,) index of the parent joint, -1 at a root
    world_from_joint: Float32  # (j,3,4) rest pose

    def __post_init__(self) -> None:
        parents = checked("parents", self.parents, (len(self.names),), np.int32)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(
            self, "world_from_joint", checked("world_from_joint", self.world_from_joint, (len(self.names), 3, 4))
        )
        if parents.size and (parents.min() < -1 or parents.max() >= len(parents)):
            raise GeometryError(f"parents: expected -1 … {len(parents) - 1}")
        _check_tree(parents)


def _check_tree(parents: Int32) -> None:
    """Refuse joints that are their own ancestors; every joint is visited once."""
    walk_of = np.full(len(parents), -1, np.int64)
    up = parents.tolist()
    for start in range(len(up)):
        j = start
        while j >= 0 and walk_of[j] < 0:
            walk_of[j] = start
            j = up[j]
        if j >= 0 and walk_of[j] == start:
            raise GeometryError(f"parents: joint {j} is its own ancestor")
