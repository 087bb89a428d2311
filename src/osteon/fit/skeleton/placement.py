"""How joints stand in the rest pose: the y axis along the bone, the x axis along what the joint turns about; and ends.

A bone reaches from its joint to the joint of its heaviest child, or, where nothing hangs on it, as far as its vertices
go: to its end. The x axis is the axis that the joint's turns have in common (for a knee its hinge), made square to y.

| symbol | name |
| --- | --- |
| R | turns (f,b,3,3) of the bones in the world; of joint b against its parent R_p' R_b |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.transforms import unit_vectors

__all__ = ["Placement", "place_joints_along_bones"]

#: How much of a bone's vertices, by weight, lies before its end.
END = 0.95
#: A joint whose common axis is no clearer than this part of its turns has none of its own.
NO_AXIS = 1e-6
#: The shortest bone, in diagonals: an end is never closer to its joint.
SHORTEST = 0.01


@dataclass(frozen=True, slots=True)
class Placement:
    """Joints and ends in the rest pose."""

    world_from_joint: Float64  # (b,3,4)
    ends: Float64  # (b,3) where each bone ends: at a child's joint, or within its last vertices


def place_joints_along_bones(
    joints: Float64, parents: Int64, turns: Float64, points: Float64, weights: Float64
) -> Placement:
    """Frames of joints (b,3), whose bones turn by (f,b,3,3) and move points (v,3) with weights (v,b)."""
    ends = _ends(joints, parents, points, weights)
    along = unit_vectors(ends - joints)
    across = np.stack([_across(b, parents, turns, along[b]) for b in range(len(joints))])
    frames = np.stack([across, along, np.cross(across, along)], axis=2)
    return Placement(np.concatenate([frames, joints[..., None]], axis=2), ends)


def _ends(joints: Float64, parents: Int64, points: Float64, weights: Float64) -> Float64:
    """(b,3) where bones end."""
    mass = weights.sum(axis=0)
    below = mass.copy()
    for b in range(len(parents) - 1, 0, -1):
        below[parents[b]] += below[b]
    shortest = SHORTEST * float(np.linalg.norm(np.ptp(points, axis=0)))
    out = np.empty_like(joints)
    for b in range(len(joints)):
        children = [c for c in np.flatnonzero(parents == b) if np.linalg.norm(joints[c] - joints[b]) >= shortest]
        if children:
            out[b] = joints[max(children, key=lambda c: below[c])]
        else:
            out[b] = _tip(joints[b], parents[b], joints, points, weights[:, b], shortest)
    return out


def _tip(joint: Float64, parent: int, joints: Float64, points: Float64, weights: Float64, shortest: float) -> Float64:
    """The end of a bone without children: through the middle of its vertices, as far as most of them go."""
    total = max(float(weights.sum()), 1e-12)
    arm = weights @ points / total - joint
    if np.linalg.norm(arm) < shortest / 4 and parent >= 0:
        arm = joint - joints[parent]
    if np.linalg.norm(arm) < 1e-12:
        arm = np.array([0.0, 1.0, 0.0])
    along = arm / np.linalg.norm(arm)
    reach = (points - joint) @ along
    order = np.argsort(reach)
    farthest = float(reach[order[np.searchsorted(np.cumsum(weights[order]), END * total).clip(max=len(order) - 1)]])
    out: Float64 = joint + max(farthest, shortest) * along
    return out


def _across(b: int, parents: Int64, turns: Float64, along: Float64) -> Float64:
    """The common axis of a joint's turns in the rest pose, square to its bone; another axis where it has none."""
    relative = turns[:, b] if parents[b] < 0 else np.swapaxes(turns[:, parents[b]], 1, 2) @ turns[:, b]
    half = np.stack(
        [
            relative[:, 2, 1] - relative[:, 1, 2],
            relative[:, 0, 2] - relative[:, 2, 0],
            relative[:, 1, 0] - relative[:, 0, 1],
        ],
        axis=1,
    )
    half -= along * (half @ along)[:, None]
    values, vectors = np.linalg.eigh(half.T @ half)
    axis = vectors[:, 2]
    if values[2] < NO_AXIS * len(half):
        axis = np.eye(3)[np.abs(along).argmin()]
    axis = axis - along * (axis @ along)
    axis /= np.linalg.norm(axis)
    out: Float64 = axis if axis[np.abs(axis).argmax()] > 0 else -axis
    return out
