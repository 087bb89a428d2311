"""Poses of sticks as turns of their joints: what `kinematics.pose_joints` makes a pose of, found again.

A joint turns all that hangs on it, so the turn at j is that of the first bone below it against the bone above it:
R_j = G_above' G_b. Where joints were put in another place than their turns lead to, something is left over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.kinematics import pose_joints
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import least_rotation

__all__ = ["PoseTurns", "turns_of_pose"]


@dataclass(frozen=True, slots=True)
class PoseTurns:
    """One pose as turns of joints."""

    turns: dict[int, Float64]  # (3,3) by joint, of all that carry a bone
    shift: Float64  # (3,) of the root
    left_over: Float64  # (j,3) how far each joint is from where turns and shift lead


def turns_of_pose(track: PoseTrack, f: int, skeleton: StickSkeleton) -> PoseTurns:
    """The turns of pose `f`."""
    turns = _turns(_rotations(track, f, skeleton), skeleton)
    reached, _ = pose_joints(skeleton, turns, {})
    shift: Float64 = track.joints[f, skeleton.root] - reached[skeleton.root]
    return PoseTurns(turns, shift, track.joints[f] - reached - shift)


def _rotations(track: PoseTrack, f: int, skeleton: StickSkeleton) -> Float64:
    """(b,3,3) known rotations, or the least ones."""
    if track.rotations is not None and (track.turned is None or track.turned[f]):
        return np.asarray(track.rotations[f])
    posed: Float64 = track.joints[f, skeleton.bones[:, 1]] - track.joints[f, skeleton.bones[:, 0]]
    return least_rotation(skeleton.vectors, posed)


def _turns(rotations: Float64, skeleton: StickSkeleton) -> dict[int, Float64]:
    """(3,3) by joint: how its first bone turns against the bone that the joint hangs on."""
    tree, turns = skeleton.tree, {}
    for b in tree.order.tolist():
        joint, above = int(tree.head[b]), int(tree.parent[b])
        if joint not in turns:
            turns[joint] = rotations[b] if above < 0 else rotations[above].T @ rotations[b]
    return turns
