"""What fewer bones and fewer blends cost, alone and together, in every clip: the grid that levels are chosen from.

A number of bones and one of blends is chosen for a tolerance: of all pairs that keep it in every clip the cheapest, by
the paper's count of operations (`fit_curve`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.model import SkinnedModel
from osteon.lod.level_curve import LevelCurve
from osteon.lod.progressive_skin import ProgressiveSkin
from osteon.lod.search.fit_curve import fit_curve, vertex_operations
from osteon.lod.search.fit_orders import runs_of
from osteon.lod.search.level_errors import blend_moments, level_errors
from osteon.lod.search.skin_motion import read_skin_motion

__all__ = ["SkinErrors", "skin_errors"]


@dataclass(frozen=True, slots=True)
class SkinErrors:
    """Errors by how many bones are allowed and how many blends are made."""

    clips: tuple[str, ...]  # names; the last is "", one order for all clips
    squared: tuple[Float64, ...]  # (n+1,k) of each: sums over frames and vertices, in units of the model
    samples: tuple[int, ...]  # frames times vertices of each
    bases: tuple[float, ...]  # of each the error with only the root active, and copied by all
    diagonal: float  # the body's size as it plays

    @property
    def n_bones(self) -> int:
        return len(self.squared[0]) - 1

    @property
    def n_blends(self) -> int:
        return int(self.squared[0].shape[1])

    def rms(self, clip: int) -> Float64:
        """(n+1,k) root mean square distance of a clip, as a part of the body's size."""
        return np.asarray(np.sqrt(self.squared[clip] / self.samples[clip]) / (self.diagonal or 1.0))

    @property
    def worst_rms(self) -> Float64:
        """(n+1,k) the same of the worst clip, each by its own order."""
        return np.asarray(np.max([self.rms(clip) for clip in range(len(self.clips) - 1)], axis=0))

    def share(self, clip: int) -> Float64:
        """(n+1,k) squared error as a share of that with only the root active (figure 7)."""
        base = self.bases[clip]
        return np.asarray(self.squared[clip] / base if base > 0 else np.zeros_like(self.squared[clip]))

    def cheapest(self, tolerance: float, most: tuple[int, int]) -> tuple[int, int]:
        """Bones and blends, no more than `most`, with an RMS of at most the tolerance in every clip; `most` if none."""
        bones, blends = most
        operations = vertex_operations(self.n_blends)
        spread = max(1.0, float(operations[-1] - operations[0]))
        cost = np.arange(self.n_bones + 1)[:, None] / max(1, self.n_bones) + (operations - operations[0]) / spread
        allowed = self.worst_rms <= tolerance
        allowed[0] = allowed[bones + 1 :] = False
        allowed[:, blends:] = False
        if not allowed.any():
            return most
        n, k = np.unravel_index(int(np.where(allowed, cost, np.inf).argmin()), cost.shape)
        return int(n), int(k) + 1

    def fewest_blends(self, tolerance: float) -> int:
        """The fewest blends that alone stay within a tolerance."""
        return int(np.flatnonzero(self.worst_rms[-1] <= tolerance)[0]) + 1 if tolerance >= 0 else self.n_blends

    def curve_of_all(self) -> LevelCurve:
        """The one number 0 … 1 as bones and blends for all clips at once."""
        return fit_curve(self.squared[-1], self.samples[-1])


def skin_errors(model: SkinnedModel, skin: ProgressiveSkin) -> SkinErrors:
    """The errors of a model's orders, from moments alone."""
    motion = read_skin_motion(model, skin.blends.skin)
    moments, orders = blend_moments(motion, skin.blends), (*skin.orders, skin.all_clips)
    grids = [level_errors(motion, moments, order, run) for order, run in zip(orders, runs_of(motion), strict=True)]
    return SkinErrors(
        tuple(order.clip for order in orders),
        tuple(grids),
        tuple(order.samples for order in orders),
        tuple(order.base for order in orders),
        model.diagonal,
    )
