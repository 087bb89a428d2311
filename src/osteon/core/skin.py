"""Which bones move a vertex, and how much: the form of a skin that every player speaks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32, checked, checked_indices
from osteon.core.errors import GeometryError

__all__ = ["Skin"]

#: Weights may miss a sum of one by what float32 rounding of a few terms leaves.
WEIGHT_SUM_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Skin:
    """Bones and weights of every vertex. Unused slots hold weight 0."""

    bones: Int32  # (v,k) bone indices
    weights: Float32  # (v,k) sum to one over k

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked("weights", self.weights, (None, None)))
        object.__setattr__(
            self, "bones", checked_indices("bones", self.bones, self.weights.shape, np.iinfo(np.int32).max)
        )
        sums = self.weights.sum(axis=1, dtype=np.float64)
        if sums.size and np.abs(sums - 1).max() > WEIGHT_SUM_TOLERANCE:
            v = int(np.abs(sums - 1).argmax())
            raise GeometryError(f"weights: vertex {v} sums to {sums[v]:.6f}, expected 1; normalise the weights")

    @property
    def n_vertices(self) -> int:
        return int(self.weights.shape[0])

    @property
    def n_influences(self) -> int:
        return int(self.weights.shape[1])

    def dense(self, n_bones: int) -> Float64:
        """(v,b) weights with a column for every bone."""
        out = np.zeros((len(self.weights), n_bones))
        np.add.at(out, (np.arange(len(out))[:, None], self.bones), self.weights)
        return out

    def take(self, vertices: Int32) -> Skin:
        """The skin of some vertices, in that order."""
        return Skin(self.bones[vertices], self.weights[vertices])
