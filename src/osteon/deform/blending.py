"""The one loop that blends bone matrices, and the one that applies the blends.

    A_v = sum_k w_vk T_bone(v,k),   x_v = A_v [p_v; 1]

Playing, normals, conditioning, errors by rank and the readers of skins all go through `blend_matrices`; fits, which
hold weights in double precision and want all frames of some vertices, through `blend_frames` of
fit/corrections/columns.py.

Notes, 8,431 vertices, 48 frames, 4 influences, one core: both loops 10 ms in blocks of 2,048 vertices, one loop that
poses without matrices 17 ms, twelve sums in an array 15 ms, a function that is handed rows of the arrays 49 ms: each
row becomes an array first.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32, Int64
from osteon.core.kernels import kernel

__all__ = ["apply_blends", "blend_matrices"]


@kernel("i4.2r f4.2r f8.3r i8.1r f8.3")
def blend_matrices(bones: Int32, weights: Float32, transforms: Float64, vertices: Int64, out: Float64) -> None:
    """out (n,3,4): the blends of some vertices. Rows of matrices are sums of their own, which stay in registers."""
    for n in range(vertices.shape[0]):
        v = vertices[n]
        ax = ay = az = aw = bx = by = bz = bw = cx = cy = cz = cw = 0.0
        for k in range(bones.shape[1]):
            b = bones[v, k]
            w = np.float64(weights[v, k])
            ax += w * transforms[b, 0, 0]
            ay += w * transforms[b, 0, 1]
            az += w * transforms[b, 0, 2]
            aw += w * transforms[b, 0, 3]
            bx += w * transforms[b, 1, 0]
            by += w * transforms[b, 1, 1]
            bz += w * transforms[b, 1, 2]
            bw += w * transforms[b, 1, 3]
            cx += w * transforms[b, 2, 0]
            cy += w * transforms[b, 2, 1]
            cz += w * transforms[b, 2, 2]
            cw += w * transforms[b, 2, 3]
        out[n, 0, 0], out[n, 0, 1], out[n, 0, 2], out[n, 0, 3] = ax, ay, az, aw
        out[n, 1, 0], out[n, 1, 1], out[n, 1, 2], out[n, 1, 3] = bx, by, bz, bw
        out[n, 2, 0], out[n, 2, 1], out[n, 2, 2], out[n, 2, 3] = cx, cy, cz, cw


@kernel("f8.3r f8.2r f4.2")
def apply_blends(blends: Float64, points: Float64, out: Float32) -> None:
    """out (n,3) = A [p; 1]."""
    for n in range(points.shape[0]):
        x, y, z = points[n, 0], points[n, 1], points[n, 2]
        for i in range(3):
            out[n, i] = blends[n, i, 0] * x + blends[n, i, 1] * y + blends[n, i, 2] * z + blends[n, i, 3]
