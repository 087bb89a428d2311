"""The choice of a singular value decomposition per frame whose parts change little from frame to frame.

    A = (Q V E) (E |S|) V',   Q V |S| V' the decomposition, Q orthogonal, E signs with det(Q V E) = 1
    V may be replaced by V P, P one of the 24 rotations of the cube: order and signs of the singular values
    E may be one of four: a reflection is a negative scale, and signs may change in pairs
    inside a subspace of equal singular values V may rotate freely; where they are zero, U may rotate independently

The cost of going from one frame to the next is the same when both change their gauge by the same P and E. So the best
choice for a whole clip is the best choice for each step, taken one after the other. A step costs the squared angles of
U and V, the squared relative change of S, and a penalty for each scale that changes its sign. When the matrix halfway
is farther from both frames than they are from each other, all 96 choices of the step are compared by that excess.

symbol  name     meaning
U       left     (b,3,3) rotation of the parent
s       values   (b,3) signed singular values
V       right    (b,3,3) transpose of the rotation of the child

Notes. Random matrices, random walks, rotations of 0.1 … 3.1 radians with strains of 0 … 20 %, pairs of equal values,
rank 1 and 2: 359,000 steps without an excess in the spectral norm. Comparing by the Frobenius norm left ten,
 up to 0.03 of the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.core.transforms import halfway_quaternions, matrices_from_quaternions, quaternions_from_matrices

BoolArray = NDArray[np.bool_]

#: Singular values closer than this part of the largest one count as equal; the error is far below float32.
EQUAL = 1e-8
#: Penalty for a scale that changes its sign: two cost more than the rotation by 180 degrees that avoids them.
SIGN_PENALTY = 10.0


def _cube_rotations() -> tuple[NDArray[np.int64], Float64]:
    """(24,3) order and (24,3) sign of the columns."""
    found = []
    for order, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        if np.linalg.det(np.eye(3)[:, order] * signs) > 0:
            found.append((order, signs))
    return np.array([order for order, _ in found]), np.array([signs for _, signs in found])


_ORDERS, _SIGNS = _cube_rotations()
_IS_IDENTITY = (_ORDERS == [0, 1, 2]).all(axis=1) & (_SIGNS > 0).all(axis=1)
_EVEN_FLIPS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])


@dataclass(frozen=True, slots=True)
class Pieces:
    """U diag(s) V' of all bones, in one frame or in all of them."""

    left: Float64  # (b,3,3) or (f,b,3,3)
    values: Float64  # (b,3) or (f,b,3)
    right: Float64  # (b,3,3) or (f,b,3,3)

    def put(self, bones: NDArray[np.int64], other: Pieces) -> Pieces:
        """The same with these bones taken from `other`."""
        left, values, right = self.left.copy(), self.values.copy(), self.right.copy()
        left[bones], values[bones], right[bones] = other.left, other.values, other.right
        return Pieces(left, values, right)

    def take(self, rows: Any) -> Pieces:
        """Some bones, or some pairs of a frame and a bone."""
        return Pieces(self.left[rows], self.values[rows], self.right[rows])


def rest_pieces(n_bones: int) -> Pieces:
    eye = np.broadcast_to(np.eye(3), (n_bones, 3, 3))
    return Pieces(eye, np.ones((n_bones, 3)), eye)


@dataclass(frozen=True, slots=True)
class Gauge:
    """Constraints of the choice."""

    one_node: BoolArray  # (b,) bones that keep V = I
    positive: bool = False  # only a reflection has negative scales


def fixed_gauge(raw: Pieces, gauge: Gauge) -> BoolArray:
    """(b,) bones without a choice in any frame (f,b,…): one node holds them and no scale may be negative.

    Reflections have a choice of signs, and matrices of lower rank may rotate about an axis.
    """
    if not gauge.positive:
        return np.zeros(len(gauge.one_node), bool)
    upright = (np.linalg.det(raw.left) >= 0).all(axis=0)
    extended = (raw.values > EQUAL * raw.values.max(axis=-1, keepdims=True)).all(axis=(0, -1))
    return np.asarray(gauge.one_node & upright & extended)


def begin_gauge(raw: Pieces, gauge: Gauge) -> Pieces:
    """The first frame of a clip: V as near the identity as possible, and as few negative scales as possible."""
    at_rest = rest_pieces(len(raw.left))
    right, flips = _angles(at_rest.right, raw.right, np.ones((1, 3)))[..., 0], _flips(raw)
    negative = (flips < 0).sum(axis=-1)
    left = _angles(at_rest.left, raw.left, flips)  # decides between choices that are equal for V
    cost = (right**2)[:, :, None] + 1e-6 * left**2 + 100.0 * negative[:, None, :]
    chosen = _choose(raw, flips, _allowed(cost, gauge, flips).reshape(len(cost), -1).argmin(axis=1))
    return _align(at_rest, chosen)


