"""Backward search for a progressive hierarchy: from all bones active to none, one more bone follows in each step.

    minimise over orders and parents    sum_n  weight_n regret_n^2,     regret_n = log(e_n / best_n)

e_n is the relative error with n active bones, with a floor below which differences are invisible, best_n the least
found with n bones. A nested order cannot be best at every count; squares make it nearly best at all of them. The counts
at which levels are usually baked have a larger weight.

The search is a beam search: of the states with equally many active bones, half are kept for the least error and half
for the best path so far. Orders from other searches are followed as well; their states may branch, or be the
best unchanged.

Notes, share of the error in % at a quarter and half, and seconds. Fox Run: 1 state 4.09, 0.77; 8 by the path alone
4.07, 0.75; 8 by both 3.34, 0.71 (0.15 s); 16 by both 3.32, 0.69 (0.27 s). Soldier Run: 4 states .0551, 1.3e-4, 6 states
.0519, 1.1e-4, 12 the same. By the error alone the resulting paths are worse than with one state. The sum of
logarithms instead of squared regrets: up to 3.1 times the best sets of single counts (8 joints).
Allowing the world, which does not move, as a parent reduces Fox Walk from 6.4, 1.30 to 4.0, 0.98, and CesiumMan from
2.6 to 1.1.

**State.** The errors of all next choices are updated in each step, without reading vertices or frames.

Every active bone has a cluster: itself and all that follow it, as one rigid body. When c begins to follow p by O,

    z_p += O z_c,     and the error changes by   2 <T_p O - T_c, H_c> + <(T_p O - T_c) A_cc, T_p O - T_c>

with A the pair moments of the clusters and H_c = sum_v r_v z_vc' of the present error (r_v = posed minus exact).
Of H_c the cost of a pair (c,p) needs T_p' H_c and T_c' H_c, which are kept for all bones; N_xy = sum_f T_x' T_y.

    symbol    name
    A         pairs (n,n,4,4)
    N         grams (n+1,n+1,4,4); bone n is the world, which does not move and is free
    T_x' H_c  residuals (n+1,n,4,4)

One offset per bone serves all levels: a cluster is fitted as a whole, with all bones that follow already.
Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.3, backwards: from all bones to the root.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from osteon.core.arrays import Bool, Float64, Int64
from osteon.core.transforms import compose, invert
from osteon.lod.bone_order import count_of_part
from osteon.lod.search.pair_moments import fit_offsets, offset_costs, steepness


@dataclass(frozen=True)
class MergeProblem:
    """The constant data of a search."""

    pairs: Float64  # (n,n,4,4) A of single bones
    grams: Float64  # (n+1,n+1,4,4) N
    rigid: bool  # whether bones keep their size
    rig_parents: Int64 | None = (
        None  # (n,) basic form: bones follow the nearest active ancestor in the rig, roots come last
    )
    pose: Float64 | None = None  # (n+1,3,4) a default pose that defines the offsets; fitted if None

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
        """(n+1,) size of each posed bone."""
        stretch = np.einsum("bii->b", self.own[:, :3, :3])
        return np.ones_like(stretch) if self.rigid else np.sqrt(np.maximum(stretch / stretch[-1], 1e-300))

    def fit(self, c: Int64, p: Int64, moments: Float64, slopes: Float64) -> Float64:
        """(m,3,4) the best offsets of bones c (m,) to parents p (m,)."""
        sizes = np.stack([self._steepness[p], self._sizes[c] / self._sizes[p]], axis=1)
        return fit_offsets(self.own[p], moments, slopes, sizes, rigid=self.rigid)


@dataclass(frozen=True, slots=True)
class Follow:
    """A step: a bone begins to follow."""

    bone: int
    parent: int  # n: the world
    offset: Float64  # (3,4)
    error: float  # total, after this step


@dataclass(frozen=True, slots=True)
class MergeState:
    """Some bones active, the others following."""

    problem: MergeProblem
    active: Bool  # (n,)
    pairs: Float64  # (n,n,4,4) A of the clusters
    residuals: Float64  # (n+1,n,4,4) T_x' H_c
    costs: Float64  # (n,n+1) increase of the error if bone c follows p; infinite if it may not
    path: tuple[Follow, ...] = ()

    @property
    def error(self) -> float:
        return self.path[-1].error if self.path else 0.0

    def best(self, most: int) -> list[tuple[float, int, int]]:
        """(resulting error, bone, parent) of active bones with their best parents, the least errors first."""
        parents = self.costs.argmin(axis=1)
        least = self.costs[np.arange(len(parents)), parents]
        ranked = np.argsort(least, kind="stable")[: min(most, np.count_nonzero(np.isfinite(least)))]
        return [(self.error + float(least[c]), int(c), int(parents[c])) for c in ranked]

    def follow(self, c: int, p: int, *, spent: bool = False) -> MergeState:
        """The state after bone c begins to follow p; it reuses the arrays of a state that is `spent`."""
        problem = self.problem
        offset = _offsets(self, np.array([c]), np.array([p]))[0]
        whole = np.eye(4)
        whole[:3] = offset
        pairs = self.pairs if spent and self.path else self.pairs.copy()
        residuals, active = self.residuals if spent else self.residuals.copy(), self.active.copy()
        touched = np.flatnonzero(pairs[c].any(axis=(1, 2)))
        moved = problem.grams[:, p] @ whole - problem.grams[:, c]  # T_x' (T_p O - T_c)
        residuals[:, touched] += moved[:, None] @ pairs[c, touched]
        if p < problem.n_bones:
            residuals[:, p] += residuals[:, c] @ whole.T
            pairs[p] += whole @ pairs[c]
            pairs[:, p] += pairs[:, c] @ whole.T
        pairs[c], pairs[:, c], active[c] = 0, 0, False
        path = (*self.path, Follow(c, p, offset, self.error + float(self.costs[c, p])))
        costs = self.costs.copy()
        costs[c], costs[:, c] = np.inf, np.inf
        state = MergeState(problem, active, pairs, residuals, costs, path)
        changed = touched if p == problem.n_bones else np.union1d(touched, p)
        return _refreshed(state, changed[active[changed]])


def start_merging(problem: MergeProblem) -> MergeState:
    """The state with all bones active."""
    n = problem.n_bones
    state = MergeState(
        problem, np.ones(n, bool), problem.pairs, np.zeros((n + 1, n, 4, 4)), np.full((n, n + 1), np.inf)
    )
    return _refreshed(state, np.arange(n))


def _refreshed(state: MergeState, changed: Int64) -> MergeState:
    """Recompute the costs of changed clusters, and of those whose parent began to follow."""
    problem, costs = state.problem, state.costs
    if problem.rig_parents is None:
        parents = np.append(np.flatnonzero(state.active), problem.n_bones)
        c, p = np.repeat(changed, len(parents)), np.tile(parents, len(changed))
        c, p = c[c != p], p[c != p]
    else:
        nearest = _nearest_active(problem.rig_parents, state.active)
        has_followers = np.isin(np.arange(problem.n_bones), nearest[state.active])
        c = np.flatnonzero(state.active & ((nearest < problem.n_bones) | ~has_followers))
        p = nearest[c]
    costs[c, p] = _costs(state, c, p)
    return state


def _nearest_active(parents: Int64, active: Bool) -> Int64:
    """(n,) the nearest active ancestor of each bone, n for none."""
    found = np.full(len(parents), len(parents))
    for b in range(len(parents)):
        ancestor = parents[b]
        while ancestor >= 0 and not active[ancestor]:
            ancestor = parents[ancestor]
        found[b] = ancestor if ancestor >= 0 else len(parents)
    return found


def _slopes(state: MergeState, c: Int64, p: Int64) -> Float64:
    """(m,4,4) K = T_p' (H_c - T_c A_cc)."""
    slopes: Float64 = state.residuals[p, c] - state.problem.grams[p, c] @ state.pairs[c, c]
    return slopes


