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

from osteon.core.arrays import Float64
from osteon.core.parallel import for_blocks
from osteon.fit.corrections.blends import PAIRS, blends_and_residue, pulled_back, squares_of
from osteon.fit.corrections.columns import VERTICES_A_BLOCK, ColumnFit, SkinState
from osteon.fit.problem import FitProblem

__all__ = ["errors_of_ranks", "never_rising", "rises"]

#: Of the diagonal of the 3x3 systems.
DAMPING = 1e-8
#: Of the motion: E of 1e-5 %, which is what single precision leaves of a good fit.
ROUNDING = 1e-7
#: Displacements in posed space that are held at a time.
NUMBERS_A_BLOCK = 500_000


def _errors_with(blends: Float64, left: Float64, basis: Float64, q: Float64) -> Float64:
    """(n,r+1) squared errors of vertices with the first 0, 1, … r of the columns (n,r,3)."""
    out = np.empty((len(blends), q.shape[1] + 1))
    out[:, 0] = np.einsum("vfi,vfi->v", left, left)
    moved = np.matmul(blends[..., :3], basis.transpose(0, 2, 1)[:, None])  # (n,f,3,r)
    moved *= q[:, None]
    np.cumsum(moved, axis=3, out=moved)
    np.subtract(left[..., None], moved, out=moved)
    np.einsum("vfir,vfir->vr", moved, moved, out=out[:, 1:])
    return out


def errors_of_ranks(
    problem: FitProblem, skin: SkinState, columns: ColumnFit, fixed: ColumnFit, threads: int
) -> Float64:
    """(v,r+1) squared error of every vertex with the fixed columns and the first 0, 1, … r of the others."""
    out = np.empty((problem.n_vertices, columns.rank + 1))

    def work(start: int, stop: int) -> None:
        blends, left = blends_and_residue(problem, skin, fixed, slice(start, stop))
        out[start:stop] = _errors_with(blends, left, columns.basis[start:stop], columns.coefficients)

    numbers = 3 * problem.n_frames * max(1, columns.rank)
    for_blocks(work, problem.n_vertices, min(VERTICES_A_BLOCK, 1 + NUMBERS_A_BLOCK // numbers), threads)
    return out


def _one_by_one(
    problem: FitProblem, skin: SkinState, q: Float64, fixed: ColumnFit, chosen: NDArray[np.intp]
) -> Float64:
    """(n,r,3) displacements of the chosen vertices, column after column on what is left."""
    blends, left = blends_and_residue(problem, skin, fixed, chosen)
    squares, basis = squares_of(blends), np.empty((len(chosen), q.shape[1], 3))
    for r in range(q.shape[1]):
        sums = squares @ q[:, r] ** 2
        N = np.empty((len(chosen), 3, 3))
        for row, (i, j) in enumerate(PAIRS):
            N[:, i, j] = N[:, j, i] = sums[:, row]
        diagonal = np.einsum("vii->vi", N)
        diagonal += DAMPING * diagonal.sum(axis=1, keepdims=True) + 1e-300
        u = np.linalg.solve(N, (pulled_back(blends, left) @ q[:, r])[..., None])[..., 0]
        left -= q[:, r, None] * np.einsum("vfij,vj->vfi", blends[..., :3], u)
        basis[:, r] = u
    return basis


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
    q = columns.coefficients

    def work(start: int, stop: int) -> None:
        some = chosen[start:stop]
        columns.basis[some] = _one_by_one(problem, skin, q, fixed, some)
        errors[some] = _errors_with(*blends_and_residue(problem, skin, fixed, some), columns.basis[some], q)

    for_blocks(work, len(chosen), VERTICES_A_BLOCK, threads)
