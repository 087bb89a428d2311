"""Columns of corrections for a given skin, in problem units, and the two exact solves that a fit alternates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, Int64
from osteon.core.kernels import kernel
from osteon.core.parallel import for_blocks
from osteon.fit.problem import FitProblem

#: Vertices per block of small systems.
VERTICES_A_BLOCK = 256


@dataclass(frozen=True, slots=True)
class SkinState:
    """Bones and weights in problem units."""

    transforms: Float64  # (f,b,3,4)
    bones: np.ndarray  # (v,k)
    weights: Float64  # (v,k)


@dataclass(frozen=True, slots=True)
class ColumnFit:
    """Corrections in problem units."""

    basis: Float64  # (v,r,3)
    coefficients: Float64  # (f,r)

    @property
    def rank(self) -> int:
        return int(self.coefficients.shape[1])


def no_columns(problem: FitProblem) -> ColumnFit:
    """Corrections of rank 0."""
    return ColumnFit(np.zeros((problem.n_vertices, 0, 3)), np.zeros((problem.n_frames, 0)))


def add_columns(first: ColumnFit, more: ColumnFit) -> ColumnFit:
    """The columns of both."""
    basis = np.concatenate([first.basis, more.basis], axis=1)
    return ColumnFit(basis, np.concatenate([first.coefficients, more.coefficients], axis=1))


def order_columns(columns: ColumnFit) -> ColumnFit:
    """The same product U q from orthogonal columns, the largest first, with coefficients of at most 1."""
    rank = columns.rank
    if rank == 0:
        return columns
    flat = columns.basis.transpose(0, 2, 1).reshape(-1, rank)
    left, upper = np.linalg.qr(flat)
    right, lower = np.linalg.qr(columns.coefficients)
    u, s, vt = np.linalg.svd(upper @ lower.T, full_matrices=False)
    count = len(s)  # less than the rank if there are fewer coordinates; the other columns are zero
    basis, q = np.zeros((len(columns.basis), rank, 3)), np.zeros((len(columns.coefficients), rank))
    basis[:, :count] = (left @ (u * s)).reshape(-1, 3, count).transpose(0, 2, 1)
    q[:, :count] = right @ vt.T
    return scaled_columns(ColumnFit(basis, q))


def scaled_columns(columns: ColumnFit) -> ColumnFit:
    """Scale every column so that its largest coefficient is 1 and its basis is a displacement."""
    q = columns.coefficients
    peak = q[np.abs(q).argmax(axis=0), np.arange(columns.rank)]
    peak = np.where(peak == 0, 1.0, peak)
    return ColumnFit(columns.basis * peak[:, None], q / peak)


# Blends of a few vertices in all frames, and the residual of the source.
#
#     A_v^f = sum_k w_vk T_bone(v,k)^f,   left_v^f = x_v^f - A_v^f (p_v + U_v q^f) - t_v^f
#
# Symbols as in fit_corrections.py. The blends are compiled, the rest is NumPy on blocks of vertices: products of
# stacked matrices and BLAS are as quick as loops over vertices and frames, which took 15 s to compile.

#: Rows and columns of the six numbers of a symmetric 3x3 matrix.
PAIRS = ((0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2))


@kernel("i8.2r f8.2r f8.4r f8.4")
def blend_frames(bones: Int64, weights: Float64, transforms: Float64, out: Float64) -> None:
    """out (n,f,3,4): the blends of vertices with bones and weights (n,k) in every frame of transforms (f,b,3,4)."""
    for n in range(bones.shape[0]):
        for f in range(transforms.shape[0]):
            for i in range(3):
                x = y = z = t = 0.0
                for k in range(bones.shape[1]):
                    b, w = bones[n, k], weights[n, k]
                    x += w * transforms[f, b, i, 0]
                    y += w * transforms[f, b, i, 1]
                    z += w * transforms[f, b, i, 2]
                    t += w * transforms[f, b, i, 3]
                out[n, f, i, 0], out[n, f, i, 1], out[n, f, i, 2], out[n, f, i, 3] = x, y, z, t


def corrected_points(points: Float64, columns: ColumnFit, vertices: slice | Int64) -> Float64:
    """(n,f,3) corrected rest points of some vertices, or (n,1,3) without corrections."""
    rest: Float64 = points[vertices, None, :3]
    if columns.rank == 0:
        return rest
    return np.asarray(rest + np.matmul(columns.coefficients, columns.basis[vertices]))


def blends_and_residue(
    problem: FitProblem, skin: SkinState, fixed: ColumnFit, vertices: slice | Int64
) -> tuple[Float64, Float64]:
    """A and t (n,f,3,4) of some vertices, and the residual (n,f,3) of the source with the fixed columns."""
    bones, weights = skin.bones[vertices], skin.weights[vertices]
    blends = np.empty((len(bones), problem.n_frames, 3, 4))
    blend_frames(bones, weights, skin.transforms, blends)
    targets = problem.targets[vertices].reshape(len(bones), -1, 3)
    moved = corrected_points(problem.points, fixed, vertices)
    left = targets - blends[..., 3]
    for j in range(3):
        left -= blends[..., j] * moved[..., j, None]
    return blends, left


def squares_of(blends: Float64) -> Float64:
    """(n,6,f) A'A, its lower half by rows."""
    out = np.empty((len(blends), 6, blends.shape[1]))
    for row, (i, j) in enumerate(PAIRS):
        np.einsum("vfk,vfk->vf", blends[..., i], blends[..., j], out=out[:, row])
    return out


