"""Smallest singular values of blended transforms: near zero, a blend flattens what it moves and has no inverse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.model import SkinnedModel
from osteon.core.parallel import available_threads, for_blocks
from osteon.deform.pose import blends_of

__all__ = ["Conditioning", "measure_conditioning"]

#: Pairs of frame and vertex that are looked at, at most.
MAX_PAIRS = 400_000
#: What the cosine formula may be off, as a part of the mean square: half the digits stay where values are equal.
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Conditioning:
    """Of the smallest singular value of the blends' linear parts over vertices and frames."""

    smallest: float
    first_percentile: float


def measure_conditioning(model: SkinnedModel, *, threads: int = 0) -> Conditioning:
    """Smallest singular values of the blends, of evenly spread pairs where there are very many."""
    pairs = model.n_frames * model.n_vertices
    step = max(1, -(-pairs // MAX_PAIRS))
    chosen = np.arange(0, pairs, step)
    # A step that shares a factor with the vertex count would visit few vertices; walk with a drifting start instead.
    chosen = (chosen + np.arange(len(chosen)) % step) if step > 1 else chosen
    chosen = chosen[chosen < pairs]
    starts = np.searchsorted(chosen, model.n_vertices * np.arange(model.n_frames + 1))
    linear, squared, slack = np.empty((len(chosen), 3, 3)), np.empty(len(chosen)), np.empty(len(chosen))

    def work(start: int, stop: int) -> None:
        for f in range(start, stop):
            now = slice(starts[f], starts[f + 1])
            vertices = chosen[now] - f * model.n_vertices
            linear[now] = blends_of(model.deformer, model.animation.transforms[f], vertices)[..., :3]
            squared[now], size = _smallest_squared(linear[now])
            slack[now] = ROUNDING * size

    for_blocks(work, model.n_frames, 1, available_threads(threads))
    # The first percentile lies between two of the smallest values; the decomposition need see no others.
    place = 0.01 * (len(chosen) - 1)
    count = min(len(chosen), int(place) + 2)
    bound = np.partition(squared + slack, count - 1)[count - 1]
    low = np.sort(np.linalg.svd(linear[squared - slack <= bound], compute_uv=False)[:, 2])
    return Conditioning(float(low[0]), float(np.interp(place, np.arange(len(low)), low)))


def _smallest_squared(linear: Float64) -> tuple[Float64, Float64]:
    """(n,) squares of the smallest singular values of matrices (n,3,3), by the cosine formula, and their means."""
    a, b, c = (np.moveaxis(linear[..., i], -1, 0) for i in range(3))  # columns, (3,n)
    xx, yy, zz, xy, xz, yz = ((p * q).sum(axis=0) for p, q in ((a, a), (b, b), (c, c), (a, b), (a, c), (b, c)))
    mean = (xx + yy + zz) / 3
    x, y, z = xx - mean, yy - mean, zz - mean
    spread = np.sqrt((x * x + y * y + z * z + 2 * (xy * xy + xz * xz + yz * yz)) / 6)
    determinant = x * (y * z - yz * yz) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz)
    cosine = np.clip(determinant / np.maximum(2 * spread**3, 1e-300), -1, 1)
    return mean + 2 * spread * np.cos((np.arccos(cosine) + 2 * np.pi) / 3), mean