def follow_gauge(before: Pieces, raw: Pieces, gauge: Gauge) -> Pieces:
    """The choice of U, s, V in a frame that changes least from the previous one."""
    flips = _flips(raw)
    angles = _angles(before.left, raw.left, flips) ** 2 + _angles(before.right, raw.right, np.ones((1, 3))) ** 2
    turning = _allowed(angles, gauge, flips).reshape(len(flips), -1)
    chosen = _align(before, _choose(raw, flips, _cheapest(before, raw, flips, turning)))
    suspects = np.flatnonzero(_off_line(before, chosen))
    if not len(suspects):
        return chosen
    excess = _excess(before.take(suspects), chosen.take(suspects))
    suspects, excess = suspects[excess > 0], excess[excess > 0]
    if not len(suspects):
        return chosen
    cost = _with_scales(before.take(suspects), raw.take(suspects), flips[suspects], turning[suspects])
    better, left = _least_excess(before.take(suspects), raw.take(suspects), cost)
    gains = np.flatnonzero(left < excess)
    return chosen.put(suspects[gains], better.take(gains))


def _least_excess(before: Pieces, raw: Pieces, cost: Float64) -> tuple[Pieces, Float64]:
    """The choice with the least excess halfway, among equal ones the cheapest, and its excess."""
    n_bones, n_choices = cost.shape
    bones = np.repeat(np.arange(n_bones), n_choices)
    old, new = before.take(bones), raw.take(bones)
    all_choices = _align(old, _choose(new, _flips(new), np.tile(np.arange(n_choices), n_bones)))
    excess = np.maximum(_excess(old, all_choices), 0).reshape(cost.shape)
    excess[~np.isfinite(cost)] = np.inf
    near = excess <= excess.min(axis=1, keepdims=True) + EQUAL
    best = np.where(near, cost, np.inf).argmin(axis=1)
    rows = np.arange(n_bones)
    return all_choices.take(rows * n_choices + best), excess[rows, best]


def _flips(raw: Pieces) -> Float64:
    """(b,4,3) the signs E that make Q V E a rotation."""
    return np.asarray(np.where(np.linalg.det(raw.left) < 0, -1.0, 1.0)[:, None, None] * _EVEN_FLIPS)


def _angles(before: Float64, now: Float64, signs: Float64) -> Float64:
    """(b,24,e) angles between rotations (b,3,3), the second in each of 24 gauges, with extra signs (b|1,e,3)|(1,3)."""
    between = np.swapaxes(before, -1, -2) @ now
    diagonal = between[:, np.arange(3), _ORDERS] * _SIGNS
    flips = signs if signs.ndim == 3 else signs[None]
    # E belongs to the position of a column: it stays when columns are permuted.
    trace = np.einsum("bcj,bej->bce", diagonal, np.broadcast_to(flips, (len(diagonal), *flips.shape[1:])))
    return np.asarray(np.arccos(np.clip((trace - 1) / 2, -1, 1)))


def _cheapest(before: Pieces, raw: Pieces, flips: Float64, turning: Float64) -> NDArray[np.int64]:
    """(b,) the choice of least cost. Scales only add to the angles (b,96), so larger angles are skipped."""
    bones = np.arange(len(turning))
    likely = turning.argmin(axis=1)
    most = turning[bones, likely] + _scale_costs(before, raw, flips, bones, likely)
    bone, choice = np.nonzero(turning <= most[:, None])
    cost = np.full(turning.shape, np.inf)
    cost[bone, choice] = turning[bone, choice] + _scale_costs(before, raw, flips, bone, choice)
    return np.asarray(cost.argmin(axis=1))


def _with_scales(before: Pieces, raw: Pieces, flips: Float64, turning: Float64) -> Float64:
    """(b,96) the cost of each choice."""
    bone, choice = (found.reshape(-1) for found in np.indices(turning.shape))
    return turning + _scale_costs(before, raw, flips, bone, choice).reshape(turning.shape)


