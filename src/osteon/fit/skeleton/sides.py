"""Which sections of a body are left, right or central, and which are each other's mirror image.

The plane that mirrors the body (`fit/mirror.py`, with a tolerance for posed limbs) gives the sides: a section is
lateral if LATERAL of its surface lies on one side. Pairs do not need a symmetric pose: a left and a right section are
a pair if they are equally far along the surface from all central sections and about equally large,

    minimise over one-to-one pairs (l, r):   sum of d_lr,   d_lr = mean_c |g_lc - g_rc| + SIZE diagonal |log(m_l / m_r)|

| symbol | name |
| --- | --- |
| g | distances (b,b) along the surface between sections |
| m | masses (b,): the surface of a section |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from osteon.core.arrays import Float64, Int64
from osteon.fit.mirror import MirrorPlane

#: Share of the surface of a lateral section on its side.
LATERAL = 0.9
#: Vertices closer to the plane than this, of the diagonal, are on no side.
ASIDE = 0.005
#: Least distance of a lateral joint from the plane, of the diagonal.
BESIDE = 0.03
#: Weight of a difference in size, in diagonals; largest distance of a pair; largest ratio of masses.
SIZE, PAIRED, RATIO = 0.02, 0.06, 3.0


@dataclass(frozen=True, slots=True)
class Sides:
    """Sides and pairs of sections."""

    side: Int64  # (b,) 1 left, -1 right, 0 central
    partner: Int64  # (b,) the mirror image, -1 for none

    @staticmethod
    def none(count: int) -> Sides:
        """Every section central."""
        return Sides(np.zeros(count, np.int64), np.full(count, -1, np.int64))

    @property
    def known(self) -> bool:
        return bool(self.side.any())

    def ordered(self, order: Int64) -> Sides:
        """The sides of reordered sections."""
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        partner = self.partner[order]
        return Sides(self.side[order], np.where(partner >= 0, place[partner], -1))


def find_sides(
    plane: MirrorPlane | None, points: Float64, areas: Float64, weights: Float64, gaps: Float64, diagonal: float
) -> Sides:
    """Sides of sections with weights (v,b) on points (v,3), areas (v,) and distances (b,b) along the surface."""
    n_sections = weights.shape[1]
    if plane is None:
        return Sides.none(n_sections)
    away = plane.distances(points)
    both = np.stack([away > ASIDE * diagonal, away < -ASIDE * diagonal], axis=1) * areas[:, None]
    amounts = weights.T @ both  # (b,2)
    total = np.maximum(amounts.sum(axis=1), 1e-12)
    side = np.where(amounts[:, 0] >= LATERAL * total, 1, np.where(amounts[:, 1] >= LATERAL * total, -1, 0))
    masses = areas @ weights
    side[masses <= 0] = 0
    if not ((side > 0).any() and (side < 0).any() and (side == 0).any()):
        return Sides.none(n_sections)
    return Sides(side, _pairs(side, masses, gaps, diagonal))


def sides_of_joints(side: Int64, parents: Int64, away: Float64) -> Int64:
    """(b,) sides of joints: those of their sections, and of a thigh that reaches across the plane that of its leg.

    A central section is lateral as a joint if all its children are on one side and so is the joint itself, by more
    than BESIDE; `away` (b,) are the distances of the joints to the left of the plane, in diagonals.
    """
    out = side.copy()
    for b in range(len(parents) - 1, 0, -1):
        children = out[parents == b]
        if out[b] == 0 and len(children) and abs(children.sum()) == len(children) and away[b] * children[0] > BESIDE:
            out[b] = children[0]
    return out


def _pairs(side: Int64, masses: Float64, gaps: Float64, diagonal: float) -> Int64:
    """(b,) partners."""
    partner = np.full(len(side), -1, np.int64)
    left, right, central = np.flatnonzero(side > 0), np.flatnonzero(side < 0), np.flatnonzero(side == 0)
    apart = np.abs(gaps[left][:, None, central] - gaps[right][None][:, :, central]).mean(axis=2)
    ratio = np.abs(np.log(masses[left][:, None] / masses[right][None]))
    costs = apart / diagonal + SIZE * ratio
    possible = (costs <= PAIRED) & (ratio <= np.log(RATIO))
    a, b = linear_sum_assignment(np.where(possible, costs, 1.0))
    for i, j in zip(a.tolist(), b.tolist(), strict=True):
        if possible[i, j]:
            partner[left[i]], partner[right[j]] = right[j], left[i]
    return partner
