"""3x4 affine transforms and rotations, in NumPy. The last two axes are always the matrix.

A transform is [A | t] and takes a column vector p to A p + t; `target_from_source` in every name.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, FloatArray

__all__ = ["apply", "compose", "identity", "invert", "nearest_rotation", "rotation_from_axis_angle"]


def identity(*shape: int) -> Float64:
    """Identity transforms of the given leading shape."""
    out = np.zeros((*shape, 3, 4))
    out[..., :3] = np.eye(3)
    return out


def apply(target_from_source: FloatArray, points: FloatArray) -> Float64:
    """Points (…, v, 3) moved by transforms (…, 3, 4)."""
    linear = np.asarray(target_from_source[..., :3], np.float64)
    return points @ np.swapaxes(linear, -1, -2) + target_from_source[..., None, :, 3]


def compose(c_from_b: FloatArray, b_from_a: FloatArray) -> Float64:
    """First b_from_a, then c_from_b."""
    out = np.empty(np.broadcast_shapes(c_from_b.shape, b_from_a.shape))
    out[..., :3] = c_from_b[..., :3] @ b_from_a[..., :3]
    out[..., 3] = np.einsum("...ij,...j->...i", c_from_b[..., :3], b_from_a[..., 3]) + c_from_b[..., 3]
    return out


def invert(target_from_source: FloatArray) -> Float64:
    """source_from_target."""
    out = np.empty(target_from_source.shape)
    out[..., :3] = np.linalg.inv(target_from_source[..., :3])
    out[..., 3] = -np.einsum("...ij,...j->...i", out[..., :3], target_from_source[..., 3])
    return out


def nearest_rotation(matrices: FloatArray) -> Float64:
    """The rotation R (det +1) that maximises trace(R' M): the polar factor where det M > 0."""
    u, _, vt = np.linalg.svd(np.asarray(matrices, np.float64))
    flip = np.linalg.det(u) * np.linalg.det(vt) < 0
    u[flip, :, 2] *= -1
    out: Float64 = u @ vt
    return out


def rotation_from_axis_angle(axis: FloatArray, angle: FloatArray | float) -> Float64:
    """Rotation by `angle` radians about `axis` (…, 3), by Rodrigues' formula."""
    unit = np.asarray(axis, np.float64) / np.linalg.norm(axis, axis=-1, keepdims=True)
    x, y, z = np.moveaxis(unit, -1, 0)
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).reshape(*x.shape, 3, 3)
    sin, cos = np.sin(angle)[..., None, None], np.cos(angle)[..., None, None]
    out: Float64 = np.eye(3) + sin * cross + (1 - cos) * (cross @ cross)
    return out
