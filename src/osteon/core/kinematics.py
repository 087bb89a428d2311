"""Forward kinematics: what each joint does in its parent, passed on from the root.

Of a stick skeleton: turns at joints and stretched bones.

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
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import compose, least_rotation

__all__ = ["align_rotations", "depths_of", "parents_first", "pose_joints", "tree_bones", "world_from_local"]


def depths_of(parents: Sequence[int]) -> list[int]:
    """How many joints stand above each; a parent of -1 is none."""
    depths = []
    for above in parents:
        depth = 0
        while above >= 0:
            above, depth = parents[above], depth + 1
        depths.append(depth)
    return depths


def parents_first(parents: Sequence[int]) -> list[int]:
    """All joints, those nearest the root first, and in their own order at one depth."""
    return [int(j) for j in np.argsort(depths_of(parents), kind="stable")]


def world_from_local(local: Sequence[Float64], parents: Sequence[int], order: Iterable[int]) -> list[Float64]:
    """Matrices (…,3,4) or (…,4,4) of each joint, from those in its parent; `order` has parents before children."""
    world = list(local)
    for j in order:
        if parents[j] >= 0:
            above = world[parents[j]]
            world[j] = compose(above, local[j]) if above.shape[-2] == 3 else above @ local[j]
    return world


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
