"""What the fits of corrections ask of a few vertices in all frames: their blends, and what those leave of the source.

    A_v^f = sum_k w_vk T_bone(v,k)^f,   left_v^f = x_v^f - A_v^f (p_v + U_v q^f) - t_v^f

Symbols as in fit_corrections.py. The blends are compiled, the rest is NumPy on blocks of vertices: products of stacked
matrices and BLAS are as quick as loops over vertices and frames, which took 15 s to compile.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.kernels import kernel
from osteon.fit.corrections.columns import ColumnFit, SkinState
from osteon.fit.problem import FitProblem

__all__ = ["PAIRS", "blend_frames", "blends_and_residue", "corrected_points", "pulled_back", "squares_of"]

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
    """(n,f,3) the rest points of some vertices with their corrections, or (n,1,3) if there are none."""
    rest: Float64 = points[vertices, None, :3]
    if columns.rank == 0:
        return rest
    moved: Float64 = rest + np.matmul(columns.coefficients, columns.basis[vertices])
    return moved


def blends_and_residue(
    problem: FitProblem, skin: SkinState, fixed: ColumnFit, vertices: slice | Int64
) -> tuple[Float64, Float64]:
    """A and t (n,f,3,4) of some vertices, and what they leave of the source (n,f,3) with the fixed columns."""
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


def pulled_back(blends: Float64, left: Float64) -> Float64:
    """(n,3,f) A' left."""
    out = np.empty((len(blends), 3, blends.shape[1]))
    for i in range(3):
        np.einsum("vfk,vfk->vf", blends[..., i], left, out=out[:, i])
    return out
