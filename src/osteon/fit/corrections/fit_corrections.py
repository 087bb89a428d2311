"""Progressive corrections: low-rank displacements of the rest pose, fitted in posed space.

    minimise over U, q:   sum_v sum_f || A_v^f (p_v + U_v q^f) + t_v^f - x_v^f ||^2

| symbol | name |
| --- | --- |
| A, t   | the blended bones of a vertex in a frame |
| U_v    | basis (v,r,3): how each column moves a vertex of the rest pose |
| q^f    | coefficients (f,r) |

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 12: the truncated SVD of the rest-frame
displacements A^-1 (x - t) - p (fit_corrections.py).

Differs from the paper: that SVD measures the error in the rest pose and amplifies it where A is nearly singular.
`fit_corrections` alternates two exact minimisers of the posed error (columns.py). It starts from
the SVD of displacements with a little Tikhonov damping, and one or two rounds suffice. More than BLOCK_RANK columns are
fitted in blocks, each to the residual of the previous ones, so that the cost grows with the square of BLOCK_RANK and
not of the rank. One column per frame is exact: see `exact_corrections`.

The columns are ordered by an SVD of U q, most useful first: without the last ones the model of lower rank is good.

Notes, rank 10 on the skin of rank 0, E % by rank 0, 1, 5, 10; rounds 1 to 3 differ by less than 1 %.
horse 0.994 0.928 0.645 0.390, chicken 0.100 0.094 0.065 0.047, elasticcow 0.544 0.528 0.464 0.396,
clothhorse 3.93 3.17 1.26 0.418. Together with bones and weights they become better: see corrected_skin.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int64
from osteon.core.parallel import for_blocks
from osteon.fit.corrections.columns import (
    PAIRS,
    VERTICES_A_BLOCK,
    ColumnFit,
    SkinState,
    add_columns,
    apply_transposed,
    blends_and_residue,
    no_columns,
    order_columns,
    scaled_columns,
    solve_basis,
    solve_coefficients,
    squares_of,
)
from osteon.fit.moments import PARTS
from osteon.fit.problem import FitProblem

# Columns that never raise the error, whatever the rank they are truncated to.
#
#     e_r = sum_v e_r(v),   e_r(v) = sum_f || A (p_v + sum_{s <= r} U_sv q_s^f) + t - x_v^f ||^2, wanted: e_r <= e_{r-1}
#
# Columns that are fitted together are optimal together. Truncated, they may raise the error: where a blend A nearly
# vanishes in one frame, a vertex gets a huge displacement there, which the columns cancel in all other frames. Such
# vertices are few and each has its own displacements, so only they are fitted again, column after column, each to the
# residual of the previous ones. That cannot raise e_r(v). The coefficients do not change, so no other vertex is
# affected.
#
# One column per frame can be exact, and then every vertex is determined: see `exact_corrections`.

#: Of the diagonal of the 3x3 systems.
REFIT_DAMPING = 1e-8
#: Of the motion: E of 1e-5 %, the rounding error of single precision in a good fit.
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
    """(n,r,3) displacements of the chosen vertices, column after column, each fitted to the residual."""
    blends, left = blends_and_residue(problem, skin, fixed, chosen)
    squares, basis = squares_of(blends), np.empty((len(chosen), q.shape[1], 3))
    for r in range(q.shape[1]):
        sums = squares @ q[:, r] ** 2
        N = np.empty((len(chosen), 3, 3))
        for row, (i, j) in enumerate(PAIRS):
            N[:, i, j] = N[:, j, i] = sums[:, row]
        diagonal = np.einsum("vii->vi", N)
        diagonal += REFIT_DAMPING * diagonal.sum(axis=1, keepdims=True) + 1e-300
        u = np.linalg.solve(N, (apply_transposed(blends, left) @ q[:, r])[..., None])[..., 0]
        left -= q[:, r, None] * np.einsum("vfij,vj->vfi", blends[..., :3], u)
        basis[:, r] = u
    return basis


def rises(problem: FitProblem, errors: Float64) -> NDArray[np.intp]:
    """The ranks r for which the squared errors (r+1,) go up from r to r + 1 by more than rounding."""
    up = errors[1:] > errors[:-1] * (1 + 1e-12) + (ROUNDING * problem.motion) ** 2
    where: NDArray[np.intp] = np.flatnonzero(up)
    return where


def _vertices_of_rise(errors: Float64, steps: NDArray[np.intp], refitted: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The smallest set of vertices that accounts for the rise of the total at these ranks."""
    growth = np.where(refitted[:, None], 0.0, errors[:, steps + 1] - errors[:, steps])
    blame = np.maximum(growth, 0).sum(axis=1)
    order = np.argsort(-blame, kind="stable")
    explained = np.cumsum(growth[order], axis=0) >= (errors[:, steps + 1] - errors[:, steps]).sum(axis=0)
    enough = int(explained.all(axis=1).argmax()) + 1 if explained.all(axis=1).any() else len(order)
    first: NDArray[np.intp] = order[:enough][blame[order[:enough]] > 0]
    return first


