"""Columns that never raise the error, however many of the last ones are cut.

    e_r = sum_v e_r(v),   e_r(v) = sum_f || A (p_v + sum_{s <= r} U_sv q_s^f) + t - x_v^f ||^2,   wanted: e_r <= e_{r-1}

Columns that are fitted together are the best together. Cut, they may do harm: where a blend A all but vanishes in one
frame, a vertex asks for a huge displacement there, which the columns add up to and cancel everywhere else. Such
vertices are few and each has its own displacements, so only they are fitted again, column after column, each to what
the ones before have left. That cannot raise e_r(v). The coefficients stay, so no other vertex notices.

As many columns as frames can be exact, and then no vertex has a choice: see `exact_corrections` in displacements.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64
from osteon.core.kernels import kernel
from osteon.core.parallel import for_blocks
from osteon.deform.blending import blend_at
from osteon.fit.corrections.columns import VERTICES_A_BLOCK, ColumnFit, SkinState, cholesky_solve, moved_point
from osteon.fit.problem import FitProblem

__all__ = ["errors_of_ranks", "never_rising", "rises"]

#: Of the diagonal of the 3x3 systems.
DAMPING = 1e-8
#: Of the motion: E of 1e-5 %, which is what single precision leaves of a good fit.
ROUNDING = 1e-7


@kernel
def _errors_block(
    points: Float64,
    targets: Float32,
    fixed: Float64,
    fixed_q: Float64,
    basis: Float64,
    q: Float64,
    transforms: Float64,
    bones: NDArray[np.int64],
    weights: Float64,
    start: int,
    stop: int,
    out: Float64,
) -> None:
    A = np.empty((3, 4))
    P = np.empty(3)
    left = np.empty(3)
    for v in range(start, stop):
        out[v] = 0.0
        for f in range(q.shape[0]):
            blend_at(bones[v], weights[v], transforms[f], A)
            moved_point(points[v], fixed[v], fixed_q[f], P)
            for i in range(3):
                left[i] = A[i, 0] * P[0] + A[i, 1] * P[1] + A[i, 2] * P[2] + A[i, 3] - targets[v, 3 * f + i]
            out[v, 0] += left[0] ** 2 + left[1] ** 2 + left[2] ** 2
            for r in range(q.shape[1]):
                for i in range(3):
                    moved = A[i, 0] * basis[v, r, 0] + A[i, 1] * basis[v, r, 1] + A[i, 2] * basis[v, r, 2]
                    left[i] += q[f, r] * moved
                out[v, r + 1] += left[0] ** 2 + left[1] ** 2 + left[2] ** 2


def errors_of_ranks(
    problem: FitProblem, skin: SkinState, columns: ColumnFit, fixed: ColumnFit, threads: int
) -> Float64:
    """(v,r+1) squared error of every vertex with the fixed columns and the first 0, 1, … r of the others."""
    out = np.empty((problem.n_vertices, columns.rank + 1))

    def work(start: int, stop: int) -> None:
        _errors_block(
            problem.points,
            problem.targets,
            fixed.basis,
            fixed.coefficients,
            columns.basis,
            columns.coefficients,
            skin.transforms,
            skin.bones,
            skin.weights,
            start,
            stop,
            out,
        )

    for_blocks(work, problem.n_vertices, VERTICES_A_BLOCK, threads)
    return out


@kernel
def _one_by_one(
    points: Float64,
    targets: Float32,
    fixed: Float64,
    fixed_q: Float64,
    q: Float64,
    transforms: Float64,
    bones: NDArray[np.int64],
    weights: Float64,
    chosen: NDArray[np.intp],
    start: int,
    stop: int,
    basis: Float64,
    errors: Float64,
) -> None:
    """Displacements of the chosen vertices, column after column on what is left, and their errors."""
    n_frames = q.shape[0]
    A = np.empty((n_frames, 3, 4))
    left = np.empty((n_frames, 3))
    P = np.empty(3)
    N = np.empty((3, 3))
    u = np.empty(3)
    for c in range(start, stop):
        v = chosen[c]
        errors[v] = 0.0
        for f in range(n_frames):
            blend_at(bones[v], weights[v], transforms[f], A[f])
            moved_point(points[v], fixed[v], fixed_q[f], P)
            for i in range(3):
                left[f, i] = targets[v, 3 * f + i] - A[f, i, 3]
                for j in range(3):
                    left[f, i] -= A[f, i, j] * P[j]
                errors[v, 0] += left[f, i] ** 2
        for r in range(q.shape[1]):
            N[:] = 0.0
            u[:] = 0.0
            for f in range(n_frames):
                for i in range(3):
                    for k in range(3):
                        u[i] += q[f, r] * A[f, k, i] * left[f, k]
                        for j in range(3):
                            N[i, j] += q[f, r] ** 2 * A[f, k, i] * A[f, k, j]
            ridge = DAMPING * (N[0, 0] + N[1, 1] + N[2, 2]) + 1e-300
            for i in range(3):
                N[i, i] += ridge
            cholesky_solve(N, u, 3)
            for f in range(n_frames):
                for i in range(3):
                    for j in range(3):
                        left[f, i] -= q[f, r] * A[f, i, j] * u[j]
                    errors[v, r + 1] += left[f, i] ** 2
            for i in range(3):
                basis[v, r, i] = u[i]


def rises(problem: FitProblem, errors: Float64) -> NDArray[np.intp]:
    """The ranks r for which the squared errors (r+1,) go up from r to r + 1 by more than rounding."""
    up = errors[1:] > errors[:-1] * (1 + 1e-12) + (ROUNDING * problem.motion) ** 2
    where: NDArray[np.intp] = np.flatnonzero(up)
    return where


def _worst_offenders(errors: Float64, steps: NDArray[np.intp], settled: NDArray[np.bool_]) -> NDArray[np.intp]:
    """As few vertices as can be held responsible for the rise of the total at these steps."""
    growth = np.where(settled[:, None], 0.0, errors[:, steps + 1] - errors[:, steps])
    blame = np.maximum(growth, 0).sum(axis=1)
    order = np.argsort(-blame, kind="stable")
    explained = np.cumsum(growth[order], axis=0) >= (errors[:, steps + 1] - errors[:, steps]).sum(axis=0)
    enough = int(explained.all(axis=1).argmax()) + 1 if explained.all(axis=1).any() else len(order)
    first: NDArray[np.intp] = order[:enough][blame[order[:enough]] > 0]
    return first


def never_rising(problem: FitProblem, skin: SkinState, columns: ColumnFit, fixed: ColumnFit, threads: int) -> ColumnFit:
    """The columns, with other displacements for as few vertices as that takes."""
    errors = errors_of_ranks(problem, skin, columns, fixed, threads)
    basis, settled = columns.basis, np.zeros(problem.n_vertices, np.bool_)
    while len(steps := rises(problem, errors.sum(axis=0))):
        chosen = _worst_offenders(errors, steps, settled)
        if len(chosen) == 0:  # only rounding is left
            break
        basis = basis.copy() if basis is columns.basis else basis
        _settle(problem, skin, ColumnFit(basis, columns.coefficients), fixed, chosen, errors, threads)
        settled[chosen] = True
    return ColumnFit(basis, columns.coefficients)


def _settle(
    problem: FitProblem,
    skin: SkinState,
    columns: ColumnFit,
    fixed: ColumnFit,
    chosen: NDArray[np.intp],
    errors: Float64,
    threads: int,
) -> None:
    """Write new displacements and errors of the chosen vertices."""

    def work(start: int, stop: int) -> None:
        _one_by_one(
            problem.points,
            problem.targets,
            fixed.basis,
            fixed.coefficients,
            columns.coefficients,
            skin.transforms,
            skin.bones,
            skin.weights,
            chosen,
            start,
            stop,
            columns.basis,
            errors,
        )

    for_blocks(work, len(chosen), VERTICES_A_BLOCK, threads)
