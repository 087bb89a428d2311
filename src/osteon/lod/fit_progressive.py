"""Fit all levels of bones and blends of a model: the driver, and the fit of the bind pose.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning for Character Animation, 2007, section 4.

**Bind pose.** The pose of the bones whose defaults most clips can share; these clips take their defaults from it.

The offset O of a bone minimises the error of a clip, so another offset O' adds an error:

    E' - E = tr(Q (O' - O) M (O' - O)'),     Q = sum_f L_p' L_p of the parent,  M = sum_v z z' of the bone's cluster

It may be a small part of the error at the count at which the bone begins to follow, divided among all bones that follow
then. Candidates are the poses of every clip and of all clips together; the pose that most clips share in most bones is
kept, for bones that at least half of the clips share.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 4.1.1 ("should a majority of the animations
share similar values").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Bool, Float64
from osteon.core.model import SkinnedModel
from osteon.core.progress import FitReport, Progress, Stopwatch, report_progress
from osteon.core.transforms import compose, invert
from osteon.lod.bone_order import BoneChain, BoneForm, BoneOrder
from osteon.lod.progressive_skin import BindPose, ProgressiveSkin, offsets_in_pose
from osteon.lod.search.fit_blends import fit_blends
from osteon.lod.search.fit_orders import FrameRun, errors_of_order, fit_orders, in_units, runs_of
from osteon.lod.search.level_errors import blend_moments, fit_curve, level_errors
from osteon.lod.search.pair_moments import pair_moments
from osteon.lod.search.skin_motion import SkinMotion, read_skin_motion

#: The relative increase of the error of a clip that all shared defaults together may cause, about; in the basic form
#: nearly none, since no result may be worse than that form.
SLACK, BASIC_SLACK = 1e-3, 1e-7
#: An increase that is always allowed, relative to the error with only the root active.
LEAST = 1e-12


def fit_bind_pose(
    motion: SkinMotion, orders: Sequence[BoneOrder], all_clips: BoneOrder, runs: Sequence[FrameRun]
) -> tuple[BindPose, tuple[BoneOrder, ...]]:
    """The bind pose, and the orders with the offsets and errors that follow from it."""
    pairs = pair_moments(motion.owners, motion.holds, motion.n_bones)
    prices = [_Prices.of(motion, pairs, order, run) for order, run in zip(orders, runs, strict=True)]
    poses = [order.default_pose() for order in (*orders, all_clips)]
    kept = [_kept(motion, prices, pose) for pose in poses]
    best = max(range(len(poses)), key=lambda i: int(kept[i].sum()))
    bind = BindPose(poses[best].astype(np.float32), kept[best])
    taken = zip(orders, runs, bind.shared, strict=True)
    return bind, tuple(_with_pose(motion, pairs, order, run, bind, shared) for order, run, shared in taken)


def _kept(motion: SkinMotion, prices: Sequence[_Prices], pose: Float64) -> Bool:
    """(c,b) clips that can share the offsets of a pose (b,3,4), for bones that at least half of them share."""
    in_units = compose(compose(motion.unit_from_posed, pose[motion.bones]), invert(motion.unit_from_rest))
    shared = np.zeros((len(prices), len(pose)), bool)
    shared[:, motion.bones] = [each.shares(in_units) for each in prices]
    return np.asarray(shared & (2 * shared.sum(axis=0) >= len(prices)))


def _with_pose(
    motion: SkinMotion, pairs: Float64, order: BoneOrder, run: FrameRun, bind: BindPose, shared: Bool
) -> BoneOrder:
    """An order with its shared offsets taken from the bind pose, and the resulting errors."""
    if not shared.any():
        return order
    offsets = np.where(shared[:, None, None], bind.offsets(order.parents), order.offsets)
    after = replace(order, offsets=offsets.astype(np.float32))
    errors = errors_of_order(motion, pairs, run, after, range(order.n_ordered + 1))
    return replace(after, errors=motion.squared_unit * errors)


@dataclass(frozen=True, slots=True)
class _Prices:
    """The errors that other offsets add to a clip, for the used bones and in units of the body."""

    chain: BoneChain
    stretch: Float64  # (n,3,3) Q of the parent of each bone
    moments: Float64  # (n,4,4) M of the cluster of each bone
    limits: Float64  # (n,) the largest error that a change may add

    @staticmethod
    def of(motion: SkinMotion, pairs: Float64, order: BoneOrder, run: FrameRun) -> _Prices:
        chain, clusters, n = in_units(motion, order), pairs.copy(), motion.n_bones
        linear = motion.transforms[run.start : run.stop, :, :, :3]
        squares = np.concatenate([np.einsum("fbij,fbik->bjk", linear, linear), len(linear) * np.eye(3)[None]])
        slack = SLACK if order.form == "advanced" else BASIC_SLACK
        moments, limits = np.empty((n, 4, 4)), np.empty(n)
        for place, b in reversed(list(enumerate(chain.order.tolist()))):
            parent, offset = int(chain.parents[b]), np.eye(4)
            offset[:3] = chain.offsets[b]
            moments[b] = clusters[b, b]
            limits[b] = (slack * order.errors[place] / (n - place) + LEAST * order.base) / motion.squared_unit
            if parent >= 0:
                clusters[parent] += offset @ clusters[b]
                clusters[:, parent] += clusters[:, b] @ offset.T
        return _Prices(chain, squares[chain.parents], moments, limits)  # the last is of bones without a parent

    def shares(self, pose: Float64) -> Bool:
        """(n,) bones that can share the offsets of a pose (n,3,4)."""
        change = offsets_in_pose(pose, self.chain.parents) - self.chain.offsets
        costs = np.einsum("bij,bjk,bkl,bil->b", self.stretch, change, self.moments, change, optimize=True)
        return np.asarray(costs <= self.limits)


@dataclass(frozen=True, slots=True)
class ProgressiveFit:
    """All levels, and the reports of the fit."""

    skin: ProgressiveSkin
    reports: tuple[FitReport, ...]


def fit_progressive(
    model: SkinnedModel, *, form: BoneForm = "advanced", progress: Progress | None = None
) -> ProgressiveFit:
    """Orders of bones and blends for every clip of a model, their curves, and the bind pose that clips share."""
    watch = Stopwatch()
    with watch.stage("blends"):
        report_progress(progress, "blends", 0.0)
        blends = fit_blends(read_skin_motion(model), model.skin)
    motion = read_skin_motion(model, blends.skin)
    with watch.stage("bones"):
        *found, all_clips = fit_orders(motion, form, progress)
    with watch.stage("bind pose"):
        report_progress(progress, "bind pose", 0.0)
        bind_pose, orders = fit_bind_pose(motion, found, all_clips, runs_of(motion)[:-1])
    with watch.stage("curves"):
        report_progress(progress, "curves", 0.0)
        moments = blend_moments(motion, blends)
        grids = [level_errors(motion, moments, order, run) for order, run in zip(orders, runs_of(motion), strict=False)]
        curves = tuple(fit_curve(grid, order.samples) for grid, order in zip(grids, orders, strict=True))
    report_progress(progress, "curves", 1.0)
    reports = tuple(FitReport(stage, seconds, options={"form": form}) for stage, seconds in watch.seconds.items())
    return ProgressiveFit(ProgressiveSkin(orders, curves, all_clips, blends, bind_pose), reports)
