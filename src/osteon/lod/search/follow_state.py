"""Bones that each follow one active bone by an offset of their own: the free form that the forward search works on.

    U_b = T_a(b) O_b,   E = sum_f sum_bc tr(D_b A_bc D_c'),   D_b = U_b - T_b

If one D_b changes by X, E changes by 2 <X, H_b> + <X A_bb, X> with H_b = sum_c D_c A_cb; T_x' H_b is kept for all x,
so neither vertices nor frames are touched (`pair_moments` has the symbols).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.lod.search.merge_state import MergeProblem
from osteon.lod.search.offset_fit import offset_costs

__all__ = ["FollowState", "start_following"]


@dataclass(slots=True)
class FollowState:
    """Who follows whom by what, and what is wrong."""

    problem: MergeProblem
    leaders: Int64  # (n,) a bone, itself, or n for the world
    offsets: Float64  # (n,4,4)
    wrongs: Float64  # (n+1,n,4,4) T_x' H_b
    error: float = 0.0

    def copy(self) -> FollowState:
        return FollowState(self.problem, self.leaders.copy(), self.offsets.copy(), self.wrongs.copy(), self.error)

    def prices(self, b: Int64) -> Float64:
        """(m,) what each bone of b costs now, above what it would cost if it were exact."""
        leaders = self.leaders[b]
        slopes, exact = self._slopes(b, leaders)
        return offset_costs(self.problem.own[leaders], self.problem.pairs[b, b], slopes, self.offsets[b, :3]) + exact

    def trials(self, b: Int64, p: Int64) -> tuple[Float64, Float64]:
        """(m,3,4) the best offsets of bones b (m,) on p (m,), and (m,) what they would cost."""
        problem = self.problem
        slopes, exact = self._slopes(b, p)
        pairs = problem.pairs[b, b]
        offsets = problem.fit(b, p, pairs, slopes)
        return offsets, offset_costs(problem.own[p], pairs, slopes, offsets) + exact

    def _slopes(self, b: Int64, p: Int64) -> tuple[Float64, Float64]:
        """K of each pair, and the part of its cost that does not depend on the offset."""
        grams, pairs = self.problem.grams, self.problem.pairs[b, b]
        slopes = self._others(p, b) - grams[p, b] @ pairs
        exact = (self.problem.own[b] * pairs).sum(axis=(1, 2)) - 2 * np.einsum("mii->m", self._others(b, b))
        return slopes, exact

    def _others(self, x: Int64, b: Int64) -> Float64:
        """(m,4,4) T_x' of what is wrong at each bone of b (m,) because of all other bones."""
        grams = self.problem.grams
        own = grams[x, self.leaders[b]] @ self.offsets[b] - grams[x, b]
        others: Float64 = self.wrongs[x, b] - own @ self.problem.pairs[b, b]
        return others

    def lead(self, b: int, p: int, offset: Float64) -> None:
        """Let b follow p by an offset (3,4) from now on."""
        one, grams = np.array([b]), self.problem.grams
        before, was = float(self.prices(one)[0]), grams[:, self.leaders[b]] @ self.offsets[b]
        self.leaders[b], self.offsets[b, :3] = p, offset
        touched = np.flatnonzero(self.problem.pairs[b].any(axis=(1, 2)))
        change = grams[:, p] @ self.offsets[b] - was
        self.wrongs[:, touched] += change[:, None] @ self.problem.pairs[b, touched]
        self.error += float(self.prices(one)[0]) - before


def start_following(problem: MergeProblem) -> FollowState:
    """All bones exact: each leads itself."""
    n = problem.n_bones
    return FollowState(problem, np.arange(n), np.tile(np.eye(4), (n, 1, 1)), np.zeros((n + 1, n, 4, 4)))