def apply_transposed(blends: Float64, left: Float64) -> Float64:
    """(n,3,f) A' left."""
    out = np.empty((len(blends), 3, blends.shape[1]))
    for i in range(3):
        np.einsum("vfk,vfk->vf", blends[..., i], left, out=out[:, i])
    return out


# The two exact solves in posed space: the basis for given coefficients, the coefficients for a given basis.
#
#     minimise over U, or over q:   sum_v sum_f || A_v^f (p_v + U_v q^f) + t_v^f - x_v^f ||^2
#
# Nothing is inverted: a 3r x 3r system for every vertex, an r x r system for every frame. Symbols as in
# fit_corrections.py. Of every vertex N = sum_f q q' (x) A'A and b = sum_f q (x) A'(x - A p - t), assembled from six
# sums for each pair of columns.

#: Damping of the small systems, relative to their diagonal.
DAMPING = 1e-8
#: Vertices of a frame per block.
BLOCK = 2048

#: Index of a row and column of a symmetric matrix among its six numbers.
_PLACE = np.array([[PAIRS.index((max(i, j), min(i, j))) for j in range(3)] for i in range(3)])


def pair_products(q: Float64) -> Float64:
    """(f,r(r+1)/2) products of every two coefficients of a frame."""
    first, second = np.tril_indices(q.shape[1])
    return np.ascontiguousarray(q[:, first] * q[:, second])


def _pair_numbers(rank: int) -> np.ndarray:
    """(r,r) the column of `pair_products` of each pair."""
    first, second = np.tril_indices(rank)
    out = np.empty((rank, rank), np.int64)
    out[first, second] = out[second, first] = np.arange(len(first))
    return out


def basis_of_block(
    problem: FitProblem, skin: SkinState, q: Float64, qq: Float64, fixed: ColumnFit, start: int, stop: int
) -> tuple[Float64, Float64]:
    """The best displacements (n,r,3) of some vertices for given coefficients, and their squared errors (n,)."""
    blends, left = blends_and_residue(problem, skin, fixed, slice(start, stop))
    energy = np.einsum("vfi,vfi->v", left, left)
    count, rank = len(blends), q.shape[1]
    if rank == 0:
        return np.zeros((count, 0, 3)), energy
    n = 3 * rank
    b = np.matmul(apply_transposed(blends, left), q).transpose(0, 2, 1).reshape(count, n)
    sums = (squares_of(blends).reshape(6 * count, -1) @ qq).reshape(count, 6, -1)
    N = sums[:, _PLACE[None, :, None, :], _pair_numbers(rank)[:, None, :, None]].reshape(count, n, n)
    diagonal = np.einsum("vii->vi", N)
    diagonal += (DAMPING / n) * diagonal.sum(axis=1, keepdims=True) + 1e-300
    u = np.linalg.solve(N, b[..., None])[..., 0]
    energy -= np.einsum("vi,vi->v", b, u)
    return u.reshape(count, rank, 3), np.maximum(energy, 0.0)


