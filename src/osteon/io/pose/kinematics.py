"""Forward kinematics of a stick skeleton: turns at joints and stretched bones, passed on from the root.

With above(j) the joint above j, R_j the turn at j and G_j the turn of all that hangs on j:
    G_j = G_above(j) R_j,   x_j = x_above(j) + alpha_b G_above(j) (p_j - p_above(j))
So an axis is told in the axes of the rest pose and goes along with what the joint hangs on. A bone turns by the G of
its upper joint. Where its ends were put in another place than that (joints moved by hand, bones that close a cycle, a
joint that slides in its rig), the least rotation follows that takes it there.

    symbol      name
    p, x        skeleton.joints, places
    R, G        turns, frames
    alpha       stretch

Based on: Yan, Hu, Martin and Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, section
5: a bone's rotation (eq. 14 for the least one).
Differs from the paper: a rotation that is known is kept whole, so that a turn about the bone's own axis is not lost.
The least rotation is two half turns, about the bone and about the middle of both directions, which stays a rotation to
the last digit at any angle; antiparallel directions turn about an axis across the bone, in 2D about z.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.sticks import StickSkeleton

__all__ = ["align_rotations", "least_rotation", "pose_joints", "tree_bones"]

#: The sum of two unit vectors that is shorter than this has no direction: they are antiparallel.
OPPOSITE = 1e-7


def tree_bones(skeleton: StickSkeleton) -> list[int]:
    """The bones that hold joints in place, each after its parent; the others close a cycle."""
    count = int((skeleton.tree.above >= 0).sum())
    return [int(b) for b in skeleton.tree.order[:count]]


def pose_joints(
    skeleton: StickSkeleton, turns: Mapping[int, Float64], stretch: Mapping[int, float]
) -> tuple[Float64, Float64]:
    """(j,3) places and (b,3,3) turns of the bones, from (3,3) turns by joint and stretches by bone."""
    places = skeleton.joints.copy()
    frames = np.tile(np.eye(3), (skeleton.n_joints, 1, 1))
    for root in np.flatnonzero(skeleton.tree.above < 0).tolist():
        frames[root] = turns.get(root, frames[root])
    for b in tree_bones(skeleton):
        head = int(skeleton.tree.head[b])
        joint = int(skeleton.bones[b].sum()) - head
        arm = frames[head] @ (skeleton.joints[joint] - skeleton.joints[head])
        places[joint] = places[head] + stretch.get(b, 1.0) * arm
        frames[joint] = frames[head] @ turns[joint] if joint in turns else frames[head]
    return places, frames[skeleton.tree.head]


def align_rotations(skeleton: StickSkeleton, joints: Float64, rotations: Float64) -> Float64:
    """(…,b,3,3) rotations that also take each bone into the direction its posed joints (…,j,3) have."""
    posed = joints[..., skeleton.bones[:, 1], :] - joints[..., skeleton.bones[:, 0], :]
    turned = np.einsum("...bik,bk->...bi", rotations, skeleton.vectors)
    out: Float64 = least_rotation(turned, posed) @ rotations
    return out


def least_rotation(source: Float64, target: Float64) -> Float64:
    """(…,3,3) the smallest rotation from one direction (…,3) to the other; the identity where one has none."""
    s, t = _unit(source), _unit(target)
    missing = np.asarray(~(s.any(axis=-1) & t.any(axis=-1)))
    middle = s + t
    opposite = np.asarray(np.linalg.norm(middle, axis=-1) < OPPOSITE)
    middle = np.where(opposite[..., None], _across(s), middle)
    rotation = _half_turn(_unit(middle)) @ _half_turn(s)
    out: Float64 = np.where(missing[..., None, None], np.eye(3), rotation)
    return out


def _unit(vectors: Float64) -> Float64:
    """Unit vectors, zero where there is no direction; scaled first, so that no square under- or overflows."""
    largest = np.abs(vectors).max(axis=-1, keepdims=True)
    scaled = vectors / np.where(largest > 0, largest, 1)
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    out: Float64 = scaled / np.where(length > 0, length, 1)
    return out


def _across(unit: Float64) -> Float64:
    """A direction at right angles to each; in the plane for directions in the xy plane, so that 2D stays 2D."""
    least = np.eye(3)[2 - np.abs(unit[..., ::-1]).argmin(axis=-1)]
    out: Float64 = np.cross(unit, least)
    return out


def _half_turn(unit: Float64) -> Float64:
    """2 u u' - 1: half a turn about u."""
    out: Float64 = 2 * unit[..., :, None] * unit[..., None, :] - np.eye(3)
    return out
