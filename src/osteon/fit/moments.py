"""Sums over frames or over vertices that make a round of fitting cheap.

Predictions of all bones (for weights). With T_b^f p the prediction of bone b, the products that the weights of a
vertex depend on need no pass over frames for each pair of bones:

    sum_f (T_b p)'(T_c p) = p' M_bc p,    M_bc = sum_f T_b^f' T_c^f      (4x4, shared by all vertices)
    sum_f (T_b p)' x      = p' h_b,       h_b  = sum_f T_b^f' x^f        (one matrix product for all vertices)

Blends of all vertices (for bones). With z_vb = w_vb p_v, the bones of every frame see the same matrix Z'Z:

    sum_v || sum_b T_b z_vb - x_v ||^2,   Z'Z (4b,4b),   Z'X (4b,3f)

Symmetric 4x4 forms p' M p are stored as ten numbers times the ten products of p.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64
from osteon.core.kernels import kernel
from osteon.core.parallel import for_blocks
from osteon.fit.problem import FitProblem

__all__ = ["add_blend_moments", "blend_moments", "moment_centers", "prediction_moments", "products", "squared_errors"]

_ROW = np.array([0, 1, 2, 0, 0, 1, 0, 1, 2, 3])
_COLUMN = np.array([0, 1, 2, 1, 2, 2, 3, 3, 3, 3])

#: Partial sums over vertices; a fixed number, so that the order of addition never changes.
PARTS = 8


def products(points: Float64) -> Float64:
    """(v,10) the products of the coordinates of (v,4) homogeneous points, doubled off the diagonal."""
    return points[:, _ROW] * points[:, _COLUMN] * np.where(_ROW == _COLUMN, 1.0, 2.0)


def prediction_moments(problem: FitProblem, transforms: Float64, threads: int) -> tuple[Float64, Float64]:
    """cross (v,b) = p' h_b, and forms (b,b,10) of p' M_bc p."""
    n_frames, n_bones = transforms.shape[:2]
    stacked = np.ascontiguousarray(transforms.transpose(0, 2, 1, 3)).reshape(3 * n_frames, 4 * n_bones)
    cross = np.empty((problem.n_vertices, n_bones))

    def work(start: int, stop: int) -> None:
        h = (problem.targets[start:stop].astype(np.float64) @ stacked).reshape(-1, n_bones, 4)
        np.einsum("vbi,vi->vb", h, problem.points[start:stop], out=cross[start:stop])

    for_blocks(work, problem.n_vertices, 1024, threads)
    m = (stacked.T @ stacked).reshape(n_bones, 4, n_bones, 4).transpose(0, 2, 1, 3)
    forms = np.ascontiguousarray(0.5 * (m[:, :, _ROW, _COLUMN] + m[:, :, _COLUMN, _ROW]))
    return cross, forms


def squared_errors(problem: FitProblem, transforms: Float64, threads: int) -> Float64:
    """(v,b) error of every vertex if it followed one bone alone: the paper's gamma (eq. 5)."""
    cross, forms = prediction_moments(problem, transforms, threads)
    diagonal = forms[np.arange(len(forms)), np.arange(len(forms))]
    gamma: Float64 = products(problem.points) @ diagonal.T - 2 * cross + problem.energy[:, None]
    return np.maximum(gamma, 0)


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
    zz = np.zeros((PARTS, 4 * n_bones, 4 * n_bones))
    zx = np.zeros((PARTS, 4 * n_bones, problem.targets.shape[1]))
    block = -(-problem.n_vertices // PARTS)

    def work(start: int, stop: int) -> None:
        part = start // block
        add_blend_moments(problem.points, problem.targets, bones, weights, start, stop, zz[part], zx[part])

    for_blocks(work, problem.n_vertices, block, threads)
    return zz.sum(axis=0), zx.sum(axis=0)


def moment_centers(points: Float64, bones: np.ndarray, weights: Float64, n_bones: int) -> Float64:
    """(b,3) centre of each bone's vertices, with the weight that the fit gives them: of the squared blend weights."""
    squared = (weights**2).ravel()
    owners = bones.ravel()
    mass = np.bincount(owners, squared, n_bones)
    sums = [np.bincount(owners, squared * np.repeat(points[:, i], bones.shape[1]), n_bones) for i in range(3)]
    centers: Float64 = np.stack(sums, axis=1) / np.maximum(mass, 1e-12)[:, None]
    return centers
