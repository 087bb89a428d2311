"""Forward kinematics of stick skeletons and node trees, the joint rotations of poses, and joint limits.

With P(j) the parent of joint j, R_j the rotation at joint j and G_j the rotation of its descendants:

    G_j = G_P(j) R_j,   x_j = x_P(j) + alpha_b G_P(j) (p_j - p_P(j))

So an axis is given in the rest pose and moves with the parent. A bone rotates by the G of its joint nearer to the
root. Where its ends have another position than that (joints moved by hand, bones that close a cycle, a joint that
slides in its rig), the least rotation follows that takes it there.

    symbol      name
    p, x        skeleton.joints, places
    R, G        rotations, frames
    alpha       stretch

Based on: Yan, Hu, Martin and Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, section
5: a bone's rotation (eq. 14 for the least one).
Differs from the paper: a known rotation is kept whole, so that a rotation about the bone's own axis is not lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import GeometryError
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import compose, least_rotation, rotation_from_axis_angle


def depths_of(parents: Sequence[int]) -> list[int]:
    """The number of ancestors of each joint; a parent of -1 is none."""
    depths = []
    for parent in parents:
        depth = 0
        while parent >= 0:
            parent, depth = parents[parent], depth + 1
        depths.append(depth)
    return depths


def parents_first(parents: Sequence[int]) -> list[int]:
    """All joints sorted by depth; those of one depth stay in order."""
    return [int(j) for j in np.argsort(depths_of(parents), kind="stable")]


def world_from_local(local: Sequence[Float64], parents: Sequence[int], order: Iterable[int]) -> list[Float64]:
    """World matrices (…,3,4) or (…,4,4) of joints from local ones; `order` has parents before children."""
    world = list(local)
    for j in order:
        if parents[j] >= 0:
            parent = world[parents[j]]
            world[j] = compose(parent, local[j]) if parent.shape[-2] == 3 else parent @ local[j]
    return world


def tree_bones(skeleton: StickSkeleton) -> list[int]:
    """The bones that hold joints in place, each after its parent; the others close a cycle."""
    count = int((skeleton.tree.above >= 0).sum())
    return [int(b) for b in skeleton.tree.order[:count]]


def pose_joints(
    skeleton: StickSkeleton, rotations: Mapping[int, Float64], stretch: Mapping[int, float]
) -> tuple[Float64, Float64]:
    """(j,3) places of joints and (b,3,3) rotations of bones, from rotations (3,3) by joint and stretches by bone."""
    places = skeleton.joints.copy()
    frames = np.tile(np.eye(3), (skeleton.n_joints, 1, 1))
    for root in np.flatnonzero(skeleton.tree.above < 0).tolist():
        frames[root] = rotations.get(root, frames[root])
    for b in tree_bones(skeleton):
        head = int(skeleton.tree.head[b])
        joint = int(skeleton.bones[b].sum()) - head
        arm = frames[head] @ (skeleton.joints[joint] - skeleton.joints[head])
        places[joint] = places[head] + stretch.get(b, 1.0) * arm
        frames[joint] = frames[head] @ rotations[joint] if joint in rotations else frames[head]
    return places, frames[skeleton.tree.head]


def align_rotations(skeleton: StickSkeleton, joints: Float64, rotations: Float64) -> Float64:
    """(…,b,3,3) rotations that also align each bone with the direction between its posed joints (…,j,3)."""
    posed = joints[..., skeleton.bones[:, 1], :] - joints[..., skeleton.bones[:, 0], :]
    turned = np.einsum("...bik,bk->...bi", rotations, skeleton.vectors)
    out: Float64 = least_rotation(turned, posed) @ rotations
    return out


@dataclass(frozen=True, slots=True)
class PoseRotations:
    """A pose as joint rotations.

    Joint j rotates its descendants: R_j = G_P' G_b, where b is the first bone that begins at j and P the bone that ends
    there.
    """

    rotations: dict[int, Float64]  # (3,3) by joint, for joints where a bone begins
    shift: Float64  # (3,) of the root
    residual: Float64  # (j,3) posed joints minus the positions that rotations and shift reproduce


def rotations_of_pose(track: PoseTrack, f: int, skeleton: StickSkeleton) -> PoseRotations:
    """The joint rotations of pose `f`: the inverse of `pose_joints`."""
    if track.rotations is not None and (track.turned is None or track.turned[f]):
        rotations = np.asarray(track.rotations[f])
    else:
        posed: Float64 = track.joints[f, skeleton.bones[:, 1]] - track.joints[f, skeleton.bones[:, 0]]
        rotations = least_rotation(skeleton.vectors, posed)
    by_joint = _joint_rotations(rotations, skeleton)
    reached, _ = pose_joints(skeleton, by_joint, {})
    shift: Float64 = track.joints[f, skeleton.root] - reached[skeleton.root]
    return PoseRotations(by_joint, shift, track.joints[f] - reached - shift)


def _joint_rotations(rotations: Float64, skeleton: StickSkeleton) -> dict[int, Float64]:
    """(3,3) by joint: the rotation of its first bone relative to the bone that ends at the joint."""
    tree, found = skeleton.tree, {}
    for b in tree.order.tolist():
        joint, parent = int(tree.head[b]), int(tree.parent[b])
        if joint not in found:
            found[joint] = rotations[b] if parent < 0 else rotations[parent].T @ rotations[b]
    return found


#: Degrees; the rotation by a larger angle equals one by a smaller angle.
HALF_TURN = 180.0


@dataclass(frozen=True, slots=True)
class JointLimit:
    """A range of rotation about an axis. A joint with one limit is a hinge."""

    joint: str
    axis: tuple[float, float, float]  # in the rest pose, moves with the parent; normalised
    low: float  # degrees
    high: float  # degrees, above low
    name: str = ""  # such as `spread`, where a joint has several

    def __post_init__(self) -> None:
        length = math.hypot(*self.axis)
        if len(self.axis) != 3 or not math.isfinite(length) or not length:
            raise GeometryError(f"limits of joint '{self.joint}': expected an axis of non-zero length, got {self.axis}")
        object.__setattr__(self, "axis", tuple(float(x) / length for x in self.axis))
        if not -HALF_TURN <= self.low < self.high <= HALF_TURN:
            raise GeometryError(
                f"limits of joint '{self.joint}': expected degrees [lowest, highest] between -180 and 180, "
                f"got [{self.low:g}, {self.high:g}]"
            )

    @property
    def far(self) -> float:
        """The end of the range that is farther from rest, degrees."""
        return max(self.high, self.low, key=abs)

    def rotation(self, degrees: float) -> Float64:
        """(3,3) the rotation about the axis."""
        return rotation_from_axis_angle(np.array(self.axis), np.deg2rad(degrees))


def hinge_axes(limits: tuple[JointLimit, ...]) -> dict[str, Float64]:
    """(3,) by joint: the axes of hinges."""
    times: dict[str, list[JointLimit]] = {}
    for limit in limits:
        times.setdefault(limit.joint, []).append(limit)
    return {joint: np.array(found[0].axis) for joint, found in times.items() if len(found) == 1}