def never_rising(problem: FitProblem, skin: SkinState, columns: ColumnFit, fixed: ColumnFit, threads: int) -> ColumnFit:
    """The columns, refitted for as few vertices as needed."""
    errors = errors_of_ranks(problem, skin, columns, fixed, threads)
    basis, refitted = columns.basis, np.zeros(problem.n_vertices, np.bool_)
    while len(steps := rises(problem, errors.sum(axis=0))):
        chosen = _vertices_of_rise(errors, steps, refitted)
        if len(chosen) == 0:  # only rounding is left
            break
        basis = basis.copy() if basis is columns.basis else basis
        _fit_again(problem, skin, ColumnFit(basis, columns.coefficients), fixed, chosen, errors, threads)
        refitted[chosen] = True
    return ColumnFit(basis, columns.coefficients)


def _fit_again(
    problem: FitProblem,
    skin: SkinState,
    columns: ColumnFit,
    fixed: ColumnFit,
    chosen: NDArray[np.intp],
    errors: Float64,
    threads: int,
) -> None:
    """Refit the displacements and errors of the chosen vertices in place."""
    q = columns.coefficients

    def work(start: int, stop: int) -> None:
        some = chosen[start:stop]
        columns.basis[some] = _one_by_one(problem, skin, q, fixed, some)
        errors[some] = _errors_with(*blends_and_residue(problem, skin, fixed, some), columns.basis[some], q)

    for_blocks(work, len(chosen), VERTICES_A_BLOCK, threads)


# Corrections from rest-frame displacements A^-1 (x - t) - p, and columns that span them.
#
# Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 12: `displacement_corrections` is the
# paper's truncated SVD. Damped, its coefficients are what `fit_corrections` starts from.
#
# Symbols as in fit_corrections.py.


@dataclass(frozen=True, slots=True)
class Damping:
    """Damping of displacements, in units of a rotation's A'A, and the number of iterations."""

    amount: float
    times: int = 1


#: Start of the fit; the paper's; and one that is exact unless A nearly vanishes (singular value below 0.02).
START = Damping(1e-2)
UNDAMPED = Damping(1e-14)
NEARLY_EXACT = Damping(1e-4, 4)
#: E % that one column per frame may leave.
EXACT = 5e-4


def _displacement_block(
    problem: FitProblem, skin: SkinState, fixed: ColumnFit, damping: Damping, start: int, stop: int
) -> Float64:
    """(3n,f) A^-1 (x - A p - t) of vertices start … stop, by Tikhonov's damping."""
    blends, left = blends_and_residue(problem, skin, fixed, slice(start, stop))
    factor = _factor(squares_of(blends), damping.amount)
    out = np.zeros((stop - start, 3, problem.n_frames))
    for _ in range(damping.times):
        step = _solve(factor, apply_transposed(blends, left))
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
    """One column per frame: all displacements, in an order that lowers the error with every column.

    The order of the damped SVD is tried first, then that of the undamped SVD. Where blends vanish, both may raise the
    error with the rank or miss the source. Then each frame gets its own column, largest error first: less accurate
    when truncated, but exact, and no column affects another frame.
    """
    nothing = no_columns(problem)
    for order, inverse in ((START, NEARLY_EXACT), (UNDAMPED, UNDAMPED)):
        q = start_coefficients(problem, skin, problem.n_frames, nothing, order, threads)
        columns = scaled_columns(_project(problem, skin, q, inverse, threads))
        # Huge displacements that cancel each other do not survive the single precision of files.
        columns = ColumnFit(*(a.astype(np.float32).astype(np.float64) for a in (columns.basis, columns.coefficients)))
        errors = errors_of_ranks(problem, skin, columns, nothing, threads)
        if not len(rises(problem, errors.sum(axis=0))) and problem.error_percent(errors[:, -1]) < EXACT:
            return columns
    columns = _project(problem, skin, np.eye(problem.n_frames), UNDAMPED, threads)
    gains = -np.diff(errors_of_ranks(problem, skin, columns, nothing, threads).sum(axis=0))
    ranked = np.argsort(-gains, kind="stable")
    return ColumnFit(
        np.ascontiguousarray(columns.basis[:, ranked]), np.ascontiguousarray(columns.coefficients[:, ranked])
    )


