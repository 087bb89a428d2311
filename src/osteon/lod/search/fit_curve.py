"""How one number, 0 … 1, is spent on bones and on blends: always on what lowers the error most for its cost.

    cost(n,k) = 1/2 (n - 1) / (N - 1) + 1/2 (ops(k) - ops(1)) / (ops(K) - ops(1))

From one bone and one blend to all of both, each step goes to the count of bones, or to one blend more, for which the
error falls most a unit of cost. The level is the cost, so half of it is what bones can take and half what blends can.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4 ("a value representing the % of maximum
computation") and table 2.
Differs from the paper: it does not say how the value is split.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.lod.level_curve import LevelCurve

__all__ = ["fit_curve", "vertex_operations"]

#: Operations a vertex with 1 to 4 blends (table 2); every blend beyond costs as much as the fourth.
OPERATIONS = (20.0, 35.0, 43.0, 50.0)


def vertex_operations(n_blends: int) -> Float64:
    """(k,) what a vertex costs with 1 … k blends."""
    beyond = OPERATIONS[-1] + (OPERATIONS[-1] - OPERATIONS[-2]) * np.arange(1, max(1, n_blends - 3))
    return np.concatenate([OPERATIONS, beyond])[:n_blends]


def fit_curve(errors: Float64, samples: int) -> LevelCurve:
    """The curve of a clip from squared errors (n+1,k) with 0 … n bones and 1 … k blends, sums of so many samples."""
    n_bones, n_blends = len(errors) - 1, errors.shape[1]
    costs = _costs(n_bones, n_blends)
    here, knots = (1, 0), [(1, 0)]
    if (n_bones, n_blends) == (1, 1):
        return LevelCurve(np.array([0.0, 1.0]), np.ones(2), np.ones(2), np.sqrt(errors[[1, 1], 0] / samples))
    while here != (n_bones, n_blends - 1):
        here = _next_knot(errors, costs, here)
        knots.append(here)
    n, k = np.array(knots).T
    levels = costs[n, k]
    return LevelCurve(levels, n.astype(np.float64), k + 1.0, np.sqrt(errors[n, k] / samples))


def _costs(n_bones: int, n_blends: int) -> Float64:
    """(n+1,k) the share of the full cost, from 0 for one bone and one blend to 1."""
    bones = np.maximum(np.arange(n_bones + 1) - 1, 0) / max(1, n_bones - 1)
    operations = vertex_operations(n_blends)
    blends = (operations - operations[0]) / max(1.0, float(operations[-1] - operations[0]))
    shares = np.array([n_bones > 1, n_blends > 1], np.float64)
    shares /= max(1.0, shares.sum())
    whole: Float64 = shares[0] * bones[:, None] + shares[1] * blends
    return np.asarray(whole / max(whole[-1, -1], 1e-300))


def _next_knot(errors: Float64, costs: Float64, here: tuple[int, int]) -> tuple[int, int]:
    """More bones or one blend more, whichever lowers the error most for what it costs; of equals the cheaper."""
    n, k = here
    ahead = [(m, k) for m in range(n + 1, len(errors))] + ([(n, k + 1)] if k + 1 < errors.shape[1] else [])
    gains = [(errors[here] - errors[to]) / (costs[to] - costs[here]) for to in ahead]
    best = max(gains)
    return min((to for to, gain in zip(ahead, gains, strict=True) if gain >= best), key=lambda to: costs[to])
