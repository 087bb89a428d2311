"""Tiny non-negative least squares from normal equations, for one vertex at a time.

    minimise 1/2 w'G w - g'w   subject to w >= 0                       (NNLS: G = A'A, g = A'b)
    minimise w'G w             subject to w >= 0, sum w = 1            (set g to ones, then divide w by its sum)

The second follows from the first: both have the optimality conditions G w - lambda 1 >= 0, zero where w > 0.

Based on: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23, started with every unknown free.
Exact up to rounding; a ridge of RIDGE times the trace keeps singular G (equal bones, perfect fits) solvable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.core.kernels import kernel

__all__ = ["MAX_UNKNOWNS", "minimise_nonnegative", "minimise_on_simplex"]

#: Influences of one vertex, and some to choose from.
MAX_UNKNOWNS = 16
RIDGE = 1e-12


@kernel
def _solve_free(
    G: Float64, g: Float64, free: NDArray[np.int64], n_free: int, ridge: float, work: Float64, solution: Float64
) -> None:
    """Gaussian elimination of the free rows and columns of G + ridge I."""
    for i in range(n_free):
        for j in range(n_free):
            work[i, j] = G[free[i], free[j]]
        work[i, i] += ridge
        work[i, n_free] = g[free[i]]
    for k in range(n_free):
        work[k, k] = max(work[k, k], 0.1 * ridge)
        for i in range(k + 1, n_free):
            factor = work[i, k] / work[k, k]
            for j in range(k, n_free + 1):
                work[i, j] -= factor * work[k, j]
    for k in range(n_free - 1, -1, -1):
        value = work[k, n_free]
        for j in range(k + 1, n_free):
            value -= work[k, j] * solution[j]
        solution[k] = value / work[k, k]


@kernel
def minimise_nonnegative(G: Float64, g: Float64, n: int, w: Float64) -> None:
    """Minimise 1/2 w'G w - g'w over w >= 0 on the leading n unknowns; the answer replaces w."""
    work = np.empty((MAX_UNKNOWNS, MAX_UNKNOWNS + 1))
    solution = np.empty(MAX_UNKNOWNS)
    free = np.empty(MAX_UNKNOWNS, np.int64)
    is_free = np.ones(MAX_UNKNOWNS, np.bool_)
    trace = 0.0
    for i in range(n):
        trace += G[i, i]
    ridge = RIDGE * trace + 1e-300
    for i in range(n):
        w[i] = max(g[i], 0.0) / (trace + 1e-300)  # any feasible start will do
    for _ in range(4 * n + 4):
        n_free = 0
        for i in range(n):
            if is_free[i]:
                free[n_free] = i
                n_free += 1
        _solve_free(G, g, free, n_free, ridge, work, solution)
        step = 2.0
        blocking = -1
        for i in range(n_free):
            if solution[i] < 0:
                limit = w[free[i]] / (w[free[i]] - solution[i])
                if limit < step:
                    step = limit
                    blocking = i
        if blocking >= 0:  # walk to the border, and stay there
            for i in range(n_free):
                w[free[i]] += step * (solution[i] - w[free[i]])
            w[free[blocking]] = 0.0
            is_free[free[blocking]] = False
            continue
        for i in range(n_free):
            w[free[i]] = solution[i]
        best = -1
        steepest = 0.0
        for i in range(n):
            if not is_free[i]:
                slope = g[i]
                size = abs(g[i])
                for j in range(n):
                    slope -= G[i, j] * w[j]
                    size += abs(G[i, j] * w[j])
                if slope > 1e-10 * size and slope > steepest:
                    steepest = slope
                    best = i
        if best < 0:
            break
        is_free[best] = True


@kernel
def minimise_on_simplex(G: Float64, n: int, ones: Float64, w: Float64) -> float:
    """Minimise w'G w over w >= 0, sum w = 1; returns the minimum. `ones` holds ones."""
    minimise_nonnegative(G, ones, n, w)
    total = 0.0
    for i in range(n):
        total += w[i]
    value = 0.0
    for i in range(n):
        w[i] /= total
    for i in range(n):
        for j in range(n):
            value += w[i] * w[j] * G[i, j]
    return value
