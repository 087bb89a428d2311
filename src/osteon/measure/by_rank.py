"""The error of every rank of a model with corrections, in one pass over the frames.

e_r = sum_v sum_f || A_v^f [p_v + sum_{s <= r} U_sv q_s^f; 1] - x_v^f ||^2,   E_r = 100 sqrt(e_r) / || P - mean ||
"""

from __future__ import annotations

from functools import partial

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.core.frame_blocks import FrameBlock, frame_blocks, mean_frame
from osteon.core.frames import FrameSource
from osteon.core.kernels import kernel
from osteon.core.model import SkinnedModel
from osteon.core.parallel import available_threads, for_blocks
from osteon.core.sequence import MeshSequence, frames_of
from osteon.deform.pose import blends_of

__all__ = ["error_percent_by_rank"]


@kernel("f4.2r f8.3r f4.3r f4.1r f8.2r f8.1 f8.1")
def _squared_by_rank(
    rest: Float32,
    blends: Float64,
    basis: Float32,
    coefficients: Float32,
    source: Float64,
    left: Float64,
    out: Float64,
) -> None:
    """Adds to out (r+1,) the squared errors of a frame, from blends (v,3,4); left (3) is scratch."""
    for v in range(rest.shape[0]):
        A = blends[v]
        for i in range(3):
            left[i] = A[i, 0] * rest[v, 0] + A[i, 1] * rest[v, 1] + A[i, 2] * rest[v, 2] + A[i, 3] - source[v, i]
        out[0] += left[0] ** 2 + left[1] ** 2 + left[2] ** 2
        for r in range(basis.shape[0]):
            q = np.float64(coefficients[r])
            for i in range(3):
                left[i] += q * (A[i, 0] * basis[r, v, 0] + A[i, 1] * basis[r, v, 1] + A[i, 2] * basis[r, v, 2])
            out[r + 1] += left[0] ** 2 + left[1] ** 2 + left[2] ** 2


def error_percent_by_rank(
    model: SkinnedModel, frames: MeshSequence | FrameSource | Float32, *, threads: int = 0
) -> Float64:
    """(r+1,) E % of the model cut to rank 0, 1, … and whole, against the source's frames (f,v,3)."""
    rank, corrections = model.rank, model.corrections
    basis = np.zeros((0, model.n_vertices, 3), np.float32) if corrections is None else corrections.basis[:rank]
    none = np.zeros((model.n_frames, 0), np.float32)
    coefficients = none if corrections is None else np.ascontiguousarray(corrections.coefficients[:, :rank])
    original = frames_of(frames)
    mean = mean_frame(original)
    squared, motion = np.zeros((model.n_frames, rank + 1)), np.zeros(model.n_frames)

    def work(block: FrameBlock, begin: int, end: int) -> None:
        for f in range(block.start + begin, block.start + end):
            source = block.frames[f - block.start].astype(np.float64)
            motion[f] = float(((source - mean) ** 2).sum())
            blends = blends_of(model.deformer, model.animation.transforms[f])
            _squared_by_rank(model.rest, blends, basis, coefficients[f], source, np.empty(3), squared[f])

    for block in frame_blocks(original):
        for_blocks(partial(work, block), len(block.frames), 1, available_threads(threads))
    total: Float64 = 100 * np.sqrt(squared.sum(axis=0) / max(motion.sum(), 1e-300))
    return total
