"""Unit dual quaternions: a rotation and a shift as one screw, in eight numbers.

    q = r + eps d,   d = 1/2 (0, t) r,   so that t = 2 d r*

The last axis holds r (x y z w), then d (x y z w). q and -q are the same motion.
Based on: L. Kavan, S. Collins, J. Zara, C. O'Sullivan, Skinning with dual quaternions, 2007.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, FloatArray
from osteon.core.quaternions import matrices_from_quaternions, quaternions_from_matrices

__all__ = ["dual_quaternions_from_transforms", "transforms_from_dual_quaternions"]


def dual_quaternions_from_transforms(transforms: FloatArray) -> Float64:
    """(…,8) of rigid transforms (…,3,4); what is no rotation in them is left out."""
    real = quaternions_from_matrices(np.asarray(transforms[..., :3], np.float64))
    shift = np.asarray(transforms[..., 3], np.float64)
    r, w = real[..., :3], real[..., 3:]
    vector = w * shift + np.cross(shift, r)
    scalar = -(shift * r).sum(axis=-1, keepdims=True)
    return np.concatenate([real, 0.5 * vector, 0.5 * scalar], axis=-1)


def transforms_from_dual_quaternions(dual_quaternions: FloatArray) -> Float64:
    """(…,3,4) rigid transforms of dual quaternions (…,8) of any length but zero."""
    unit = dual_quaternions / np.linalg.norm(dual_quaternions[..., :4], axis=-1, keepdims=True)
    r, w, d, e = unit[..., :3], unit[..., 3:4], unit[..., 4:7], unit[..., 7:]
    out = np.empty((*unit.shape[:-1], 3, 4))
    out[..., :3] = matrices_from_quaternions(unit[..., :4])
    out[..., 3] = 2 * (w * d - e * r + np.cross(r, d))
    return out