def _offsets(state: MergeState, c: Int64, p: Int64) -> Float64:
    """(m,3,4) the offsets with which c would follow p."""
    problem = state.problem
    if problem.pose is not None:
        return compose(invert(problem.pose[p]), problem.pose[c])
    return problem.fit(c, p, state.pairs[c, c], _slopes(state, c, p))


def _costs(state: MergeState, c: Int64, p: Int64) -> Float64:
    """(m,) increase of the error."""
    problem, moments, slopes = state.problem, state.pairs[c, c], _slopes(state, c, p)
    known = problem.pose is not None
    offsets = _offsets(state, c, p) if known else problem.fit(c, p, moments, slopes)
    changes = offset_costs(problem.own[p], moments, slopes, offsets)
    exact = (problem.own[c] * moments).sum(axis=(1, 2)) - 2 * np.einsum("mii->m", state.residuals[c, c])
    return np.asarray(changes + exact)


#: Beam width, by the number of bones.
WIDTHS = ((14, 32), (32, 16), (64, 6), (128, 3))
#: The beam is narrower by this factor in the basic form, which has one candidate parent per bone.
BASIC = 3
#: Relative errors below this are invisible: about 1e-4 of the diagonal.
FLOOR = 1e-6
#: Fractions of the bones at which levels are baked, and the weight of these counts.
BAKED_PARTS = (0.25, 0.5, 0.75)
BAKED_WEIGHT = 4.0
#: Penalty for exceeding the limit, equal to that of 1.6 times the best at such a count; its slope over the logarithm;
#: and the tolerance of the limit.
ABOVE, STEEP, EQUAL = 0.88, 8.0, 1e-6


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A state, the cost of its path so far, and the order that it follows, if any."""

    rank: float
    state: MergeState
    order: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class _Choice:
    """A state with one active bone less."""

    source: int  # index of the previous state
    bone: int
    parent: int
    log_error: float
    order: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class _Pricing:
    """The cost of an error at one count."""

    weight: float
    most: float  # the logarithm that it should not exceed

    def price(self, log_error: float, best: float) -> float:
        excess = log_error - self.most
        return self.weight * (log_error - best) ** 2 + (ABOVE + STEEP * excess if excess > EQUAL else 0.0)


def search_backward(
    start: MergeState, base: float, orders: Sequence[Sequence[int]] = (), limit: MergeState | None = None
) -> list[MergeState]:
    """States with no active bone, the best first; their paths list the steps. Errors are relative to `base`.

    A path with larger errors than that of `limit` at the counts of baked levels is penalised.
    """
    n_bones = start.problem.n_bones
    width = next((wide for most, wide in WIDTHS if n_bones <= most), 1)
    if start.problem.rig_parents is not None:
        width = -(-width // BASIC)
    floor = FLOOR * base + 1e-300
    baked = {count_of_part(part, n_bones) for part in BAKED_PARTS}
    ranked = [_Ranked(0.0, start), *(_Ranked(0.0, start, order) for order in orders)]
    for count in reversed(range(n_bones)):
        most = np.inf
        if limit is not None and count in baked:
            most = _log(limit.path[n_bones - 1 - count].error, floor)
        weight = 0.0 if count == 0 else BAKED_WEIGHT if count in baked else 1.0
        ranked = _next_states(ranked, width, floor, _Pricing(weight, most))
    return [r.state for r in sorted(ranked, key=lambda r: r.rank)]


def _next_states(ranked: list[_Ranked], width: int, floor: float, pricing: _Pricing) -> list[_Ranked]:
    """The best states with one active bone less, each set of active bones once, and those of the given orders."""
    ordered = [_ordered_choice(ranked, i, floor) for i, r in enumerate(ranked) if r.order is not None]
    choices = [c for i in range(len(ranked)) for c in _free_choices(ranked, i, width, floor)]
    best = min(choice.log_error for choice in (*choices, *ordered))

    def rank_of(choice: _Choice) -> float:
        return ranked[choice.source].rank + pricing.price(choice.log_error, best)

    found: dict[bytes, _Choice] = {}
    by_rank, by_error = sorted(choices, key=rank_of), sorted(choices, key=lambda c: c.log_error)
    for most, some in ((-(-width // 2), by_rank), (width, by_error)):
        for choice in some:
            if len(found) == most:
                break
            active = ranked[choice.source].state.active.copy()
            active[choice.bone] = False
            found.setdefault(active.tobytes(), choice)
    kept = [*found.values(), *ordered]
    last = {choice.source: number for number, choice in enumerate(kept)}
    return [
        _Ranked(rank_of(c), _followed(ranked[c.source].state, c, spent=last[c.source] == number), c.order)
        for number, c in enumerate(kept)
    ]


def _free_choices(ranked: list[_Ranked], i: int, width: int, floor: float) -> Iterator[_Choice]:
    for error, bone, parent in ranked[i].state.best(width):
        yield _Choice(i, bone, parent, _log(error, floor))


def _ordered_choice(ranked: list[_Ranked], i: int, floor: float) -> _Choice:
    """The next bone of the order that a state follows, with its best parent."""
    state, order = ranked[i].state, ranked[i].order or ()
    bone = order[len(order) - 1 - len(state.path)]
    parent = int(state.costs[bone].argmin())
    return _Choice(i, bone, parent, _log(state.error + float(state.costs[bone, parent]), floor), order)


def _log(error: float, floor: float) -> float:
    return float(np.log(max(error, 0.0) + floor))


def _followed(state: MergeState, choice: _Choice, *, spent: bool) -> MergeState:
    return state.follow(choice.bone, choice.parent, spent=spent and bool(state.path))


def order_of(state: MergeState) -> list[int]:
    """All bones, the one that followed last first."""
    return [follow.bone for follow in reversed(state.path)]
