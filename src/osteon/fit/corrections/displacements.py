"""Corrections by what is missing in the rest pose: displacements A^-1 (x - t) - p, and columns that span them.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 12: `displacement_corrections` is the paper's
truncated SVD. Damped, its coefficients are what `fit_corrections` starts from.

Symbols as in fit_corrections.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.parallel import for_blocks
from osteon.fit.corrections.blends import blends_and_residue, pulled_back, squares_of
from osteon.fit.corrections.columns import VERTICES_A_BLOCK, ColumnFit, SkinState, no_columns, scaled_columns
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


def _displacement_block(
    problem: FitProblem, skin: SkinState, fixed: ColumnFit, damping: Damping, start: int, stop: int
) -> Float64:
    """(3n,f) A^-1 (x - A p - t) of vertices start … stop, by Tikhonov's damping."""
    blends, left = blends_and_residue(problem, skin, fixed, slice(start, stop))
    factor = _factor(squares_of(blends), damping.amount)
    out = np.zeros((stop - start, 3, problem.n_frames))
    for _ in range(damping.times):
        step = _solve(factor, pulled_back(blends, left))
        out += step
        for j in range(3):
            left -= blends[..., j] * step[:, j, :, None]
    return out.reshape(-1, problem.n_frames)


def _factor(squares: Float64, damping: float) -> list[Float64]:
    """Cholesky's factor of A'A + damping, its lower half by rows; every number (n,f)."""
    # Of the size of A'A too, or rounding could leave a singular one with a negative pivot.
    ridge = damping + 1e-14 * (squares[:, 0] + squares[:, 2] + squares[:, 5])
    a = np.sqrt(np.maximum(squares[:, 0] + ridge, 1e-300))
    b = squares[:, 1] / a
    c = np.sqrt(np.maximum(squares[:, 2] + ridge - b * b, 1e-300))
    d = squares[:, 3] / a
    e = (squares[:, 4] - d * b) / c
    return [a, b, c, d, e, np.sqrt(np.maximum(squares[:, 5] + ridge - d * d - e * e, 1e-300))]


def _solve(factor: list[Float64], right: Float64) -> Float64:
    """(n,3,f) the solutions for right sides (n,3,f)."""
    a, b, c, d, e, g = factor
    x = right[:, 0] / a
    y = (right[:, 1] - b * x) / c
    z = (right[:, 2] - d * x - e * y) / g
    out = np.empty_like(right)
    out[:, 2] = z / g
    out[:, 1] = (y - e * out[:, 2]) / c
    out[:, 0] = (x - b * out[:, 1] - d * out[:, 2]) / a
    return out


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
