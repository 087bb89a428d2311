"""Vertices whose blend nearly collapses in some frame: no correction that a file can hold moves them there.

A correction d moves a vertex by A d. Where the smallest singular value of the blend A is s, a move may need a d that is
1 / s times as long, of which single precision loses the 1e-7th part. As many corrections as frames promise
to be exact, so such a vertex follows its strongest bone alone, where that is less flat.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.fit.corrections.columns import SkinState

__all__ = ["without_flat_blends"]

#: Blends flatter than this part of their size are given up.
FLATTEST = 1e-3


def without_flat_blends(skin: SkinState) -> SkinState:
    """The skin with one bone for every vertex whose blend nearly collapses."""
    bones, weights = skin.bones, skin.weights
    alone = np.zeros_like(weights)
    np.put_along_axis(alone, weights.argmax(axis=1)[:, None], 1.0, axis=1)
    blended = _flattest(skin.transforms, bones, weights)
    flat = (blended < FLATTEST) & (blended < _flattest(skin.transforms, bones, alone))
    return SkinState(skin.transforms, bones, np.where(flat[:, None], alone, weights)) if flat.any() else skin


def _flattest(transforms: Float64, bones: Int64, weights: Float64) -> Float64:
    """(v,) the least of 2 |det A| / |A|^2 over the frames: never more than the smallest singular value of a blend A."""
    least = np.full(len(bones), np.inf)
    for linear in transforms[..., :3]:
        blend = np.einsum("vk,vkij->vij", weights, linear[bones])
        size = np.maximum((blend**2).sum(axis=(1, 2)), 1e-300)
        np.minimum(least, 2 * np.abs(np.linalg.det(blend)) / size, out=least)
    return least