def _scale_costs(
    before: Pieces, raw: Pieces, flips: Float64, bone: NDArray[np.int64], choice: NDArray[np.int64]
) -> Float64:
    """(n,) the cost of the changes of scales, and of their signs, for choices of bones."""
    values = raw.values[bone[:, None], _ORDERS[choice // 4]] * flips[bone, choice % 4]
    old = before.values[bone]
    size = np.maximum((old**2).sum(axis=-1), (values**2).sum(axis=-1))
    change = ((values - old) ** 2).sum(axis=-1) / np.where(size > 0, size, 1)
    both = np.abs(values) + np.abs(old)
    sharing = 2 * np.minimum(np.abs(values), np.abs(old)) / np.where(both > 0, both, 1)
    return np.asarray(change + SIGN_PENALTY * (sharing * (values * old < 0)).sum(axis=-1))


def _allowed(cost: Float64, gauge: Gauge, flips: Float64) -> Float64:
    """The cost of choices (b,24,4), infinite for choices that the constraints exclude."""
    forbidden = np.asarray(gauge.one_node[:, None, None] & ~_IS_IDENTITY[None, :, None])
    if gauge.positive:
        outwards = flips[:, 0, 0] > 0  # E = 1 is the first choice there, E = -1 that of a reflection
        negative = np.asarray((flips < 0).any(axis=-1) & outwards[:, None])
        forbidden = forbidden | negative[:, None, :]
    return np.where(forbidden, np.inf, cost)


def _choose(raw: Pieces, flips: Float64, choice: NDArray[np.int64]) -> Pieces:
    """The pieces in the gauge with the given number, 0 … 95."""
    order, signs = _ORDERS[choice // 4], _SIGNS[choice // 4]
    flip = np.take_along_axis(flips, (choice % 4)[:, None, None], axis=1)[:, 0]
    columns = np.broadcast_to(order[:, None, :], raw.left.shape)
    left = np.take_along_axis(raw.left, columns, axis=-1) * (signs * flip)[:, None, :]
    right = np.take_along_axis(raw.right, columns, axis=-1) * signs[:, None, :]
    return Pieces(left, np.take_along_axis(raw.values, order, axis=-1) * flip, right)


def _align(before: Pieces, now: Pieces) -> Pieces:
    """Rotate V inside each subspace of equal singular values towards the previous frame, and U with it."""
    size = np.abs(now.values)
    largest = size.max(axis=-1, keepdims=True)
    same = np.abs(size[:, :, None] - size[:, None, :]) <= EQUAL * largest[..., None]
    if not (same.sum(axis=(-1, -2)) > 3).any():
        return now
    rotation = _block_rotation(np.swapaxes(now.right, -1, -2) @ before.right, same)
    right = now.right @ rotation
    signs = np.where(now.values < 0, -1.0, 1.0)[:, None, :]
    left = (now.left * signs) @ rotation * signs
    none = size <= EQUAL * largest
    free = none[:, :, None] & none[:, None, :]
    alone = _block_rotation(np.swapaxes(left, -1, -2) @ before.left, free | np.eye(3, dtype=bool))
    return Pieces(left @ alone, now.values, right)


def _block_rotation(wanted: Float64, same: BoolArray) -> Float64:
    """Rotations nearest to `wanted (b,3,3)` that mix only the columns that are the `same`."""
    blocks = np.where(same, wanted, 0.0)
    alone = same.sum(axis=-1) == 1
    blocks = np.where(alone[:, :, None] & np.eye(3, dtype=bool), 1.0, blocks)
    left, _, right = np.linalg.svd(blocks)
    return np.asarray(_proper(left, right, same))


def _proper(left: Float64, right: Float64, same: BoolArray) -> Float64:
    """left right' with det +1 in each block: the weakest direction of a reflected block is flipped."""
    product = left @ right
    mirrored = np.linalg.det(product) < 0
    shared = same.sum(axis=-1) > 1
    for i in range(3)[::-1]:  # singular vectors come strongest first; the weakest one inside the block is flipped
        inside = mirrored & (np.abs(left[..., i] * ~shared).max(axis=-1) < 0.5)
        flipped = product - 2 * left[..., :, i, None] * right[..., None, i, :]
        product = np.where(inside[:, None, None], flipped, product)
        mirrored = mirrored & ~inside
    return product


def _matrix(pieces: Pieces) -> Float64:
    return (pieces.left * pieces.values[:, None, :]) @ np.swapaxes(pieces.right, -1, -2)


def _off_line(before: Pieces, now: Pieces) -> BoolArray:
    """(b,) whether the matrix halfway is so far from the mean that there may be an excess: a quick test."""
    start, stop = _matrix(before), _matrix(now)
    off = _middle(before, now) - (start + stop) / 2
    moved = stop - start
    # The largest stretch is at least the Frobenius norm over sqrt 3, and half of it is left for the detour.
    return np.asarray(12 * (off**2).sum(axis=(-1, -2)) > (moved**2).sum(axis=(-1, -2)))


def _middle(before: Pieces, now: Pieces) -> Float64:
    """(b,3,3) the matrix that a player interpolates halfway."""
    values = (before.values + now.values) / 2
    sides = (np.stack([pieces.left, pieces.right]) for pieces in (before, now))
    left, right = matrices_from_quaternions(halfway_quaternions(*map(quaternions_from_matrices, sides)))
    return _matrix(Pieces(left, values, right))


def _excess(before: Pieces, now: Pieces) -> Float64:
    """(b,) the excess of the distance from the matrix halfway to a frame over that of the frames, relative."""
    start, stop = _matrix(before), _matrix(now)
    middle = _middle(before, now)
    reach = np.maximum(_norm(middle - start), _norm(middle - stop))
    size = np.maximum(_norm(start), _norm(stop))
    return np.asarray((reach - _norm(stop - start)) / np.where(size > 0, size, 1) - EQUAL)


def _norm(matrices: Float64) -> Float64:
    """(b,) spectral norms."""
    return np.asarray(np.linalg.norm(matrices, ord=2, axis=(-2, -1)))