def solve_basis(
    problem: FitProblem, skin: SkinState, q: Float64, fixed: ColumnFit, threads: int
) -> tuple[Float64, Float64]:
    """The basis (v,r,3) for given coefficients on top of fixed columns, and the squared error of every vertex."""
    basis, errors = np.zeros((problem.n_vertices, q.shape[1], 3)), np.empty(problem.n_vertices)
    qq = pair_products(q)

    def work(start: int, stop: int) -> None:
        basis[start:stop], errors[start:stop] = basis_of_block(problem, skin, q, qq, fixed, start, stop)

    for_blocks(work, problem.n_vertices, VERTICES_A_BLOCK, threads)
    return basis, errors


@kernel("f8.4r f8.3r f4.2r f8.3r f8.2 f8.2 f8.1")
def _coefficient_sums(
    blends: Float64, points: Float64, targets: Float32, basis: Float64, moved: Float64, M: Float64, g: Float64
) -> None:
    """Adds M = sum_v (A U)'(A U), its lower half, and g = sum_v (A U)'(x - A p - t) of one frame.

    blends (n,1,3,4), points (n,1,3), targets (n,3); moved (3,r+1) is scratch.
    """
    rank = basis.shape[1]
    for v in range(blends.shape[0]):
        px, py, pz = points[v, 0, 0], points[v, 0, 1], points[v, 0, 2]
        for i in range(3):
            x, y, z, t = blends[v, 0, i, 0], blends[v, 0, i, 1], blends[v, 0, i, 2], blends[v, 0, i, 3]
            moved[i, rank] = targets[v, i] - t - x * px - y * py - z * pz
            for r in range(rank):
                moved[i, r] = x * basis[v, r, 0] + y * basis[v, r, 1] + z * basis[v, r, 2]
        for r in range(rank):
            x, y, z = moved[0, r], moved[1, r], moved[2, r]
            g[r] += x * moved[0, rank] + y * moved[1, rank] + z * moved[2, rank]
            for s in range(r + 1):
                M[r, s] += x * moved[0, s] + y * moved[1, s] + z * moved[2, s]


def _coefficients_of_frame(problem: FitProblem, skin: SkinState, basis: Float64, fixed: ColumnFit, f: int) -> Float64:
    """(r,) the coefficients of one frame."""
    rank = basis.shape[1]
    M, g, scratch = np.zeros((rank, rank)), np.zeros(rank), np.empty((3, rank + 1))
    fixed_here = ColumnFit(fixed.basis, fixed.coefficients[f : f + 1])
    targets = np.ascontiguousarray(problem.targets[:, 3 * f : 3 * f + 3])
    for start in range(0, problem.n_vertices, BLOCK):
        block = slice(start, start + BLOCK)
        points = np.ascontiguousarray(corrected_points(problem.points, fixed_here, block))
        blends = np.empty((len(points), 1, 3, 4))
        blend_frames(skin.bones[block], skin.weights[block], skin.transforms[f : f + 1], blends)
        _coefficient_sums(blends, points, targets[block], basis[block], scratch, M, g)
    M += np.tril(M, -1).T
    M[np.diag_indices(rank)] += DAMPING * np.trace(M) / rank + 1e-300
    return np.asarray(np.linalg.solve(M, g))


def solve_coefficients(problem: FitProblem, skin: SkinState, basis: Float64, fixed: ColumnFit, threads: int) -> Float64:
    """The coefficients (f,r) for a given basis on top of fixed columns."""
    q = np.empty((problem.n_frames, basis.shape[1]))

    def work(start: int, stop: int) -> None:
        for f in range(start, stop):
            q[f] = _coefficients_of_frame(problem, skin, basis, fixed, f)

    for_blocks(work, problem.n_frames, 4, threads)
    return q
