"""Axes along which a bone stretches: fixed in the rest pose, the same in every frame.

    A_f = R_f S_f Q,   so that   A_f'A_f = Q' S_f^2 Q:   one rotation Q diagonalises the A_f'A_f of all frames

| symbol | name |
| --- | --- |
| A_f | linear part of posed_from_rest in frame f (3,3) |
| Q   | axes (3,3), a row each, in the rest pose |
| S_f | scales along them, R_f the rotation that follows |

Based on: Cardoso and Souloumiac, Jacobi angles for simultaneous diagonalization, 1996, for real symmetric matrices: the
turn in a plane that leaves the least off the diagonal over all frames has a closed form.

Scaled bones need no more state than their transforms: these say their axes. A bone that never stretches has none, and
gets those of the rest pose.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, FloatArray

__all__ = ["axes_of_bones", "off_axes", "split_along_axes"]

#: Passes over the three planes; each squares what is left when matrices have common axes.
PASSES = 12
#: Turns below this angle, in radians, end the search.
SMALLEST_TURN = 1e-11
#: Stretches whose squares differ by less than this part, in every frame, have no direction.
NO_STRETCH = 1e-9
_PLANES = ((0, 1), (0, 2), (1, 2))


def axes_of_bones(transforms: FloatArray) -> Float64:
    """(b,3,3) rotations whose rows are the axes that leave the least shear in transforms (f,b,3,4 or 3,3)."""
    squares = _squares(transforms)
    n_bones = squares.shape[1]
    axes = np.broadcast_to(np.eye(3), (n_bones, 3, 3)).copy()
    if len(squares) == 0:
        return axes
    floor = NO_STRETCH**2 * (np.trace(squares, axis1=2, axis2=3) ** 2).sum(axis=0)
    for _ in range(PASSES):
        largest = 0.0
        for p, q in _PLANES:
            angle = _best_angle(squares, p, q, floor)
            _turn(squares, axes, p, q, np.cos(angle), np.sin(angle))
            largest = max(largest, float(np.abs(angle).max(initial=0.0)))
        if largest < SMALLEST_TURN:
            break
    return _named_by_rest_axes(axes)


def split_along_axes(linear: FloatArray, axes: Float64) -> tuple[Float64, Float64]:
    """(f,b,3,3) rotations and (f,b,3) positive scales closest to A = R S Q."""
    turned = linear.astype(np.float64) @ np.swapaxes(axes, -1, -2)
    scales = np.linalg.norm(turned, axis=-2)
    u, _, vt = np.linalg.svd(turned / np.maximum(scales, 1e-300)[..., None, :])
    u[..., :, 2] *= np.linalg.det(u @ vt)[..., None]
    rotations: Float64 = u @ vt
    along = np.einsum("fbij,fbij->fbj", rotations, turned)
    return rotations, along


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


def _best_angle(squares: Float64, p: int, q: int, floor: Float64) -> Float64:
    """(b,) the turn in the plane (p,q) that leaves the least off the diagonal over all frames."""
    difference, shear = squares[:, :, p, p] - squares[:, :, q, q], 2 * squares[:, :, p, q]
    on = (difference**2 - shear**2).sum(axis=0)
    off = 2 * (difference * shear).sum(axis=0)
    angle: Float64 = 0.5 * np.arctan2(off, on + np.hypot(on, off))
    return np.where(np.hypot(on, off) <= floor, 0.0, angle)


def _turn(squares: Float64, axes: Float64, p: int, q: int, cos: Float64, sin: Float64) -> None:
    """Turn rows and columns p and q of the matrices, and the axes along with them."""
    cos, sin = cos[:, None], sin[:, None]
    for matrices in (squares, np.swapaxes(squares, -1, -2)):
        row_p, row_q = matrices[..., p, :].copy(), matrices[..., q, :].copy()
        matrices[..., p, :], matrices[..., q, :] = cos * row_p + sin * row_q, cos * row_q - sin * row_p
    row_p, row_q = axes[:, p].copy(), axes[:, q].copy()
    axes[:, p], axes[:, q] = cos * row_p + sin * row_q, cos * row_q - sin * row_p


def _named_by_rest_axes(axes: Float64) -> Float64:
    """The same axes, each in the place and with the sign of the coordinate it is nearest to; right-handed."""
    out = np.empty_like(axes)
    for b, rows in enumerate(axes):
        left = list(range(3))
        order = []
        for coordinate in np.argsort(-np.abs(rows).max(axis=0), kind="stable"):
            best = max(left, key=lambda row: abs(rows[row, coordinate]))
            left.remove(best)
            order.append((int(coordinate), best))
        for coordinate, row in order:
            out[b, coordinate] = rows[row] * (1.0 if rows[row, coordinate] >= 0 else -1.0)
        if np.linalg.det(out[b]) < 0:
            out[b, 2] = -out[b, 2]
    return out
