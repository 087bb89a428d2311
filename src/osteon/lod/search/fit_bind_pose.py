"""Find the pose of the bones whose defaults most clips can share, and let those clips take theirs from it.

A clip's offset O of a bone is where its error is least, so another, O', costs by how much it displaces what follows:

    E' - E = tr(Q (O' - O) M (O' - O)'),     Q = sum_f L_p' L_p of the parent,  M = sum_v z z' of the bone's cluster

That may be a small part of the error that is there anyway at the count where the bone has just begun to follow, spread
over all bones that follow then. Poses tried are those of every clip and the one of all clips; the one that most clips
share in most bones is kept, for bones in which at least half of the clips do.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.1.1 ("should a majority of the animations
share similar values").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.core.arrays import Bool, Float64
from osteon.lod.bind_pose import BindPose, offsets_in_pose
from osteon.lod.bone_order import BoneOrder
from osteon.lod.search.fit_orders import FrameRun, errors_of_order, in_units
from osteon.lod.search.pair_moments import pair_moments
from osteon.lod.search.skin_motion import SkinMotion

__all__ = ["fit_bind_pose"]

#: By how much all shared defaults together may raise the error of a clip, about. Nothing is above the basic form, so
#: that form itself may not rise.
SLACK, BASIC_SLACK = 1e-3, 1e-7
#: What may be added anyway, of the error with only the root active.
LEAST = 1e-12


def fit_bind_pose(
    motion: SkinMotion, orders: Sequence[BoneOrder], all_clips: BoneOrder, runs: Sequence[FrameRun]
) -> tuple[BindPose, tuple[BoneOrder, ...]]:
    """The bind pose, and the orders with their offsets and errors as they are with it."""
    pairs = pair_moments(motion.owners, motion.holds, motion.n_bones)
    prices = [_prices(motion, pairs, order, run) for order, run in zip(orders, runs, strict=True)]
    poses = [order.default_pose() for order in (*orders, all_clips)]
    shared = [np.stack([p.shares(pose) for p in prices]) for pose in poses]
    kept = [some & (2 * some.sum(axis=0) >= len(orders)) for some in shared]
    best = max(range(len(poses)), key=lambda i: int(kept[i].sum()))
    bind = BindPose(poses[best].astype(np.float32), kept[best])
    changed = []
    for order, run, taken in zip(orders, runs, bind.shared, strict=True):
        offsets = np.where(taken[:, None, None], bind.offsets(order.parents), order.offsets)
        after = replace(order, offsets=offsets.astype(np.float32))
        errors = errors_of_order(motion, pairs, run, after, range(order.n_ordered + 1))
        changed.append(replace(after, errors=motion.squared_unit * errors) if taken.any() else order)
    return bind, tuple(changed)


class _Prices:
    """What other offsets would cost a clip."""

    def __init__(self, order: BoneOrder, forms: tuple[Float64, Float64], limits: Float64) -> None:
        self._order, self._limits = order, limits
        self._stretch, self._moments = forms

    def shares(self, pose: Float64) -> Bool:
        """(b,) bones that can do with the offsets of a pose."""
        order = self._order
        change = offsets_in_pose(pose, order.parents) - order.offsets
        costs = np.einsum("bij,bjk,bkl,bil->b", self._stretch, change, self._moments, change, optimize=True)
        return np.asarray(costs <= self._limits)


def _prices(motion: SkinMotion, pairs: Float64, order: BoneOrder, run: FrameRun) -> _Prices:
    """For all bones of the model; those that are not in the order are shared by nobody."""
    n, bones, unit = motion.n_bones, motion.bones, motion.squared_unit
    within, slack = in_units(motion, order), SLACK if order.form == "advanced" else BASIC_SLACK
    moments, clusters = np.zeros((order.n_bones, 4, 4)), pairs.copy()
    stretch, limits = np.zeros((order.n_bones, 3, 3)), np.full(order.n_bones, -1.0)
    rest_unit = np.eye(4)
    rest_unit[:3] = motion.unit_from_rest
    linear = motion.transforms[run.start : run.stop, :, :, :3]
    for place, b in reversed(list(enumerate(within.order.tolist()))):
        above, offset = int(within.parents[b]), np.eye(4)
        offset[:3] = within.offsets[b]
        to_model = np.linalg.inv(rest_unit)
        moments[bones[b]] = to_model @ clusters[b, b] @ to_model.T
        known = np.eye(3) * len(linear) if above < 0 else np.einsum("fij,fik->jk", linear[:, above], linear[:, above])
        scale = motion.unit_from_posed[0, 0] if above < 0 else motion.unit_from_rest[0, 0]
        stretch[bones[b]] = unit * scale**2 * known
        limits[bones[b]] = slack * order.errors[place] / (n - place) + LEAST * order.base
        if above >= 0:
            clusters[above] += offset @ clusters[b]
            clusters[:, above] += clusters[:, b] @ offset.T
    return _Prices(order, (stretch, moments), limits)
