"""Smallest singular values of blended transforms: near zero, a blend flattens what it moves and has no inverse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.model import SkinnedModel
from osteon.deform.pose import blends_of

__all__ = ["Conditioning", "measure_conditioning"]

#: Pairs of frame and vertex that are looked at, at most.
MAX_PAIRS = 400_000
#: What the cosine formula may be off, as a part of the size: it keeps half the digits where two values are equal.
ROUNDING = 1e-6


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
    # The first percentile lies between two of the smallest values; the decomposition need see no more than those.
    place = 0.01 * (len(linear) - 1)
    low = np.sort(np.linalg.svd(_flattest(linear, int(place) + 2), compute_uv=False)[:, 2])
    at = np.interp(place, np.arange(len(low)), low)
    return Conditioning(float(low[0]), float(at))


def _flattest(linear: Float64, count: int) -> Float64:
    """(n,3,3) all matrices that may be among the `count` with the smallest singular values, at least as many."""
    if count >= len(linear):
        return linear
    squared, size = _smallest_eigenvalues(np.swapaxes(linear, 1, 2) @ linear)
    slack = ROUNDING * size
    bound = np.partition(squared + slack, count - 1)[count - 1]
    chosen: Float64 = linear[squared - slack <= bound]
    return chosen


def _smallest_eigenvalues(gram: Float64) -> tuple[Float64, Float64]:
    """(n,) of symmetric matrices (n,3,3), by the cosine formula, and their largest diagonal entries' mean."""
    xx, yy, zz = gram[:, 0, 0], gram[:, 1, 1], gram[:, 2, 2]
    xy, xz, yz = gram[:, 0, 1], gram[:, 0, 2], gram[:, 1, 2]
    mean = (xx + yy + zz) / 3
    x, y, z = xx - mean, yy - mean, zz - mean
    spread = np.sqrt((x * x + y * y + z * z + 2 * (xy * xy + xz * xz + yz * yz)) / 6)
    determinant = x * (y * z - yz * yz) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz)
    cosine = np.clip(determinant / np.maximum(2 * spread**3, 1e-300), -1, 1)
    return mean + 2 * spread * np.cos((np.arccos(cosine) + 2 * np.pi) / 3), mean
