"""3x4 affine transforms and rotations, in NumPy. The last two axes are always the matrix.

A transform is [A | t] and takes a column vector p to A p + t; `target_from_source` in every name.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, FloatArray

__all__ = [
    "apply",
    "compose",
    "identity",
    "invert",
    "least_rotation",
    "nearest_rotation",
    "rotation_from_axis_angle",
    "unit_vectors",
]

#: The sum of two unit vectors that is shorter than this has no direction: they are opposite.
OPPOSITE = 1e-7


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


def least_rotation(source: FloatArray, target: FloatArray, hint: FloatArray | None = None) -> Float64:
    """(…,3,3) the rotation by the least angle from one direction (…,3) to the other; the identity where one has none.

    The product of two half turns, about the source and about the bisector, is a rotation to full precision at any
    angle. Opposite directions rotate about the part of `hint` that is orthogonal to the source, or else about an
    orthogonal axis, in 2D about z.
    """
    s, t = unit_vectors(source), unit_vectors(target)
    missing = np.asarray(~(s.any(axis=-1) & t.any(axis=-1)))
    middle = s + t
    opposite = np.asarray(np.linalg.norm(middle, axis=-1) < OPPOSITE)
    if opposite.any():
        middle = np.where(opposite[..., None], _across(s, np.zeros(3) if hint is None else hint), middle)
    turned = _half_turn(unit_vectors(middle)) @ _half_turn(s)
    out: Float64 = np.where(missing[..., None, None], np.eye(3), turned)
    return out


def unit_vectors(vectors: FloatArray) -> Float64:
    """(…,3) of length 1, zero where there is no direction; scaled first, so that no square under- or overflows."""
    largest = np.abs(vectors).max(axis=-1, keepdims=True)
    scaled = vectors / np.where(largest > 0, largest, 1)
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    out: Float64 = scaled / np.where(length > 0, length, 1)
    return out


def _across(unit: Float64, hint: FloatArray) -> Float64:
    """(…,3) a direction orthogonal to `unit` and to the hint.

    Without a hint the result is in the xy plane for directions in that plane, so that 2D stays 2D.
    """
    by_hint = np.cross(unit, hint)
    least = np.eye(3)[2 - np.abs(unit[..., ::-1]).argmin(axis=-1)]
    enough = np.linalg.norm(by_hint, axis=-1, keepdims=True) > 1e-6 * np.linalg.norm(hint, axis=-1, keepdims=True)
    out: Float64 = np.where(enough, by_hint, np.cross(unit, least))
    return out


def _half_turn(unit: Float64) -> Float64:
    """2 u u' - 1: the rotation by 180 degrees about u."""
    out: Float64 = 2 * unit[..., :, None] * unit[..., None, :] - np.eye(3)
    return out
