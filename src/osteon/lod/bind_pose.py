"""The bind pose that takes up the defaults which most clips share.

A clip's default of a bone is told by its offset. Where enough clips would do as well with one pose D of the bones,

    O_b = D_parent(b)^-1 D_b        (D of no parent is the identity)

that pose is kept once, with the character, and these clips need no default of the bone: seen from D an inactive bone
just copies its parent.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.1.1.
Differs from the paper: the pose is that of the bones' bind matrices, not of the stored vertices. A vertex that several
bones blend has one position and as many defaults, so moved vertices would play something else than the input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Bool, Float32, Float64, Int32, IntArray, checked
from osteon.core.character import Arrays
from osteon.core.transforms import compose, invert

__all__ = ["BindPose", "offsets_in_pose"]


@dataclass(frozen=True, slots=True)
class BindPose:
    """One default pose for many clips."""

    pose: Float32  # (b,3,4) D, bind_from_rest
    shared: Bool  # (c,b) clips whose offset of a bone is that of the pose

    def __post_init__(self) -> None:
        object.__setattr__(self, "pose", checked("pose", self.pose, (None, 3, 4)))
        object.__setattr__(self, "shared", checked("shared", self.shared, (None, len(self.pose)), np.bool_))

    @property
    def taken_up(self) -> Bool:
        """(b,) bones whose default the bind pose is, for some clip."""
        return np.asarray(self.shared.any(axis=0))

    def offsets(self, parents: Int32) -> Float64:
        """(b,3,4) the offsets that follow from the pose, for the parents (b,) of a clip."""
        return offsets_in_pose(self.pose.astype(np.float64), parents)

    def arrays(self) -> Arrays:
        """Named arrays for files and packs."""
        return {"pose": self.pose, "shared": self.shared.astype(np.uint8)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`; refuses what does not fit."""
        return cls(arrays["pose"], arrays["shared"] != 0)


def offsets_in_pose(pose: Float64, parents: IntArray) -> Float64:
    """(b,3,4) by which each bone of a pose (b,3,4) stands off its parent; the pose itself without one."""
    out = pose.copy()
    below = np.flatnonzero(parents >= 0)
    out[below] = compose(invert(pose[parents[below]]), pose[below])
    return out
