"""Sums over frames or vertices that are computed once per round of fitting.

Predictions of all bones (for weights). With T_b^f p the prediction of bone b, the products that the weights of a
vertex depend on need no pass over frames for each pair of bones:

    sum_f (T_b p)'(T_c p) = p' M_bc p,    M_bc = sum_f T_b^f' T_c^f      (4x4, shared by all vertices)
    sum_f (T_b p)' x      = p' h_b,       h_b  = sum_f T_b^f' x^f        (one matrix product for all vertices)

Blends of all vertices (for bones). With z_vb = w_vb p_v, the bones of every frame share the matrix Z'Z:

    sum_v || sum_b T_b z_vb - x_v ||^2,   Z'Z (4b,4b),   Z'X (4b,3f)

Symmetric 4x4 forms p' M p are stored as ten numbers times the ten products of p.

Normals in the problem (`problem.normals`) are rows of the same sums with [h n; 0] for p and h m for x, so that only the
rest moment changes: p p' becomes p p' + h^2 [n; 0][n; 0]'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64
from osteon.core.kernels import kernel
from osteon.core.parallel import for_blocks
from osteon.fit.problem import FitProblem, NormalRows

_ROW = np.array([0, 1, 2, 0, 0, 1, 0, 1, 2, 3])
_COLUMN = np.array([0, 1, 2, 1, 2, 2, 3, 3, 3, 3])

#: Partial sums over vertices; a fixed number, so that the order of addition never changes.
PARTS = 8


def products(points: Float64) -> Float64:
    """(v,10) the products of the coordinates of (v,4) homogeneous points, doubled off the diagonal."""
    return points[:, _ROW] * points[:, _COLUMN] * np.where(_ROW == _COLUMN, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class PredictionMoments:
    """Sums that determine weights: a vertex's error is w'G w, G_bc = product.forms_bc - cross_b - cross_c + energy."""

    product: Float64  # (v,10) the products of the rest moment
    forms: Float64  # (b,b,10) of p' M_bc p
    cross: Float64  # (v,b) p' h_b
    energy: Float64  # (v,) squared norm of the targets
    of_normals: PredictionMoments | None = None  # of the normals alone, without their weight

    def errors(self, bones: NDArray[np.int64], weights: Float64) -> Float64:
        """(v,) squared error of every vertex with bones and weights (v,k)."""
        first, second = np.triu_indices(bones.shape[1])
        pairs = weights[:, first] * weights[:, second] * np.where(first == second, 1.0, 2.0)
        mixed = np.matmul(pairs[:, None], self.forms[bones[:, first], bones[:, second]])[:, 0]
        cross = (weights * np.take_along_axis(self.cross, bones, axis=1)).sum(axis=1)
        squared: Float64 = np.einsum("vi,vi->v", mixed, self.product) - 2 * cross + self.energy
        return np.maximum(squared, 0)

    @property
    def gamma(self) -> Float64:
        """(v,b) squared error of every vertex if it followed one bone alone (eq. 5 of Skinning Mesh Animations)."""
        at = np.arange(len(self.forms))
        alone: Float64 = self.product @ self.forms[at, at].T - 2 * self.cross + self.energy[:, None]
        return np.maximum(alone, 0)


def prediction_moments(problem: FitProblem, transforms: Float64, threads: int) -> PredictionMoments:
    """The sums over all frames of bones (f,b,3,4)."""
    n_frames, n_bones = transforms.shape[:2]
    stacked = np.ascontiguousarray(transforms.transpose(0, 2, 1, 3)).reshape(3 * n_frames, 4 * n_bones)
    cross = np.empty((problem.n_vertices, n_bones))

    def work(start: int, stop: int) -> None:
        h = (problem.targets[start:stop].astype(np.float64) @ stacked).reshape(-1, n_bones, 4)
        np.einsum("vbi,vi->vb", h, problem.points[start:stop], out=cross[start:stop])

    for_blocks(work, problem.n_vertices, 1024, threads)
    m = (stacked.T @ stacked).reshape(n_bones, 4, n_bones, 4).transpose(0, 2, 1, 3)
    forms = np.ascontiguousarray(0.5 * (m[:, :, _ROW, _COLUMN] + m[:, :, _COLUMN, _ROW]))
    plain = PredictionMoments(products(problem.points), forms, cross, problem.energy)
    rows = problem.normals
    return plain if rows is None or rows.weight == 0 else _with_normals(plain, rows, stacked, threads)


def _with_normals(plain: PredictionMoments, rows: NormalRows, stacked: Float64, threads: int) -> PredictionMoments:
    """The sums with the rows of normals, in single precision, whose rounding is far below their residual."""
    n_bones, single = len(plain.forms), stacked.astype(np.float32)
    cross = np.empty((len(rows.rest), n_bones))

    def work(start: int, stop: int) -> None:
        h = (rows.targets[start:stop] @ single).reshape(-1, n_bones, 4)
        np.einsum("nbi,ni->nb", h[..., :3], rows.rest[start:stop], out=cross[start:stop])

    for_blocks(work, len(cross), 1024, threads)
    product = products(np.concatenate([rows.rest, np.zeros((len(cross), 1))], axis=1))
    alone = PredictionMoments(
        _sums_by_vertex(product, rows.vertex, len(plain.product)),
        plain.forms,
        _sums_by_vertex(cross, rows.vertex, len(plain.cross)),
        np.bincount(rows.vertex, rows.energy, len(plain.energy)).astype(np.float64),
    )
    return PredictionMoments(
        plain.product + rows.weight * alone.product,
        plain.forms,
        plain.cross + rows.weight * alone.cross,
        plain.energy + rows.weight * alone.energy,
        alone,
    )


def _sums_by_vertex(values: Float64, vertex: NDArray[np.int64], n_vertices: int) -> Float64:
    """(v,…) sums of rows (n,…) over the rows of each vertex; `vertex` ascends."""
    out = np.zeros((n_vertices, values.shape[1]))
    begins = np.flatnonzero(np.diff(vertex, prepend=-1))
    if len(begins):
        out[vertex[begins]] = np.add.reduceat(values, begins, axis=0)
    return out


def squared_errors(problem: FitProblem, transforms: Float64, threads: int) -> Float64:
    """(v,b) error of every vertex if it followed one bone alone: the paper's gamma (eq. 5)."""
    return prediction_moments(problem, transforms, threads).gamma


