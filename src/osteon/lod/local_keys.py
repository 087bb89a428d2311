"""The motion of a clip as a run time reads it: keys of every bone in the joint that it hangs on in the new hierarchy.

    W_b = T_b G_b,    L_b = W_parent^-1 W_b  (W_b itself without a parent),    L_b = [R_b S_b | t_b]

W is posed_from_joint, G_b = [1 | pivot] rest_from_joint. Of the local matrix the rotation R goes as a quaternion, and
between two frames along the great arc; t and what stretches, S, go straight. Bones that keep their shape have no S.
Keys follow the order of the bones, so the first n of them are all that n active bones need.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 3 (eq. 3) and 4.3: "transformed back to local
space based upon their new parentage".
Differs from the paper: S may be any matrix, so that a bone whose parent was scaled along other axes is exact too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.model import SkinnedModel
from osteon.core.quaternions import keep_hemisphere, quaternions_from_matrices
from osteon.core.transforms import compose, invert, nearest_rotation
from osteon.lod.bone_order import BoneOrder

__all__ = ["LocalKeys", "local_keys", "rest_pivots"]

#: Stretches that differ from none by less than this in all frames are left out. Rigid bones that were stored in float32
#: differ by 1e-7; what is kept of that makes frames the input to the last bit, for a sixth of the time.
SHAPE = 1e-12


@dataclass(frozen=True, slots=True)
class LocalKeys:
    """Keys of the ordered bones of a clip, frame by frame, and where they hang."""

    rotations: Float64  # (f,n,4) x y z w, each near the one before
    translations: Float64  # (f,n,3)
    stretches: Float64  # (f,n,3,3) S, or (0,n,3,3) where all bones keep their shape
    parents: Int64  # (n,) place in the order of what each hangs on, -1: nothing
    joint_from_rest: Float64  # (n,3,4) G^-1, the inverse bind matrix

    @property
    def n_frames(self) -> int:
        return len(self.rotations)


def local_keys(model: SkinnedModel, order: BoneOrder, start: int, stop: int) -> LocalKeys:
    """Keys of frames start … stop in a hierarchy."""
    exact = model.animation.transforms[start:stop, order.order].astype(np.float64)
    rank = order.ranks
    above = order.parents[order.order]
    parents = np.where(above >= 0, rank[above], -1)
    posed = exact.copy()
    places = rest_pivots(model)[order.order]
    posed[..., 3] += np.einsum("fnij,nj->fni", exact[..., :3], places)
    local = posed.copy()
    below = np.flatnonzero(parents >= 0)
    local[:, below] = compose(invert(posed[:, parents[below]]), posed[:, below])
    turns = nearest_rotation(local[..., :3])
    stretches: Float64 = np.swapaxes(turns, -1, -2) @ local[..., :3]
    if np.abs(stretches - np.eye(3)).max(initial=0.0) <= SHAPE:
        stretches = np.empty((0, *stretches.shape[1:]))
    rotations = quaternions_from_matrices(turns)
    keep_hemisphere(rotations, (0,), upright=True)
    joint_from_rest = np.concatenate([np.tile(np.eye(3), (len(places), 1, 1)), -places[..., None]], axis=-1)
    return LocalKeys(rotations, np.ascontiguousarray(local[..., 3]), stretches, parents, joint_from_rest)


def rest_pivots(model: SkinnedModel) -> Float64:
    """(b,3) where the bones of a model turn, at rest: their joints, or else the middles of what hangs on them."""
    skeleton = model.skeleton
    if skeleton is not None and len(skeleton.names) == model.n_bones:
        return skeleton.world_from_joint[..., 3].astype(np.float64)
    owners, weights = model.skin.bones.ravel(), model.skin.weights.astype(np.float64)
    mass = np.bincount(owners, weights.ravel(), model.n_bones)
    sums = [np.bincount(owners, (weights * model.rest[:, i, None]).ravel(), model.n_bones) for i in range(3)]
    return np.asarray(np.stack(sums, axis=1) / np.maximum(mass, 1e-300)[:, None])
