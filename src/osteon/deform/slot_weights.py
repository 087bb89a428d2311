"""What the families share whose slots hold several numbers: sums that keep the rest pose, and shares of the bones."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int32
from osteon.core.errors import GeometryError
from osteon.core.skin import Skin

__all__ = ["check_sums", "shares"]

#: Sums over slots may miss by what float32 rounding of the terms leaves, of the sum of their sizes.
SUM_TOLERANCE = 1e-5


def check_sums(name: str, values: Float32, expected: float) -> None:
    """Refuse values (v,k,…) whose sums over the slots are not as expected: bones at rest would move the mesh."""
    if not values.size:
        return
    sums = values.sum(axis=1, dtype=np.float64)
    sizes = np.abs(values).sum(axis=1, dtype=np.float64)
    off = np.abs(sums - expected) - SUM_TOLERANCE * (sizes + abs(expected))
    if off.max() > 0:
        at = np.unravel_index(int(off.argmax()), off.shape)
        raise GeometryError(f"{name}: vertex {int(at[0])} sums to {sums[at]:.6f}, expected {expected:g}")


def shares(bones: Int32, weights: FloatArray) -> Skin:
    """How much of a vertex belongs to each bone, by the size of weights (v,k) of any sign."""
    sizes: Float64 = np.abs(weights, dtype=np.float64)
    return Skin(bones, (sizes / sizes.sum(axis=1, keepdims=True)).astype(np.float32))
