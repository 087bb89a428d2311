"""3x4 affine transforms and rotations, in NumPy. The last two axes are always the matrix.

A transform is [A | t] and takes a column vector p to A p + t; `target_from_source` in every name.

Quaternions x y z w, and dual quaternions, in NumPy. The last axis holds their numbers.

A unit dual quaternion is a rotation and a translation as one screw, in eight numbers, r (x y z w), then d (x y z w):

    q = r + eps d,   d = 1/2 (0, t) r,   so that t = 2 d r*

q and -q are the same motion.
Based on: L. Kavan, S. Collins, J. Zara, C. O'Sullivan, Skinning with dual quaternions, 2007.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from osteon.core.arrays import Float64, FloatArray

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

    The product of two rotations by 180 degrees, about the source and about the bisector, is exact to full precision at
    any angle. Opposite directions rotate about the part of `hint` that is orthogonal to the source, or else about an
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


IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])

#: Arcs shorter than this (radians) are interpolated linearly; the difference is far below float32.
SHORT_ARC = 1e-4


def quaternions_from_matrices(matrices: Float64) -> Float64:
    """Unit quaternions (…,4) x y z w of rotations (…,3,3)."""
    m = np.moveaxis(np.asarray(matrices).reshape(-1, 3, 3), 0, -1)
    xx, yy, zz = m[0, 0], m[1, 1], m[2, 2]
    outer = np.empty((4, 4, m.shape[-1]))  # 4 q q'; its longest row has all digits
    outer[0, 0], outer[1, 1] = 1 + xx - yy - zz, 1 - xx + yy - zz
    outer[2, 2], outer[3, 3] = 1 - xx - yy + zz, 1 + xx + yy + zz
    for i, j in ((0, 1), (0, 2), (1, 2)):
        outer[i, j] = outer[j, i] = m[i, j] + m[j, i]
    for i, (j, k) in enumerate(((2, 1), (0, 2), (1, 0))):
        outer[i, 3] = outer[3, i] = m[j, k] - m[k, j]
    best = outer[np.arange(4), np.arange(4)].argmax(axis=0)
    row = outer[best, :, np.arange(len(best))]
    row /= np.sqrt((row * row).sum(axis=-1, keepdims=True))
    return row.reshape(*np.shape(matrices)[:-2], 4)


def matrices_from_quaternions(quaternions: FloatArray) -> Float64:
    """Rotations (…,3,3) of unit quaternions (…,4)."""
    x, y, z, w = np.moveaxis(np.asarray(quaternions, np.float64), -1, 0)
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    xw, yw, zw = x * w, y * w, z * w
    out = np.empty((*np.shape(quaternions)[:-1], 3, 3))
    out[..., 0, 0], out[..., 0, 1], out[..., 0, 2] = 1 - 2 * (yy + zz), 2 * (xy - zw), 2 * (xz + yw)
    out[..., 1, 0], out[..., 1, 1], out[..., 1, 2] = 2 * (xy + zw), 1 - 2 * (xx + zz), 2 * (yz - xw)
    out[..., 2, 0], out[..., 2, 1], out[..., 2, 2] = 2 * (xz - yw), 2 * (yz + xw), 1 - 2 * (xx + yy)
    return out


def unit_quaternions(quaternions: Float64) -> Float64:
    """Quaternions (…,4) at length one; the identity for those of length zero."""
    length = np.linalg.norm(quaternions, axis=-1, keepdims=True)
    return np.asarray(np.where(length > 0, quaternions / np.where(length > 0, length, 1), IDENTITY))


def slerp(first: Float64, second: Float64, u: Float64) -> Float64:
    """(f,4) interpolated by `u (f,)` along the shorter great arc between quaternions (f,4)."""
    a, b = unit_quaternions(first), unit_quaternions(second)
    cosine = np.einsum("fi,fi->f", a, b)
    b = np.where(cosine[:, None] < 0, -b, b)
    angle = np.arccos(np.abs(cosine).clip(0, 1))
    sine = np.where(angle > SHORT_ARC, np.sin(angle), 1)
    left = np.where(angle > SHORT_ARC, np.sin((1 - u) * angle) / sine, 1 - u)
    right = np.where(angle > SHORT_ARC, np.sin(u * angle) / sine, u)
    return np.asarray(left[:, None] * a + right[:, None] * b)


def halfway_quaternions(first: Float64, second: Float64) -> Float64:
    """Unit quaternions (…,4) halfway along the shorter arc between unit quaternions."""
    side = np.where((first * second).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    middle = first + side * second
    return np.asarray(middle / np.linalg.norm(middle, axis=-1, keepdims=True))


def keep_hemisphere(quaternions: Float64, begins: Container[int], *, upright: bool) -> None:
    """Turn quaternions (f,b,4) round, in place, that point away from the ones before.

    The frames `begins` have none before them: `upright` makes their w positive, otherwise they stay.
    """
    for f in range(len(quaternions)):
        if f and f not in begins:
            away = (quaternions[f] * quaternions[f - 1]).sum(axis=-1, keepdims=True) < 0
        elif upright:
            away = quaternions[f, :, 3:] < 0
        else:
            continue
        quaternions[f] *= np.where(away, -1.0, 1.0)


def dual_quaternions_from_transforms(transforms: FloatArray) -> Float64:
    """(…,8) of rigid transforms (…,3,4); scale and shear are ignored."""
    real = quaternions_from_matrices(np.asarray(transforms[..., :3], np.float64))
    shift = np.asarray(transforms[..., 3], np.float64)
    r, w = real[..., :3], real[..., 3:]
    vector = w * shift + np.cross(shift, r)
    scalar = -(shift * r).sum(axis=-1, keepdims=True)
    return np.concatenate([real, 0.5 * vector, 0.5 * scalar], axis=-1)


def transforms_from_dual_quaternions(dual_quaternions: FloatArray) -> Float64:
    """(…,3,4) rigid transforms of dual quaternions (…,8) of any non-zero length."""
    unit = dual_quaternions / np.linalg.norm(dual_quaternions[..., :4], axis=-1, keepdims=True)
    r, w, d, e = unit[..., :3], unit[..., 3:4], unit[..., 4:7], unit[..., 7:]
    out = np.empty((*unit.shape[:-1], 3, 4))
    out[..., :3] = matrices_from_quaternions(unit[..., :4])
    out[..., 3] = 2 * (w * d - e * r + np.cross(r, d))
    return out
