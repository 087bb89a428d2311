"""Backward search for a progressive hierarchy: which bone follows which next, from all bones active to none.

    minimise over orders and parents    mean_n log(e_n) + mean over a quarter, half, three quarters of log(e_n)

with e_n the share of the error that n active bones leave, and a floor below which nothing is seen. The three counts are
those that people bake levels at. Several states with equally many active bones go on, half of them those of the least
error, half of them those of the best path so far: rank = log(e_n) + MEMORY rank_before. Orders that were found by other
means walk along, take part with whatever follows from their states, and may win as they are.

Notes, share of the error in % at a quarter and half, and seconds. Fox Run: 1 state 4.09, 0.77; 8 by the path alone
4.07, 0.75; 8 by both 3.34, 0.71 (0.15 s); 16 by both 3.32, 0.69 (0.27 s). Soldier Run: 4 states .0551, 1.3e-4, 6 states
.0519, 1.1e-4, 12 the same. By the error alone the paths that come out have lost what was best on the way: worse than
one state. A parent that stays (the world) brings Fox Walk from 6.4, 1.30 to 4.0, 0.98, CesiumMan from 2.6 to 1.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.lod.search.merge_state import MergeState

__all__ = ["BAKED_SHARES", "errors_of", "order_of", "score_errors", "search_backward"]

#: States that go on, by how many bones there are at most.
WIDTHS = ((32, 16), (64, 6), (128, 3))
MEMORY = 0.9
#: Errors below this share are as good as none: about 1e-4 of the diagonal.
FLOOR = 1e-6
#: Parts of the bones at which levels are baked.
BAKED_SHARES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A state, how good it and those before it are, and the order that it keeps to, if it does."""

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
    rank: float
    order: Sequence[int] | None = None


def search_backward(start: MergeState, base: float, orders: Sequence[Sequence[int]] = ()) -> list[MergeState]:
    """States with no active bone, the best first; their paths say who followed whom. Errors are judged by `base`."""
    width = next((wide for most, wide in WIDTHS if start.problem.n_bones <= most), 1)
    floor = FLOOR * base + 1e-300
    ranked = [_Ranked(0.0, start), *(_Ranked(0.0, start, order) for order in orders)]
    for _ in range(start.problem.n_bones):
        ranked = _next_states(ranked, width, floor)
    return sorted((r.state for r in ranked), key=lambda state: score_errors(errors_of(state), base))


def _next_states(ranked: list[_Ranked], width: int, floor: float) -> list[_Ranked]:
    """States with one active bone less: the best ones, no set of active bones twice, and those of the orders."""
    choices = [c for i in range(len(ranked)) for c in _free_choices(ranked, i, width, floor)]
    found: dict[bytes, _Choice] = {}
    by_rank, by_error = sorted(choices, key=lambda c: c.rank), sorted(choices, key=lambda c: c.log_error)
    for most, best in ((-(-width // 2), by_rank), (width, by_error)):
        for choice in best:
            if len(found) == most:
                break
            active = ranked[choice.source].state.active.copy()
            active[choice.bone] = False
            found.setdefault(active.tobytes(), choice)
    kept = [*found.values(), *(_ordered_choice(ranked, i, floor) for i, r in enumerate(ranked) if r.order is not None)]
    last = {choice.source: number for number, choice in enumerate(kept)}
    return [_taken(ranked[c.source].state, c, spent=last[c.source] == number) for number, c in enumerate(kept)]


def _free_choices(ranked: list[_Ranked], i: int, width: int, floor: float) -> Iterator[_Choice]:
    for error, bone, parent in ranked[i].state.best()[:width]:
        log_error = float(np.log(max(error, 0.0) + floor))
        yield _Choice(i, bone, parent, log_error, log_error + MEMORY * ranked[i].rank)


def _ordered_choice(ranked: list[_Ranked], i: int, floor: float) -> _Choice:
    """The next bone of the order that a state keeps to, with its best parent."""
    state, order = ranked[i].state, ranked[i].order or ()
    bone = order[len(order) - 1 - len(state.path)]
    parent = int(state.costs[bone].argmin())
    log_error = float(np.log(max(state.error + state.costs[bone, parent], 0.0) + floor))
    return _Choice(i, bone, parent, log_error, log_error + MEMORY * ranked[i].rank, order)


def _taken(state: MergeState, choice: _Choice, *, spent: bool) -> _Ranked:
    after = state.follow(choice.bone, choice.parent, spent=spent and bool(state.path))
    return _Ranked(choice.rank, after, choice.order)


def order_of(state: MergeState) -> list[int]:
    """All bones, the one that followed last first."""
    return [follow.bone for follow in reversed(state.path)]


def errors_of(state: MergeState) -> Float64:
    """(n+1,) errors of 0 … n active bones along the path of a state without any."""
    return np.array([follow.error for follow in reversed(state.path)] + [0.0])


def score_errors(errors: Float64, base: float) -> float:
    """How good errors (n+1,) of 0 … n active bones are; the less the better."""
    shares = np.maximum(np.minimum.accumulate(errors), 0) / (base + 1e-300)
    logs = np.log(shares + FLOOR)
    n_bones = len(errors) - 1
    return float(logs[1:].mean() + logs[[count_of(part, n_bones) for part in BAKED_SHARES]].mean())


def count_of(part: float, n_bones: int) -> int:
    """How many bones are a part 0 … 1 of all, at least one."""
    return max(1, int(np.floor(part * n_bones + 0.5)))
