"""Corrections by what is missing in the rest pose: displacements A^-1 (x - t) - p, and columns that span them.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 12: `displacement_corrections` is the paper's
truncated SVD. Damped, its coefficients are what `fit_corrections` starts from.

Symbols as in fit_corrections.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64
from osteon.core.kernels import kernel
from osteon.core.parallel import for_blocks
from osteon.deform.blending import blend_at
from osteon.fit.corrections.columns import (
    VERTICES_A_BLOCK,
    ColumnFit,
    SkinState,
    cholesky_solve,
    moved_point,
    no_columns,
    scaled_columns,
)
from osteon.fit.corrections.progressive import errors_of_ranks, rises
from osteon.fit.moments import PARTS
from osteon.fit.problem import FitProblem

__all__ = ["START", "Damping", "displacement_corrections", "exact_corrections", "start_coefficients"]


@dataclass(frozen=True, slots=True)
class Damping:
    """Of displacements, in units of a rotation's A'A; iterated, it leaves a power of what it leaves once."""

    amount: float
    times: int = 1


#: What the fit starts from; what the paper has; and what is exact but where A all but vanishes (sigma below 0.02).
START = Damping(1e-2)
UNDAMPED = Damping(1e-14)
NEARLY_EXACT = Damping(1e-4, 4)
#: E % that as many columns as frames may leave.
EXACT = 5e-4


@kernel
def _displacements(
    points: Float64,
    targets: Float32,
    fixed: Float64,
    fixed_q: Float64,
    transforms: Float64,
    bones: NDArray[np.int64],
    weights: Float64,
    start: int,
    stop: int,
    damping: float,
    times: int,
    out: Float64,
) -> None:
    """out (v,3,f) of vertices start … stop: A^-1 (x - A p - t), by Tikhonov's damping, iterated `times` times."""
    A = np.empty((3, 4))
    P = np.empty(3)
    left = np.empty(3)
    N = np.empty((3, 3))
    b = np.empty(3)
    for v in range(start, stop):
        for f in range(fixed_q.shape[0]):
            blend_at(bones[v], weights[v], transforms[f], A)
            moved_point(points[v], fixed[v], fixed_q[f], P)
            for i in range(3):
                left[i] = targets[v, 3 * f + i] - A[i, 3] - A[i, 0] * P[0] - A[i, 1] * P[1] - A[i, 2] * P[2]
            for i in range(3):
                out[v - start, i, f] = 0.0
            for _ in range(times):
                for i in range(3):
                    b[i] = A[0, i] * left[0] + A[1, i] * left[1] + A[2, i] * left[2]
                    for j in range(3):
                        N[i, j] = A[0, i] * A[0, j] + A[1, i] * A[1, j] + A[2, i] * A[2, j]
                # Of the size of A'A too, or rounding could leave a singular one with a negative pivot.
                ridge = damping + 1e-14 * (N[0, 0] + N[1, 1] + N[2, 2])
                for i in range(3):
                    N[i, i] += ridge
                cholesky_solve(N, b, 3)
                for i in range(3):
                    out[v - start, i, f] += b[i]
                    left[i] -= A[i, 0] * b[0] + A[i, 1] * b[1] + A[i, 2] * b[2]


def _displacement_block(
    problem: FitProblem, skin: SkinState, fixed: ColumnFit, damping: Damping, start: int, stop: int
) -> Float64:
    out = np.empty((stop - start, 3, problem.n_frames))
    _displacements(
        problem.points,
        problem.targets,
        fixed.basis,
        fixed.coefficients,
        skin.transforms,
        skin.bones,
        skin.weights,
        start,
        stop,
        damping.amount,
        damping.times,
        out,
    )
    return out.reshape(-1, problem.n_frames)


def start_coefficients(
    problem: FitProblem, skin: SkinState, rank: int, fixed: ColumnFit, damping: Damping, threads: int
) -> Float64:
    """(f,r) orthonormal: the leading right singular vectors of the damped rest-frame displacements."""
    block = -(-problem.n_vertices // PARTS)
    sums = np.zeros((PARTS, problem.n_frames, problem.n_frames))

    def work(start: int, stop: int) -> None:
        for first in range(start, stop, VERTICES_A_BLOCK):
            last = min(first + VERTICES_A_BLOCK, stop)
            rows = _displacement_block(problem, skin, fixed, damping, first, last)
            sums[start // block] += rows.T @ rows

    for_blocks(work, problem.n_vertices, block, threads)
    _, vectors = np.linalg.eigh(sums.sum(axis=0))
    return np.ascontiguousarray(vectors[:, ::-1][:, :rank])


def displacement_corrections(problem: FitProblem, skin: SkinState, rank: int, threads: int) -> ColumnFit:
    """The paper's own: truncated SVD of A^-1 (x - t) - p (eq. 12)."""
    q = start_coefficients(problem, skin, rank, no_columns(problem), UNDAMPED, threads)
    return _project(problem, skin, q, UNDAMPED, threads)


def exact_corrections(problem: FitProblem, skin: SkinState, threads: int) -> ColumnFit:
    """As many columns as frames: all displacements, in an order that lowers the error with every column.

    Tried in turn: the order of those that start the fit, then that of the undamped SVD. Where blends vanish, both may
    rise with the rank or miss the source. Then each frame gets a column of its own, the one with the largest error
    first: not as good when cut, but exact, and no column harms another frame.
    """
    nothing = no_columns(problem)
    for order, inverse in ((START, NEARLY_EXACT), (UNDAMPED, UNDAMPED)):
        q = start_coefficients(problem, skin, problem.n_frames, nothing, order, threads)
        columns = _as_stored(scaled_columns(_project(problem, skin, q, inverse, threads)))
        errors = errors_of_ranks(problem, skin, columns, nothing, threads)
        if not len(rises(problem, errors.sum(axis=0))) and problem.error_percent(errors[:, -1]) < EXACT:
            return columns
    columns = _project(problem, skin, np.eye(problem.n_frames), UNDAMPED, threads)
    gains = -np.diff(errors_of_ranks(problem, skin, columns, nothing, threads).sum(axis=0))
    ranked = np.argsort(-gains, kind="stable")
    return ColumnFit(
        np.ascontiguousarray(columns.basis[:, ranked]), np.ascontiguousarray(columns.coefficients[:, ranked])
    )


def _as_stored(columns: ColumnFit) -> ColumnFit:
    """In single precision, which huge displacements that cancel each other do not survive."""
    return ColumnFit(*(a.astype(np.float32).astype(np.float64) for a in (columns.basis, columns.coefficients)))


def _project(problem: FitProblem, skin: SkinState, q: Float64, damping: Damping, threads: int) -> ColumnFit:
    """Displacements projected on orthonormal coefficients (f,r)."""
    nothing = no_columns(problem)
    basis = np.empty((problem.n_vertices, q.shape[1], 3))

    def work(start: int, stop: int) -> None:
        rows = _displacement_block(problem, skin, nothing, damping, start, stop)
        basis[start:stop] = (rows @ q).reshape(stop - start, 3, -1).transpose(0, 2, 1)

    for_blocks(work, problem.n_vertices, VERTICES_A_BLOCK, threads)
    return ColumnFit(basis, q)
