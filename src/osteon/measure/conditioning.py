"""Smallest singular values of blended transforms: near zero, a blend flattens what it moves and has no inverse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.kernels import kernel
from osteon.core.model import SkinnedModel

__all__ = ["Conditioning", "measure_conditioning"]

#: Pairs of frame and vertex that are looked at, at most.
MAX_PAIRS = 400_000


@dataclass(frozen=True, slots=True)
class Conditioning:
    """Of the smallest singular value of sum_k w_k A_k over vertices and frames."""

    smallest: float
    first_percentile: float


@kernel
def _blended_linear(bones, weights, transforms, frames, vertices, out):
    for q in range(frames.shape[0]):
        f, v = frames[q], vertices[q]
        for i in range(3):
            for j in range(3):
                total = 0.0
                for k in range(bones.shape[1]):
                    total += weights[v, k] * np.float64(transforms[f, bones[v, k], i, j])
                out[q, i, j] = total


def measure_conditioning(model: SkinnedModel) -> Conditioning:
    """Smallest singular values of the blends, of evenly spread pairs where there are very many."""
    pairs = model.n_frames * model.n_vertices
    step = max(1, -(-pairs // MAX_PAIRS))
    chosen = np.arange(0, pairs, step)
    # A step that shares a factor with the vertex count would visit few vertices; walk with a drifting start instead.
    chosen = (chosen + np.arange(len(chosen)) % step) if step > 1 else chosen
    chosen = chosen[chosen < pairs]
    linear = np.empty((len(chosen), 3, 3))
    _blended_linear(
        model.skin.bones,
        model.skin.weights,
        model.track.transforms,
        chosen // model.n_vertices,
        chosen % model.n_vertices,
        linear,
    )
    smallest = np.linalg.svd(linear, compute_uv=False)[:, 2]
    return Conditioning(float(smallest.min()), float(np.percentile(smallest, 1)))
