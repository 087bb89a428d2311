"""The kernels that blend bone matrices and apply the blends, and the blend of all bones as a product of matrices.

    A_v = sum_k w_vk T_bone(v,k),   x_v = A_v [p_v; 1]                      blend_matrices, apply_blends
    x_v = sum_b w_vb T_b [p_v; 1]                                           blend_dense: every vertex follows all bones

Posing, normals, conditioning, errors by rank and the readers of skins all use `blend_matrices`; fits, which hold
weights in double precision and need all frames of some vertices, use `blend_frames` of fit/corrections/columns.py.

Notes
8,431 vertices, 48 frames, 4 influences, one core: both loops 10 ms in blocks of 2,048 vertices, one loop that poses
without matrices 17 ms, twelve sums in an array 15 ms, a function that takes rows of the arrays 49 ms: each row becomes
an array first.
Dense, 43,243 vertices, 30 bones, 24 frames, two cores: one product of (v,4b) and (4b,3f) 53 ms, the same in blocks of
vertices 45 ms (its factor then stays in the cache, and memory is bounded), blended matrices frame by frame 61 ms, one
einsum 2.5 s.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int32, Int64, checked
from osteon.core.kernels import kernel

__all__ = ["apply_blends", "blend_dense", "blend_matrices"]


@kernel("i4.2r f4.2r f8.3r i8.1r f8.3")
def blend_matrices(bones: Int32, weights: Float32, transforms: Float64, vertices: Int64, out: Float64) -> None:
    """out (n,3,4): the blends of some vertices. Each row of a matrix is summed in scalars, which stay in registers."""
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


#: Vertices blended at once.
BLOCK = 4096


def blend_dense(vertices: FloatArray, weights: FloatArray, transforms: FloatArray) -> Float64:
    """(f,v,3) vertices moved by the blends of bone transforms (f,b,3,4) with weights (v,b)."""
    points: Float64 = checked("vertices", vertices, (None, 3), np.float64)
    blend: Float64 = checked("weights", weights, (len(points), None), np.float64)
    n_bones = blend.shape[1]
    bones: Float64 = checked("transforms", transforms, (None, n_bones, 3, 4), np.float64)
    n_frames = len(bones)
    homogeneous = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    columns = bones.transpose(1, 3, 0, 2).reshape(4 * n_bones, 3 * n_frames)
    posed = np.empty((n_frames, len(points), 3))
    for start in range(0, len(points), BLOCK):
        block = slice(start, start + BLOCK)
        rows = (blend[block, :, None] * homogeneous[block, None]).reshape(-1, 4 * n_bones)
        posed[:, block] = (rows @ columns).reshape(-1, n_frames, 3).swapaxes(0, 1)  # eq. 1
    return posed
