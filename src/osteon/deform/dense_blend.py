"""Linear blending where every vertex follows all bones: the same sum as `blending`, as one product of matrices.

    x_v = sum_b w_vb T_b [p_v; 1]

Notes
Timings of `blend_dense` with 43,243 vertices, 30 bones, 24 frames, two cores: one product of (v,4b) and (4b,3f) 53 ms,
the same in blocks of vertices 45 ms (its factor then stays in the cache, and memory is bounded), blended matrices frame
by frame 61 ms, one einsum 2.5 s.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, FloatArray, checked

__all__ = ["blend_dense"]

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
