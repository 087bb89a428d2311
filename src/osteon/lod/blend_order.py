"""The skin of a character with its slots sorted, so that fewer of them lose least.

Slot k hands its weight to slot BLEND_PARENTS[k] when no more than k blends are made (k counts from 0), so a shader
needs no more than the sorted slots and this fixed table. Between two whole numbers of blends the weights move straight.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.2 and figure 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, Int32, checked
from osteon.core.deformer import Arrays
from osteon.core.errors import GeometryError, OptionError
from osteon.core.skin import Skin

__all__ = ["BLEND_PARENTS", "BlendOrder", "blend_shares"]

#: Who takes the weight of a slot that is dropped: the fourth goes to the first, the third to the second, the second to
#: the first. Slots beyond the fourth go to the first.
BLEND_PARENTS = (0, 0, 1, 0)


def blend_shares(n_slots: int, n_blends: int) -> Float64:
    """(k,k) which slot's weight ends in which slot when `n_blends` of `n_slots` are kept: new = old @ shares."""
    if not 1 <= n_blends <= n_slots:
        raise OptionError(f"blends: expected 1 … {n_slots}, got {n_blends}")
    end = list(range(n_slots))
    for slot in range(n_blends, n_slots):
        target = slot
        while target >= n_blends:
            target = BLEND_PARENTS[target] if target < len(BLEND_PARENTS) else 0
        end[slot] = target
    return np.eye(n_slots)[end]


@dataclass(frozen=True, slots=True)
class BlendOrder:
    """Sorted slots of every vertex, and what fewer of them cost."""

    skin: Skin  # (v,k) slots from the one that is kept to the one that goes first
    errors: Float64  # (k,) squared error of 1 … k blends over all clips, all bones active; the last is 0

    def __post_init__(self) -> None:
        n_slots = self.skin.n_influences
        if n_slots < 1:
            raise GeometryError("skin: expected at least one slot a vertex, got none")
        object.__setattr__(self, "errors", checked("errors", self.errors, (n_slots,), np.float64))

    @property
    def n_blends(self) -> int:
        """The most there are."""
        return self.skin.n_influences

    @property
    def bones(self) -> Int32:
        """(v,k) the same at every level."""
        return self.skin.bones

    def weights(self, blends: float) -> Float32:
        """(v,k) weights with so many blends, 1 … k; the whole skin's own at k, slots not needed have 0."""
        if not 1 <= blends <= self.n_blends:
            raise OptionError(f"blends: expected 1 … {self.n_blends}, got {blends}")
        low = int(np.floor(blends))
        if low == self.n_blends:
            return self.skin.weights
        part = blends - low
        shares = blend_shares(self.n_blends, low)
        if part > 0:
            shares = (1 - part) * shares + part * blend_shares(self.n_blends, low + 1)
        return np.asarray(self.skin.weights.astype(np.float64) @ shares, np.float32)

    def arrays(self) -> Arrays:
        """Named arrays for files and packs; a file may carry the slots as those of its skin."""
        return {"bones": self.skin.bones, "weights": self.skin.weights, "errors": self.errors}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`; refuses what does not fit."""
        return cls(Skin(arrays["bones"], arrays["weights"]), arrays["errors"])
