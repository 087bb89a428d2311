"""Smallest singular values of blended transforms: near zero, a blend flattens what it moves and has no inverse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.model import SkinnedModel
from osteon.deform.pose import blends_of

__all__ = ["Conditioning", "measure_conditioning"]

#: Pairs of frame and vertex that are looked at, at most.
MAX_PAIRS = 400_000


@dataclass(frozen=True, slots=True)
class Conditioning:
    """Of the smallest singular value of the blends' linear parts over vertices and frames."""

    smallest: float
    first_percentile: float


def measure_conditioning(model: SkinnedModel) -> Conditioning:
    """Smallest singular values of the blends, of evenly spread pairs where there are very many."""
    pairs = model.n_frames * model.n_vertices
    step = max(1, -(-pairs // MAX_PAIRS))
    chosen = np.arange(0, pairs, step)
    # A step that shares a factor with the vertex count would visit few vertices; walk with a drifting start instead.
    chosen = (chosen + np.arange(len(chosen)) % step) if step > 1 else chosen
    chosen = chosen[chosen < pairs]
    starts = np.searchsorted(chosen, model.n_vertices * np.arange(model.n_frames + 1))
    linear = np.empty((len(chosen), 3, 3))
    for f, transforms in enumerate(model.animation.transforms):
        now = slice(starts[f], starts[f + 1])
        linear[now] = blends_of(model.deformer, transforms, chosen[now] - f * model.n_vertices)[..., :3]
    smallest = np.linalg.svd(linear, compute_uv=False)[:, 2]
    return Conditioning(float(smallest.min()), float(np.percentile(smallest, 1)))