def _project(problem: FitProblem, skin: SkinState, q: Float64, damping: Damping, threads: int) -> ColumnFit:
    """Displacements projected on orthonormal coefficients (f,r)."""
    nothing = no_columns(problem)
    basis = np.empty((problem.n_vertices, q.shape[1], 3))

    def work(start: int, stop: int) -> None:
        rows = _displacement_block(problem, skin, nothing, damping, start, stop)
        basis[start:stop] = (rows @ q).reshape(stop - start, 3, -1).transpose(0, 2, 1)

    for_blocks(work, problem.n_vertices, VERTICES_A_BLOCK, threads)
    return ColumnFit(basis, q)


#: Columns per block.
BLOCK_RANK = 16
ROUNDS = 2


def fit_corrections(
    problem: FitProblem, skin: SkinState, rank: int, *, fixed: ColumnFit | None = None, threads: int = 1
) -> ColumnFit:
    """Corrections of a fixed skin: `rank` columns in addition to the fixed ones."""
    columns = no_columns(problem) if fixed is None else fixed
    total = columns.rank + rank
    if total >= problem.n_frames:
        return exact_corrections(problem, skin, threads)
    while columns.rank < total:
        count = min(BLOCK_RANK, total - columns.rank)
        q = start_coefficients(problem, skin, count, columns, START, threads)
        for _ in range(ROUNDS):
            basis, _ = solve_basis(problem, skin, q, columns, threads)
            q = solve_coefficients(problem, skin, basis, columns, threads)
        added = never_rising(problem, skin, order_columns(ColumnFit(basis, q)), columns, threads)
        columns = add_columns(columns, added)
    return columns


# Vertices whose blend nearly collapses in some frame: no correction in single precision moves them there.
#
# A correction d moves a vertex by A d. Where the smallest singular value of the blend A is s, a move may need a d that
# is 1 / s times as long, of which single precision loses the 1e-7th part. As many corrections as frames have to be
# exact, so such a vertex follows its strongest bone alone, where that is less flat.

#: Blends flatter than this, relative to their size, are replaced.
FLATTEST = 1e-3


def without_flat_blends(skin: SkinState) -> SkinState:
    """The skin with one bone for every vertex whose blend nearly collapses."""
    bones, weights = skin.bones, skin.weights
    alone = np.zeros_like(weights)
    np.put_along_axis(alone, weights.argmax(axis=1)[:, None], 1.0, axis=1)
    blended = _flattest(skin.transforms, bones, weights)
    flat = (blended < FLATTEST) & (blended < _flattest(skin.transforms, bones, alone))
    return SkinState(skin.transforms, bones, np.where(flat[:, None], alone, weights)) if flat.any() else skin


def _flattest(transforms: Float64, bones: Int64, weights: Float64) -> Float64:
    """(v,) the least of 2 |det A| / |A|^2 over the frames: never more than the smallest singular value of a blend A."""
    least = np.full(len(bones), np.inf)
    for linear in transforms[..., :3]:
        blend = np.einsum("vk,vkij->vij", weights, linear[bones])
        size = np.maximum((blend**2).sum(axis=(1, 2)), 1e-300)
        np.minimum(least, 2 * np.abs(np.linalg.det(blend)) / size, out=least)
    return least
