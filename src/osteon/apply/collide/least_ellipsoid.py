"""A small ellipsoid around points at the origin.

    E: every point e_v = E' y with |y| <= 1

It has the axes of the largest singular values, at most MODES, and within them is nearly the least one: Khachiyan's
multiplicative steps  s_v <- s_v (e_v' M^-1 e_v) / m,  M = sum_v s_v e_v e_v'  (s sums to one) end where M spans the
ellipsoid of least volume up to a factor m. It is then scaled so that it holds every point, whatever the steps left.

Based on: L. Khachiyan, Rounding of polytopes in the real number model of computation, 1996.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.kernels import compiled_by, lean

#: Axes, steps, and points that it is fitted to; all are held.
MODES, STEPS = 8, 12


def least_ellipsoid(points: Float64) -> tuple[Float64, Float64]:
    """(m,b) E for points (v,b), and (b,) how far they are from the space of its axes at most."""
    moment = points.T @ points
    values, vectors = np.linalg.eigh(moment)
    kept = values > max(1e-12 * values[-1], 1e-18)
    kept[:-MODES] = False
    axes = vectors[:, kept]
    inside = points @ axes
    left = np.abs(points - inside @ axes.T).max(axis=0)
    if not kept.any():
        return np.zeros((0, points.shape[1])), left
    scale = np.abs(inside).max(axis=0)
    unit = np.ascontiguousarray(inside / scale)
    root = np.zeros((len(scale), len(scale)))
    _round(unit, np.full(len(unit), 1 / len(unit)), root, np.empty(len(scale)))
    return (scale[:, None] * root).T @ axes.T * (1 + 1e-9), left * (1 + 1e-9)


@compiled_by({"_nrt": False}, "f8.2r f8.1 f8.2 f8.1")
def _round(points: Float64, shares: Float64, root: Float64, solved: Float64) -> None:
    """root (m,m) lower triangular: points (v,m) are root y with |y| <= 1."""
    m, far = points.shape[1], 0.0
    for step in range(STEPS + 1):
        _factor_moment(points, shares, root)
        total, far = 0.0, 0.0
        for v in range(points.shape[0]):
            reach = 0.0
            for i in range(m):
                s = points[v, i]
                for j in range(i):
                    s -= root[i, j] * solved[j]
                solved[i] = s / root[i, i]
                reach += solved[i] * solved[i]
            far = max(far, reach)
            if step < STEPS:
                shares[v] *= reach / m
                total += shares[v]
        for v in range(points.shape[0]):
            shares[v] /= total if total > 0 else 1.0
    for i in range(m):
        for j in range(i + 1):
            root[i, j] *= np.sqrt(far)


@lean
def _factor_moment(points: Float64, shares: Float64, root: Float64) -> None:
    """root (m,m) = the Cholesky factor of sum_v s_v e_v e_v' with a small ridge."""
    m = points.shape[1]
    for i in range(m):
        for j in range(i + 1):
            total = 1e-9 if i == j else 0.0
            for v in range(points.shape[0]):
                total += shares[v] * points[v, i] * points[v, j]
            for k in range(j):
                total -= root[i, k] * root[j, k]
            root[i, j] = np.sqrt(max(total, 1e-18)) if i == j else total / root[j, j]
