"""The one loop that blends bone matrices, and the one that applies the blends.

    A_v = sum_k w_vk T_bone(v,k),   x_v = A_v [p_v; 1]

Playing, normals, conditioning, errors by rank, corrections and the readers of skins all go through these.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64, IntArray
from osteon.core.kernels import kernel

__all__ = ["apply_blends", "blend_at", "blend_matrices"]


@kernel
def blend_at(bones: IntArray, weights: FloatArray, transforms: FloatArray, out: Float64) -> None:
    """out (3,4) = sum_k w_k T_bone(k) of one vertex, from transforms (b,3,4)."""
    for i in range(3):
        for j in range(4):
            total = 0.0
            for k in range(bones.shape[0]):
                total += np.float64(weights[k]) * transforms[bones[k], i, j]
            out[i, j] = total


@kernel
def blend_matrices(bones: Int32, weights: Float32, transforms: Float64, vertices: Int64, out: Float64) -> None:
    """out (n,3,4): the blends of some vertices."""
    for n in range(vertices.shape[0]):
        v = vertices[n]
        blend_at(bones[v], weights[v], transforms, out[n])


@kernel
def apply_blends(blends: Float64, points: Float64, out: Float32) -> None:
    """out (n,3) = A [p; 1]."""
    for n in range(points.shape[0]):
        x, y, z = points[n, 0], points[n, 1], points[n, 2]
        for i in range(3):
            out[n, i] = blends[n, i, 0] * x + blends[n, i, 1] * y + blends[n, i, 2] * z + blends[n, i, 3]
