"""The two exact halves of a fit in posed space: the basis for given coefficients, the coefficients for a given basis.

    minimise over U, or over q:   sum_v sum_f || A_v^f (p_v + U_v q^f) + t_v^f - x_v^f ||^2

Nothing is inverted: a 3r x 3r system for every vertex, an r x r system for every frame. Symbols as in
fit_corrections.py.
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

__all__ = ["basis_of_vertex", "pair_products", "solve_basis", "solve_coefficients"]

#: Damping of the small systems, of their own diagonal.
DAMPING = 1e-8


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
