"""Bones that follow others, one more at a time: the error of every next choice, without touching vertices or frames.

Every active bone a carries a cluster: itself and all that follow it, as one rigid body. When c begins to follow p by O,

    z_p += O z_c,     and the error changes by   2 <T_p O - T_c, H_c> + <(T_p O - T_c) A_cc, T_p O - T_c>

with A the pair moments of the clusters and H_c = sum_v r_v z_vc' of what is wrong already (r_v = posed minus true).
Of H_c the cost of a pair (c,p) needs T_p' H_c and T_c' H_c, which are kept for all bones; N_xy = sum_f T_x' T_y.

    symbol    name
    A         pairs (n,n,4,4)
    N         grams (n+1,n+1,4,4); bone n is the world, which stays and costs nothing
    T_x' H_c  wrongs (n+1,n,4,4)

One offset a bone serves all levels: a cluster is fitted as a whole, with all that follows it already.
Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.3, backwards: from all bones to the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from osteon.core.arrays import Bool, Float64, Int64
from osteon.core.transforms import compose, invert
from osteon.lod.search.offset_fit import fit_offsets, offset_costs, steepness

__all__ = ["Follow", "MergeProblem", "MergeState", "start_merging"]


@dataclass(frozen=True)
class MergeProblem:
    """What does not change while bones begin to follow."""

    pairs: Float64  # (n,n,4,4) A of single bones
    grams: Float64  # (n+1,n+1,4,4) N
    rigid: bool  # whether bones keep their size
    above: Int64 | None = None  # (n,) basic form: bones follow the nearest active one above in the rig, roots come last
    pose: Float64 | None = None  # (n+1,3,4) a default pose that offsets follow from; fitted where there is none

    @property
    def n_bones(self) -> int:
        return len(self.pairs)

    @cached_property
    def own(self) -> Float64:
        """(n+1,4,4) N_bb."""
        return np.ascontiguousarray(np.einsum("bbij->bij", self.grams))

    @cached_property
    def _steepness(self) -> Float64:
        return steepness(self.own, rigid=self.rigid)

    @cached_property
    def _sizes(self) -> Float64:
        """(n+1,) how large each bone plays."""
        stretch = np.einsum("bii->b", self.own[:, :3, :3])
        return np.ones_like(stretch) if self.rigid else np.sqrt(np.maximum(stretch / stretch[-1], 1e-300))

    def fit(self, c: Int64, p: Int64, moments: Float64, slopes: Float64) -> Float64:
        """(m,3,4) the offsets by which bones c (m,) best follow p (m,)."""
        sizes = np.stack([self._steepness[p], self._sizes[c] / self._sizes[p]], axis=1)
        return fit_offsets(self.own[p], moments, slopes, sizes, rigid=self.rigid)


@dataclass(frozen=True, slots=True)
class Follow:
    """A bone began to follow."""

    bone: int
    parent: int  # n: the world
    offset: Float64  # (3,4)
    error: float  # of all, from then on


@dataclass(frozen=True, slots=True)
class MergeState:
    """Some bones active, the others following."""

    problem: MergeProblem
    active: Bool  # (n,)
    pairs: Float64  # (n,n,4,4) A of the clusters
    wrongs: Float64  # (n+1,n,4,4) T_x' H_c
    costs: Float64  # (n,n+1) by how much the error rises if bone c follows p; infinite where it may not
    path: tuple[Follow, ...] = ()

    @property
    def error(self) -> float:
        return self.path[-1].error if self.path else 0.0

    def best(self, most: int) -> list[tuple[float, int, int]]:
        """(error then, bone, parent) of active bones with their best parents, the least errors first."""
        parents = self.costs.argmin(axis=1)
        least = self.costs[np.arange(len(parents)), parents]
        ranked = np.argsort(least, kind="stable")[: min(most, np.count_nonzero(np.isfinite(least)))]
        return [(self.error + float(least[c]), int(c), int(parents[c])) for c in ranked]

    def follow(self, c: int, p: int, *, spent: bool = False) -> MergeState:
        """The state after bone c begins to follow p; one that is `spent` hands its arrays over to it."""
        problem = self.problem
        offset = _offsets(self, np.array([c]), np.array([p]))[0]
        whole = np.eye(4)
        whole[:3] = offset
        pairs = self.pairs if spent and self.path else self.pairs.copy()
        wrongs, active = self.wrongs if spent else self.wrongs.copy(), self.active.copy()
        touched = np.flatnonzero(pairs[c].any(axis=(1, 2)))
        moved = problem.grams[:, p] @ whole - problem.grams[:, c]  # T_x' (T_p O - T_c)
        wrongs[:, touched] += moved[:, None] @ pairs[c, touched]
        if p < problem.n_bones:
            wrongs[:, p] += wrongs[:, c] @ whole.T
            pairs[p] += whole @ pairs[c]
            pairs[:, p] += pairs[:, c] @ whole.T
        pairs[c], pairs[:, c], active[c] = 0, 0, False
        path = (*self.path, Follow(c, p, offset, self.error + float(self.costs[c, p])))
        costs = self.costs.copy()
        costs[c], costs[:, c] = np.inf, np.inf
        state = MergeState(problem, active, pairs, wrongs, costs, path)
        changed = touched if p == problem.n_bones else np.union1d(touched, p)
        return _refreshed(state, changed[active[changed]])


def start_merging(problem: MergeProblem) -> MergeState:
    """All bones active."""
    n = problem.n_bones
    state = MergeState(
        problem, np.ones(n, bool), problem.pairs, np.zeros((n + 1, n, 4, 4)), np.full((n, n + 1), np.inf)
    )
    return _refreshed(state, np.arange(n))


def _refreshed(state: MergeState, changed: Int64) -> MergeState:
    """The costs of clusters that changed, and of those whose parent began to follow, anew."""
    problem, costs = state.problem, state.costs
    if problem.above is None:
        parents = np.append(np.flatnonzero(state.active), problem.n_bones)
        c, p = np.repeat(changed, len(parents)), np.tile(parents, len(changed))
        c, p = c[c != p], p[c != p]
    else:
        nearest = _nearest_active(problem.above, state.active)
        leads = np.isin(np.arange(problem.n_bones), nearest[state.active])
        c = np.flatnonzero(state.active & ((nearest < problem.n_bones) | ~leads))
        p = nearest[c]
    costs[c, p] = _costs(state, c, p)
    return state


def _nearest_active(above: Int64, active: Bool) -> Int64:
    """(n,) the nearest active bone above each, n for none."""
    found = np.full(len(above), len(above))
    for b in range(len(above)):
        up = above[b]
        while up >= 0 and not active[up]:
            up = above[up]
        found[b] = up if up >= 0 else len(above)
    return found


def _slopes(state: MergeState, c: Int64, p: Int64) -> Float64:
    """(m,4,4) K = T_p' (H_c - T_c A_cc)."""
    slopes: Float64 = state.wrongs[p, c] - state.problem.grams[p, c] @ state.pairs[c, c]
    return slopes


def _offsets(state: MergeState, c: Int64, p: Int64) -> Float64:
    """(m,3,4) by which c would follow p."""
    problem = state.problem
    if problem.pose is not None:
        return compose(invert(problem.pose[p]), problem.pose[c])
    return problem.fit(c, p, state.pairs[c, c], _slopes(state, c, p))


def _costs(state: MergeState, c: Int64, p: Int64) -> Float64:
    """(m,) by how much the error rises."""
    problem, moments, slopes = state.problem, state.pairs[c, c], _slopes(state, c, p)
    known = problem.pose is not None
    offsets = _offsets(state, c, p) if known else problem.fit(c, p, moments, slopes)
    changes = offset_costs(problem.own[p], moments, slopes, offsets)
    exact = (problem.own[c] * moments).sum(axis=(1, 2)) - 2 * np.einsum("mii->m", state.wrongs[c, c])
    return np.asarray(changes + exact)
