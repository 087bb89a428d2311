"""A joint in its parent as engines have it: a rotation, and a scale along each of the joint's own axes.

    minimise over R a rotation, s (3,):   || R diag(s) - A ||^2

by turns: R the rotation nearest to A diag(s), then s the diagonal of R' A. Where A is a rotation and scales, the first
round is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.kinematics import parents_first
from osteon.core.skeleton import Skeleton
from osteon.core.transforms import compose, invert, nearest_rotation

__all__ = ["settle_on_tree", "split_scale"]

ROUNDS = 4


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def split_scale(linear: Float64, sign: Float64) -> tuple[Float64, Float64]:
    """Rotations (f,3,3) and scales (f,3) of matrices (f,3,3); scales have the signs (3,) where that is possible."""
    scale = np.linalg.norm(linear, axis=-2) * sign
    flips = np.linalg.det(linear) * scale.prod(axis=-1) < 0
    scale[flips, 0] *= -1
    for _ in range(ROUNDS):
        rotation = nearest_rotation(linear * scale[..., None, :])
        fitted = np.einsum("fij,fij->fj", rotation, linear)
        scale = np.where(np.abs(fitted) > 1e-12 * np.abs(scale), fitted, scale)
    return rotation, scale


def settle_on_tree(transforms: Float64, skeleton: Skeleton, joints: Sequence[int]) -> Float64:
    """Bones (f,b,3,4) as near as the tree can play them: each of `joints` turns, shifts and scales in its parent.

    A joint below one that scales is scaled with it. Other joints move as they did.
    """
    place = skeleton.world_from_joint.astype(np.float64)
    world = compose(transforms, place)
    parents, chosen = skeleton.parents.tolist(), set(joints)
    for j in parents_first(parents):
        if j not in chosen:
            continue
        above = world[:, parents[j]] if parents[j] >= 0 else None
        local = world[:, j] if above is None else compose(invert(above), world[:, j])
        rotation, scale = split_scale(local[..., :3], np.ones(3))
        local[..., :3] = rotation * scale[:, None, :]
        world[:, j] = local if above is None else compose(above, local)
    return compose(world, invert(place))
