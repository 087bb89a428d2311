"""The skin of a character with its slots sorted, so that fewer of them lose least.

When no more than n blends are made, every slot from the n-th on (counted from 0) hands its weight to the slot that
`heirs` names, and that one to its own heir if it is dropped too. One table serves all vertices, so a shader needs no
more than the sorted slots. Between two whole numbers of blends the weights move straight.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.2 and figure 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, Int32, IntArray, checked, checked_indices
from osteon.core.character import Arrays, Skin
from osteon.core.errors import GeometryError, OptionError

__all__ = ["BlendOrder", "blend_shares"]


def blend_shares(heirs: IntArray, n_blends: int) -> Float64:
    """(k,k) which slot's weight ends in which slot when `n_blends` are kept: new weights = old weights @ shares."""
    n_slots = len(heirs)
    if not 1 <= n_blends <= n_slots:
        raise OptionError(f"blends: expected 1 … {n_slots}, got {n_blends}")
    ends = np.arange(n_slots)
    for slot in range(n_blends, n_slots):
        ends[slot] = ends[heirs[slot]]  # which comes before it
    return np.eye(n_slots)[ends]


@dataclass(frozen=True, slots=True)
class BlendOrder:
    """Sorted slots of every vertex, and what fewer of them cost."""

    skin: Skin  # (v,k) slots from the one that is kept to the one that goes first
    heirs: Int32  # (k,) who takes the weight of a slot that is dropped, a slot before it; the first keeps its own
    errors: Float64  # (k,) squared error of 1 … k blends over all clips, all bones active; the last is 0

    def __post_init__(self) -> None:
        n_slots = self.skin.n_influences
        if n_slots < 1:
            raise GeometryError("skin: expected at least one slot a vertex, got none")
        object.__setattr__(self, "errors", checked("errors", self.errors, (n_slots,), np.float64))
        object.__setattr__(self, "heirs", checked_indices("heirs", self.heirs, (n_slots,), n_slots))
        if (self.heirs[1:] >= np.arange(1, n_slots)).any() or self.heirs[0]:
            raise GeometryError(f"heirs: expected slots before, got {self.heirs.tolist()}")

    @property
    def n_blends(self) -> int:
        """The most there are."""
        return self.skin.n_influences

    @property
    def bones(self) -> Int32:
        """(v,k) the same at every level."""
        return self.skin.bones

    def shares(self, blends: float) -> Float64:
        """(k,k) what each slot gives to which, with so many blends, 1 … k."""
        if not 1 <= blends <= self.n_blends:
            raise OptionError(f"blends: expected 1 … {self.n_blends}, got {blends}")
        low = int(np.floor(blends))
        below = blend_shares(self.heirs, low)
        if low == blends:
            return below
        part = blends - low
        return np.asarray((1 - part) * below + part * blend_shares(self.heirs, low + 1))

    def weights(self, blends: float) -> Float32:
        """(v,k) weights with so many blends, 1 … k; the whole skin's own at k, slots that are not needed have 0."""
        shares = self.shares(blends)
        if blends == self.n_blends:
            return self.skin.weights
        return np.asarray(self.skin.weights.astype(np.float64) @ shares, np.float32)

    def arrays(self) -> Arrays:
        """Named arrays for files and packs; a file may carry the slots as those of its skin."""
        return {"bones": self.skin.bones, "weights": self.skin.weights, "heirs": self.heirs, "errors": self.errors}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`; refuses what does not fit."""
        return cls(Skin(arrays["bones"], arrays["weights"]), arrays["heirs"], arrays["errors"])