@kernel("f8.2r f4.2r i8.2r f8.2r i8 i8 f8.2 f8.2")
def add_blend_moments(
    points: Float64,
    targets: Float32,
    bones: NDArray[np.int64],
    weights: Float64,
    start: int,
    stop: int,
    zz: Float64,
    zx: Float64,
) -> None:
    """Adds Z'Z and Z'X of vertices start … stop."""
    n_slots = bones.shape[1]
    for v in range(start, stop):
        for a in range(n_slots):
            wa = weights[v, a]
            if wa == 0:
                continue
            row = 4 * bones[v, a]
            for b in range(n_slots):
                w = wa * weights[v, b]
                if w == 0:
                    continue
                column = 4 * bones[v, b]
                for i in range(4):
                    for j in range(4):
                        zz[row + i, column + j] += w * points[v, i] * points[v, j]
            for i in range(4):
                factor = wa * points[v, i]
                for f in range(targets.shape[1]):
                    zx[row + i, f] += factor * targets[v, f]


def blend_moments(
    problem: FitProblem, bones: np.ndarray, weights: Float64, n_bones: int, threads: int
) -> tuple[Float64, Float64]:
    """Z'Z (4b,4b) and Z'X (4b,3f)."""
    bones, weights = np.ascontiguousarray(bones, np.int64), np.ascontiguousarray(weights, np.float64)
    zz, zx = _row_moments(problem.points, problem.targets, bones, weights, n_bones, threads)
    rows = problem.normals
    if rows is None or rows.weight == 0:
        return zz, zx
    h = float(np.sqrt(rows.weight))
    directions = np.concatenate([h * rows.rest, np.zeros((len(rows.rest), 1))], axis=1)
    more = _row_moments(directions, rows.targets, bones[rows.vertex], weights[rows.vertex], n_bones, threads)
    return zz + more[0], zx + h * more[1]


def _row_moments(
    points: Float64, targets: Float32, bones: NDArray[np.int64], weights: Float64, n_bones: int, threads: int
) -> tuple[Float64, Float64]:
    """Z'Z and Z'X of rows (n,4), their targets (n,3f), bones and weights (n,k)."""
    zz = np.zeros((PARTS, 4 * n_bones, 4 * n_bones))
    zx = np.zeros((PARTS, 4 * n_bones, targets.shape[1]))
    block = -(-len(points) // PARTS)

    def work(start: int, stop: int) -> None:
        part = start // block
        add_blend_moments(points, targets, bones, weights, start, stop, zz[part], zx[part])

    for_blocks(work, len(points), block, threads)
    return zz.sum(axis=0), zx.sum(axis=0)


def moment_centers(points: Float64, bones: np.ndarray, weights: Float64, n_bones: int) -> Float64:
    """(b,3) centre of each bone's vertices, weighted by the squared blend weights."""
    squared = (weights**2).ravel()
    owners = bones.ravel()
    mass = np.bincount(owners, squared, n_bones)
    sums = [np.bincount(owners, squared * np.repeat(points[:, i], bones.shape[1]), n_bones) for i in range(3)]
    return np.asarray(np.stack(sums, axis=1) / np.maximum(mass, 1e-12)[:, None])
