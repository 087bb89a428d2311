"""Progressive corrections: low-rank displacements of the rest pose, fitted where they are seen, in posed space.

    minimise over U, q:   sum_v sum_f || A_v^f (p_v + U_v q^f) + t_v^f - x_v^f ||^2

| symbol | name |
| --- | --- |
| A, t   | the blended bones of a vertex in a frame |
| U_v    | basis (v,r,3): how each column moves a vertex of the rest pose |
| q^f    | coefficients (f,r) |

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 12. `displacement_corrections` is the paper's
truncated SVD of the rest-frame displacements A^-1 (x - t) - p.

Differs from the paper: that SVD measures the error before the skin, and multiplies what a nearly singular A loses.
`fit_corrections` alternates two exact minimisers of the posed error, nothing is inverted: a 3r x 3r system for every
vertex, an r x r system for every frame. It starts from the SVD of displacements with a little Tikhonov damping, and one
or two rounds suffice. More than BLOCK_RANK columns are fitted in blocks, each on what the ones before have left, so
that the cost grows with the square of BLOCK_RANK and not of the rank. As many columns as frames are exact: see
`exact_corrections`.

The columns come out of an SVD of U q, the most useful first: cutting the last ones leaves a good model of lower rank.

Notes, rank 10 on the skin of rank 0, E % by rank 0, 1, 5, 10; rounds 1 to 3 differ by less than 1 %.
horse 0.994 0.928 0.645 0.390, chicken 0.100 0.094 0.065 0.047, elasticcow 0.544 0.528 0.464 0.396,
clothhorse 3.93 3.17 1.26 0.418. Together with bones and weights they become better: see corrected_skin.py.
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
    ColumnFit,
    SkinState,
    add_columns,
    cholesky_solve,
    moved_point,
    no_columns,
)
from osteon.fit.corrections.progressive import errors_of_ranks, never_rising, rises
from osteon.fit.moments import PARTS
from osteon.fit.problem import FitProblem

__all__ = [
    "BLOCK_RANK",
    "displacement_corrections",
    "exact_corrections",
    "fit_corrections",
    "order_columns",
    "solve_basis",
    "solve_coefficients",
    "start_coefficients",
]

#: Columns that are fitted together.
BLOCK_RANK = 16
#: Damping of the small systems, of their own diagonal.
DAMPING = 1e-8
ROUNDS = 2
VERTICES_A_BLOCK = 256


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
def basis_of_vertex(
    point: Float64,
    target: Float32,
    fixed: Float64,
    fixed_q: Float64,
    q: Float64,
    qq: Float64,
    transforms: Float64,
    bones: NDArray[np.int64],
    weights: Float64,
    acc: Float64,
    N: Float64,
    b: Float64,
    out: Float64,
) -> float:
    """The best displacements (r,3) of one vertex for given coefficients; returns its squared error.

    N = sum_f q q' (x) A'A and b = sum_f q (x) A'(x - A p - t), assembled from six sums for each pair of columns.
    """
    rank = q.shape[1]
    A = np.empty((3, 4))
    P = np.empty(3)
    left = np.empty(3)
    acc[:] = 0.0
    b[:] = 0.0
    energy = 0.0
    for f in range(q.shape[0]):
        blend_at(bones, weights, transforms[f], A)
        moved_point(point, fixed, fixed_q[f], P)
        for i in range(3):
            left[i] = target[3 * f + i] - A[i, 3] - A[i, 0] * P[0] - A[i, 1] * P[1] - A[i, 2] * P[2]
            energy += left[i] * left[i]
        row = 0
        for i in range(3):
            pulled = A[0, i] * left[0] + A[1, i] * left[1] + A[2, i] * left[2]
            for r in range(rank):
                b[3 * r + i] += q[f, r] * pulled
            for j in range(i + 1):
                square = A[0, i] * A[0, j] + A[1, i] * A[1, j] + A[2, i] * A[2, j]
                for pair in range(qq.shape[1]):
                    acc[row, pair] += square * qq[f, pair]
                row += 1
    trace = 0.0
    pair = 0
    for r in range(rank):
        for s in range(r + 1):
            row = 0
            for i in range(3):
                for j in range(i + 1):
                    N[3 * r + i, 3 * s + j] = acc[row, pair]
                    N[3 * r + j, 3 * s + i] = acc[row, pair]
                    row += 1
            pair += 1
        trace += N[3 * r, 3 * r] + N[3 * r + 1, 3 * r + 1] + N[3 * r + 2, 3 * r + 2]
    n = 3 * rank
    for i in range(n):
        N[i, i] += DAMPING * trace / n + 1e-300
        out[i // 3, i % 3] = b[i]
    cholesky_solve(N, b, n)
    for i in range(n):
        energy -= out[i // 3, i % 3] * b[i]
        out[i // 3, i % 3] = b[i]
    return max(energy, 0.0)


@kernel
def _basis_block(
    points: Float64,
    targets: Float32,
    fixed: Float64,
    fixed_q: Float64,
    q: Float64,
    qq: Float64,
    transforms: Float64,
    bones: NDArray[np.int64],
    weights: Float64,
    start: int,
    stop: int,
    basis: Float64,
    errors: Float64,
) -> None:
    rank = q.shape[1]
    acc = np.empty((6, qq.shape[1]))
    N = np.empty((3 * rank, 3 * rank))
    b = np.empty(3 * rank)
    for v in range(start, stop):
        errors[v] = basis_of_vertex(
            points[v], targets[v], fixed[v], fixed_q, q, qq, transforms, bones[v], weights[v], acc, N, b, basis[v]
        )


def pair_products(q: Float64) -> Float64:
    """(f,r(r+1)/2) products of every two coefficients of a frame."""
    first, second = np.tril_indices(q.shape[1])
    return np.ascontiguousarray(q[:, first] * q[:, second])


def solve_basis(
    problem: FitProblem, skin: SkinState, q: Float64, fixed: ColumnFit, threads: int
) -> tuple[Float64, Float64]:
    """The basis (v,r,3) for given coefficients on top of fixed columns, and the squared error of every vertex."""
    basis, errors = np.zeros((problem.n_vertices, q.shape[1], 3)), np.empty(problem.n_vertices)
    qq = pair_products(q)

    def work(start: int, stop: int) -> None:
        _basis_block(
            problem.points,
            problem.targets,
            fixed.basis,
            fixed.coefficients,
            q,
            qq,
            skin.transforms,
            skin.bones,
            skin.weights,
            start,
            stop,
            basis,
            errors,
        )

    for_blocks(work, problem.n_vertices, VERTICES_A_BLOCK, threads)
    return basis, errors


@kernel
def _coefficient_sums(
    points: Float64,
    targets: Float32,
    fixed: Float64,
    fixed_q: Float64,
    basis: Float64,
    transforms: Float64,
    bones: NDArray[np.int64],
    weights: Float64,
    f: int,
    M: Float64,
    g: Float64,
) -> None:
    """M = sum_v (A U)'(A U) and g = sum_v (A U)'(x - A p - t) of one frame."""
    rank = basis.shape[1]
    A = np.empty((3, 4))
    P = np.empty(3)
    moved = np.empty((3, rank))
    left = np.empty(3)
    for v in range(points.shape[0]):
        blend_at(bones[v], weights[v], transforms[f], A)
        moved_point(points[v], fixed[v], fixed_q[f], P)
        for i in range(3):
            left[i] = targets[v, 3 * f + i] - A[i, 3] - A[i, 0] * P[0] - A[i, 1] * P[1] - A[i, 2] * P[2]
            for r in range(rank):
                moved[i, r] = A[i, 0] * basis[v, r, 0] + A[i, 1] * basis[v, r, 1] + A[i, 2] * basis[v, r, 2]
        for r in range(rank):
            g[r] += moved[0, r] * left[0] + moved[1, r] * left[1] + moved[2, r] * left[2]
            for s in range(r + 1):
                M[r, s] += moved[0, r] * moved[0, s] + moved[1, r] * moved[1, s] + moved[2, r] * moved[2, s]


def solve_coefficients(problem: FitProblem, skin: SkinState, basis: Float64, fixed: ColumnFit, threads: int) -> Float64:
    """The coefficients (f,r) for a given basis on top of fixed columns."""
    rank = basis.shape[1]
    q = np.empty((problem.n_frames, rank))

    def work(start: int, stop: int) -> None:
        for f in range(start, stop):
            M, g = np.zeros((rank, rank)), np.zeros(rank)
            _coefficient_sums(
                problem.points,
                problem.targets,
                fixed.basis,
                fixed.coefficients,
                basis,
                skin.transforms,
                skin.bones,
                skin.weights,
                f,
                M,
                g,
            )
            M += np.tril(M, -1).T
            M[np.diag_indices(rank)] += DAMPING * np.trace(M) / rank + 1e-300
            q[f] = np.linalg.solve(M, g)

    for_blocks(work, problem.n_frames, 4, threads)
    return q


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
        columns = _as_stored(_scaled(_project(problem, skin, q, inverse, threads)))
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


def order_columns(columns: ColumnFit) -> ColumnFit:
    """The same product U q from orthogonal columns, the largest first, with coefficients of at most 1."""
    rank = columns.rank
    if rank == 0:
        return columns
    flat = columns.basis.transpose(0, 2, 1).reshape(-1, rank)
    left, upper = np.linalg.qr(flat)
    right, lower = np.linalg.qr(columns.coefficients)
    u, s, vt = np.linalg.svd(upper @ lower.T, full_matrices=False)
    count = len(s)  # fewer than the rank if there are not that many coordinates: the other columns are empty
    basis, q = np.zeros((len(columns.basis), rank, 3)), np.zeros((len(columns.coefficients), rank))
    basis[:, :count] = (left @ (u * s)).reshape(-1, 3, count).transpose(0, 2, 1)
    q[:, :count] = right @ vt.T
    return _scaled(ColumnFit(basis, q))


def _scaled(columns: ColumnFit) -> ColumnFit:
    """The largest coefficient of every column becomes 1: its basis then reads as a displacement."""
    q = columns.coefficients
    peak = q[np.abs(q).argmax(axis=0), np.arange(columns.rank)]
    peak = np.where(peak == 0, 1.0, peak)
    return ColumnFit(columns.basis * peak[:, None], q / peak)


def fit_corrections(
    problem: FitProblem, skin: SkinState, rank: int, *, fixed: ColumnFit | None = None, threads: int = 1
) -> ColumnFit:
    """Corrections of a skin that stays as it is, `rank` columns besides the fixed ones."""
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
