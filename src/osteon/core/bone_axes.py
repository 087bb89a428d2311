"""Scale axes of bones: fixed in the rest pose, the same in every frame.

    A_f = R_f S_f Q,   so that   A_f'A_f = Q' S_f^2 Q:   one rotation Q diagonalises the A_f'A_f of all frames

| symbol | name |
| --- | --- |
| A_f | linear part of posed_from_rest in frame f (3,3) |
| Q   | axes (3,3), a row each, in the rest pose |
| S_f | scales along them, R_f the rotation that follows |

Based on: Cardoso and Souloumiac, Jacobi angles for simultaneous diagonalization, 1996, for real symmetric matrices: the
rotation in a plane that minimises the off-diagonal entries over all frames has a closed form. Eigenvectors of the sum
of the squares are the initial axes.

Scaled bones need no more state than their transforms, from which the axes follow. A bone that never stretches gets the
coordinate axes of the rest pose.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, FloatArray

#: Sweeps over the three planes; convergence is quadratic when matrices have common axes.
PASSES = 12
#: Rotations below this angle, in radians, end the search.
SMALLEST_ANGLE = 1e-11
#: Scales whose squares differ relatively by less than this, in every frame, have no direction.
NO_STRETCH = 1e-9
_PLANES = ((0, 1), (0, 2), (1, 2))


def axes_of_bones(transforms: FloatArray) -> Float64:
    """(b,3,3) rotations whose rows are the axes that minimise the shear of transforms (f,b,3,4 or 3,3)."""
    gram, floor = _gram(_squares(transforms))
    axes = _first_axes(gram, floor)
    gram = _rotated(gram, axes)
    for _ in range(PASSES):
        largest = 0.0
        for p, q in _PLANES:
            angle = _best_angle(gram, p, q, floor)
            rotation = _plane_rotations(angle, p, q)
            gram, axes = _rotated(gram, rotation), rotation @ axes
            largest = max(largest, float(np.abs(angle).max(initial=0.0)))
        if largest < SMALLEST_ANGLE:
            break
    return _sorted_by_rest_axes(axes)


def off_axes(transforms: FloatArray) -> float:
    """The largest entry off the diagonal of Q A'A Q', over the largest on it: 0 for scaled bones."""
    axes = axes_of_bones(transforms)
    turned = axes @ _squares(transforms) @ np.swapaxes(axes, -1, -2)
    on = np.einsum("fbii->fbi", turned).copy()
    np.einsum("fbii->fbi", turned)[...] = 0
    return float((np.abs(turned).max(axis=(2, 3)) / np.maximum(on.max(axis=2), 1e-300)).max(initial=0.0))


def _squares(transforms: FloatArray) -> Float64:
    linear = transforms[..., :3].astype(np.float64)
    squares: Float64 = np.swapaxes(linear, -1, -2) @ linear
    return squares


def _gram(squares: Float64) -> tuple[Float64, Float64]:
    """(b,9,9) sum over frames of a a', a the entries of A'A minus a third of its trace, and (b,) the zero threshold."""
    traces = squares.trace(axis1=2, axis2=3)
    entries = (squares - traces[..., None, None] / 3 * np.eye(3)).reshape(*squares.shape[:2], 9).transpose(1, 2, 0)
    gram: Float64 = entries @ np.swapaxes(entries, 1, 2)
    return gram, NO_STRETCH**2 * (traces**2).sum(axis=0)


def _rotated(gram: Float64, rotation: Float64) -> Float64:
    """The gram of the same matrices in other axes, rotation (b,3,3)."""
    twice = (rotation[:, :, None, :, None] * rotation[:, None, :, None, :]).reshape(-1, 9, 9)
    out: Float64 = twice @ gram @ np.swapaxes(twice, 1, 2)
    return out


def _first_axes(gram: Float64, floor: Float64) -> Float64:
    """(b,3,3) eigenvectors of the sum of the squares of these matrices: for scaled bones mostly the solution."""
    total = np.einsum("bijkj->bik", gram.reshape(-1, 3, 3, 3, 3))
    axes = np.swapaxes(np.linalg.eigh(total)[1], -1, -2)
    still = total.trace(axis1=1, axis2=2) <= floor
    return np.where(still[:, None, None], np.eye(3), axes)


def _best_angle(gram: Float64, p: int, q: int, floor: Float64) -> Float64:
    """(b,) the angle of the rotation in the plane (p,q) that minimises the off-diagonal entries over all frames."""
    difference, shear = np.zeros(9), np.zeros(9)
    difference[[4 * p, 4 * q]] = 1, -1
    shear[[3 * p + q, 3 * q + p]] = 1
    on = difference @ gram @ difference - shear @ gram @ shear
    off = 2 * (difference @ gram @ shear)
    angle: Float64 = 0.5 * np.arctan2(off, on + np.hypot(on, off))
    return np.where(np.hypot(on, off) <= floor, 0.0, angle)


def _plane_rotations(angle: Float64, p: int, q: int) -> Float64:
    """(b,3,3) rotations by angle (b,) in the plane (p,q)."""
    out = np.broadcast_to(np.eye(3), (len(angle), 3, 3)).copy()
    out[:, p, p] = out[:, q, q] = np.cos(angle)
    out[:, p, q], out[:, q, p] = np.sin(angle), -np.sin(angle)
    return out


def _sorted_by_rest_axes(axes: Float64) -> Float64:
    """The same axes, sorted and signed by the nearest coordinate axis; right-handed."""
    bones = np.arange(len(axes))
    left, out = np.abs(axes), np.empty_like(axes)
    by_nearness = np.argsort(-left.max(axis=1), axis=1, kind="stable")
    for coordinate in by_nearness.T:
        row = left[bones, :, coordinate].argmax(axis=1)
        left[bones, row] = -1
        chosen = axes[bones, row]
        out[bones, coordinate] = np.where(chosen[bones, coordinate, None] >= 0, chosen, -chosen)
    out[np.linalg.det(out) < 0, 2] *= -1
    return out
