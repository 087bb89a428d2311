"""Backward search for a progressive hierarchy: which bone follows which next, from all bones active to none.

    minimise over orders and parents    sum_n  weight_n regret_n^2,     regret_n = log(e_n / best_n)

e_n is the share of the error that n active bones leave, with a floor below which nothing is seen, best_n the least that
was met with n bones. A nested order cannot be best at every count; squares make it nearly so at all of them. The counts
that people bake levels at weigh more.

Several states with equally many active bones go on, half of them those of the least error, half of them those of the
best path so far. Orders that were found by other means walk along, take part with whatever follows from their states,
and may win as they are.

Notes, share of the error in % at a quarter and half, and seconds. Fox Run: 1 state 4.09, 0.77; 8 by the path alone
4.07, 0.75; 8 by both 3.34, 0.71 (0.15 s); 16 by both 3.32, 0.69 (0.27 s). Soldier Run: 4 states .0551, 1.3e-4, 6 states
.0519, 1.1e-4, 12 the same. By the error alone the paths that come out have lost what was best on the way: worse than
one state. The sum of logarithms instead of squared regrets: up to 3.1 times the best sets of single counts (8 joints).
A parent that stays (the world) brings Fox Walk from 6.4, 1.30 to 4.0, 0.98, CesiumMan from 2.6 to 1.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from osteon.lod.search.merge_state import MergeState

__all__ = ["BAKED_SHARES", "count_of", "order_of", "search_backward"]

#: States that go on, by how many bones there are at most.
WIDTHS = ((14, 32), (32, 16), (64, 6), (128, 3))
#: How many times fewer of the basic form, whose bones have one parent to choose from.
BASIC = 3
#: Errors below this share are as good as none: about 1e-4 of the diagonal.
FLOOR = 1e-6
#: Parts of the bones at which levels are baked, and how much more these counts weigh.
BAKED_SHARES = (0.25, 0.5, 0.75)
BAKED_WEIGHT = 4.0
#: What it costs to be above the limit once, and what is not above it yet.
ABOVE, EQUAL = 1e6, 1e-6


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A state, what its path has cost so far, and the order that it keeps to, if it does."""

    rank: float
    state: MergeState
    order: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class _Choice:
    """A state with one active bone less."""

    source: int  # which of the states before
    bone: int
    parent: int
    log_error: float
    order: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class _Judge:
    """What an error costs at one count."""

    weight: float
    most: float  # the logarithm that it should not exceed

    def price(self, log_error: float, best: float) -> float:
        return self.weight * (log_error - best) ** 2 + (ABOVE if log_error > self.most + EQUAL else 0.0)


def search_backward(
    start: MergeState, base: float, orders: Sequence[Sequence[int]] = (), limit: MergeState | None = None
) -> list[MergeState]:
    """States with no active bone, the best first; their paths say who followed whom. Errors are judged by `base`.

    A path that is above that of `limit` where levels are baked comes after all that are not.
    """
    n_bones = start.problem.n_bones
    width = next((wide for most, wide in WIDTHS if n_bones <= most), 1)
    if start.problem.above is not None:
        width = -(-width // BASIC)
    floor = FLOOR * base + 1e-300
    baked = {count_of(part, n_bones) for part in BAKED_SHARES}
    ranked = [_Ranked(0.0, start), *(_Ranked(0.0, start, order) for order in orders)]
    for count in reversed(range(n_bones)):
        most = np.inf
        if limit is not None and count in baked:
            most = _log(limit.path[n_bones - 1 - count].error, floor)
        weight = 0.0 if count == 0 else BAKED_WEIGHT if count in baked else 1.0
        ranked = _next_states(ranked, width, floor, _Judge(weight, most))
    return [r.state for r in sorted(ranked, key=lambda r: r.rank)]


def _next_states(ranked: list[_Ranked], width: int, floor: float, judge: _Judge) -> list[_Ranked]:
    """States with one active bone less: the best ones, no set of active bones twice, and those of the orders."""
    ordered = [_ordered_choice(ranked, i, floor) for i, r in enumerate(ranked) if r.order is not None]
    choices = [c for i in range(len(ranked)) for c in _free_choices(ranked, i, width, floor)]
    best = min(choice.log_error for choice in (*choices, *ordered))

    def rank_of(choice: _Choice) -> float:
        return ranked[choice.source].rank + judge.price(choice.log_error, best)

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
    """The next bone of the order that a state keeps to, with its best parent."""
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


def count_of(part: float, n_bones: int) -> int:
    """How many bones are a part 0 … 1 of all, at least one."""
    return max(1, int(np.floor(part * n_bones + 0.5)))
