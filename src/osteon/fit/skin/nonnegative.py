"""Tiny non-negative least squares from normal equations, one problem for each vertex.

    minimise 1/2 w'G w - g'w   subject to w >= 0                       (NNLS: G = A'A, g = A'b)
    minimise w'G w             subject to w >= 0, sum w = 1            (set g to ones, then divide w by its sum)

The second follows from the first: both have the optimality conditions G w - lambda 1 >= 0, zero where w > 0.

Based on: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23, started with every unknown free.
Exact up to rounding; a ridge of RIDGE times the trace keeps singular G (equal bones, perfect fits) solvable.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.kernels import kernel

#: Largest number of unknowns: the influences of one vertex and further candidates.
MAX_UNKNOWNS = 16
RIDGE = 1e-12


@kernel("f8.3r f8.2r i8.1r f8.2 f8.2 i8.2")
def minimise_rows(G: Float64, g: Float64, counts: Int64, w: Float64, work: Float64, marks: Int64) -> None:
    """Minimise every row's problem on its leading unknowns; the answers replace w (v,n).

    work (16,17) and marks (2,16) are scratch.
    """
    for v in range(counts.shape[0]):
        n = counts[v]
        trace = 0.0
        for i in range(n):
            trace += G[v, i, i]
        ridge = RIDGE * trace + 1e-300
        for i in range(n):
            w[v, i] = max(g[v, i], 0.0) / (trace + 1e-300)  # any feasible start will do
            marks[1, i] = 1  # free
        for _ in range(4 * n + 4):
            n_free = 0
            for i in range(n):
                if marks[1, i] == 1:
                    marks[0, n_free] = i
                    n_free += 1
            # Gaussian elimination of the free rows and columns of G + ridge I; the solution replaces the last column.
            for i in range(n_free):
                row = marks[0, i]
                for j in range(n_free):
                    work[i, j] = G[v, row, marks[0, j]]
                work[i, i] += ridge
                work[i, n_free] = g[v, row]
            for k in range(n_free):
                work[k, k] = max(work[k, k], 0.1 * ridge)
                for i in range(k + 1, n_free):
                    factor = work[i, k] / work[k, k]
                    for j in range(k, n_free + 1):
                        work[i, j] -= factor * work[k, j]
            step = 2.0
            blocking = -1
            for k in range(n_free - 1, -1, -1):
                value = work[k, n_free]
                for j in range(k + 1, n_free):
                    value -= work[k, j] * work[j, n_free]
                value /= work[k, k]
                work[k, n_free] = value
                if value < 0:
                    now = w[v, marks[0, k]]
                    limit = now / (now - value)
                    if limit <= step:
                        step = limit
                        blocking = k
            if blocking >= 0:  # move to the boundary of the feasible set
                for i in range(n_free):
                    row = marks[0, i]
                    w[v, row] += step * (work[i, n_free] - w[v, row])
                w[v, marks[0, blocking]] = 0.0
                marks[1, marks[0, blocking]] = 0
                continue
            for i in range(n_free):
                w[v, marks[0, i]] = work[i, n_free]
            best = -1
            steepest = 0.0
            for i in range(n):
                if marks[1, i] == 0:
                    slope = g[v, i]
                    size = abs(slope)
                    for j in range(n):
                        part = G[v, i, j] * w[v, j]
                        slope -= part
                        size += abs(part)
                    if slope > 1e-10 * size and slope > steepest:
                        steepest = slope
                        best = i
            if best < 0:
                break
            marks[1, best] = 1


def _minimise(G: Float64, g: Float64, counts: Int64) -> Float64:
    out = np.zeros(G.shape[:2])
    work, marks = np.empty((MAX_UNKNOWNS, MAX_UNKNOWNS + 1)), np.empty((2, MAX_UNKNOWNS), np.int64)
    minimise_rows(np.ascontiguousarray(G), np.ascontiguousarray(g), counts, out, work, marks)
    return out


def minimise_nonnegative(G: Float64, g: Float64) -> Float64:
    """(v,n) the minimisers of 1/2 w'G w - g'w over w >= 0, for G (v,n,n) and g (v,n)."""
    return _minimise(G, g, np.full(len(G), G.shape[1]))


def minimise_on_simplex(G: Float64, counts: Int64) -> Float64:
    """(v,n) the minimisers of w'G w over w >= 0, sum w = 1; over the first `counts` unknowns."""
    out = _minimise(G, np.ones(G.shape[:2]), counts)
    out /= out.sum(axis=1, keepdims=True)
    return out
