"""Fit progressive hierarchies of a character: one for each clip, and one for all.

    minimise for every count n of active bones   sum_f sum_v || x_v^f(n) - x_v^f ||^2

over the order, one parent per bone and one offset per bone. Candidates come from forward and backward search and from
the basic form with fitted offsets; the result is no worse than that form at the counts of baked levels.

    form        parents                  an inactive bone
    advanced    any bone, or none        follows by a fitted offset
    offset      those of the rig         follows by a fitted offset
    mean        those of the rig         takes the mean of its local transformation over the clip
    copy        those of the rig         copies its parent

A bone without a parent in the rig, or without an active one, takes the mean.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 4.1 and 4.3.
Differs from the paper: an active bone has its exact transform, even if its parents in the rig are inactive. With
kinematics over inexact parents, as in the paper, the errors of ancestors remain in their descendants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32, Int64, IntArray
from osteon.core.kinematics import parents_first
from osteon.core.parallel import single_threaded_blas
from osteon.core.progress import Progress, report_progress
from osteon.core.transforms import compose, identity, invert, nearest_rotation
from osteon.lod.bone_order import BoneChain, BoneForm, BoneOrder, Fade, count_of_part, pose_chain
from osteon.lod.search.forward_search import search_forward
from osteon.lod.search.merge_search import (
    BAKED_PARTS,
    MergeProblem,
    MergeState,
    order_of,
    search_backward,
    start_merging,
)
from osteon.lod.search.pair_moments import error_of_matrices, frame_factor, motion_grams, pair_moments
from osteon.lod.search.skin_motion import SkinMotion

#: Relative and absolute tolerance of equal errors, the latter relative to the worst error: float32 rounds offsets.
EQUAL, NOTHING = 1e-4, 1e-9


@dataclass(frozen=True, slots=True)
class FrameRun:
    """The range of frames of one hierarchy."""

    name: str  # of the clip; "" for all
    start: int
    stop: int


def runs_of(motion: SkinMotion) -> tuple[FrameRun, ...]:
    """Every clip, and last all of them together."""
    clips = [FrameRun(clip.name, clip.start, clip.stop) for clip in motion.clips]
    return (*clips, FrameRun("", 0, len(motion.transforms)))


def fit_orders(
    motion: SkinMotion,
    form: BoneForm = "advanced",
    progress: Progress | None = None,
    *,
    weights: Float64 | None = None,
) -> tuple[BoneOrder, ...]:
    """The hierarchy of every clip, and last the one of all clips, for which `weights` (v,) weigh vertices."""
    pairs = pair_moments(motion.owners, motion.holds, motion.n_bones)
    found: list[BoneOrder] = []
    runs = runs_of(motion)
    for run in runs:
        report_progress(progress, "bones", len(found) / len(runs))
        if weights is not None and not run.name:
            found.append(_fit_weighed(motion, pairs, run, form, weights))
        elif not run.name and len(motion.clips) == 1:
            found.append(replace(found[0], clip=""))
        else:
            found.append(fit_order(motion, pairs, run, form))
    report_progress(progress, "bones", 1.0)
    return tuple(found)


def fit_order(motion: SkinMotion, pairs: Float64, run: FrameRun, form: BoneForm = "advanced") -> BoneOrder:
    """The hierarchy of some frames."""
    transforms = motion.transforms[run.start : run.stop]
    with single_threaded_blas():  # its products are small
        base = min(error_of_matrices(pairs, transforms[:, [r]] - transforms) for r in motion.roots)
        problem = MergeProblem(pairs, motion_grams(transforms), motion.rigid)
        pose = None if form in ("advanced", "offset") else _default_pose(motion, transforms, form)
        basic = search_backward(start_merging(replace(problem, rig_parents=motion.parents, pose=pose)), base)[0]
        order = _stored(motion, run, basic, base, "offset" if form == "advanced" else form)
        if form == "advanced":
            orders = (order_of(basic), search_forward(problem))
            best = search_backward(start_merging(problem), base, orders, basic)[0]
            order = _better(motion, pairs, run, order, best)
        counts = range(order.n_ordered + 1)
        return replace(order, errors=motion.squared_unit * errors_of_order(motion, pairs, run, order, counts))


def _fit_weighed(motion: SkinMotion, pairs: Float64, run: FrameRun, form: BoneForm, weights: Float64) -> BoneOrder:
    """The hierarchy that serves the visible surface best; its errors are those of vertices, like all others."""
    weighed = motion.weighed(weights)
    order = fit_order(weighed, pair_moments(weighed.owners, weighed.holds, weighed.n_bones), run, form)
    transforms = motion.transforms[run.start : run.stop]
    base = min(error_of_matrices(pairs, transforms[:, [r]] - transforms) for r in motion.roots)
    errors = errors_of_order(motion, pairs, run, order, range(order.n_ordered + 1))
    return replace(order, errors=motion.squared_unit * errors, base=float(motion.squared_unit * base))


def _better(motion: SkinMotion, pairs: Float64, run: FrameRun, basic: BoneOrder, best: MergeState) -> BoneOrder:
    """The result of the search, or the basic form if rounding makes the result worse than that."""
    n = basic.n_ordered
    baked = [count_of_part(part, n) for part in BAKED_PARTS]
    order = _stored(motion, run, best, basic.base / motion.squared_unit, "advanced")
    found, other = (errors_of_order(motion, pairs, run, each, baked) for each in (order, basic))
    known = np.array([best.path[n - 1 - count].error for count in baked if count < n] + [0.0] * baked.count(n))
    limit = (1 + EQUAL) * np.maximum(known, other) + NOTHING * basic.base / motion.squared_unit
    return order if (found <= limit).all() else basic


def _default_pose(motion: SkinMotion, transforms: Float64, form: BoneForm) -> Float64:
    """(n+1,3,4) the pose of the means of all local transformations; the last is the world."""
    pose = identity(motion.n_bones + 1)
    for b in parents_first(motion.parents.tolist()):
        parent = int(motion.parents[b])
        if parent >= 0 and form == "copy":
            pose[b] = pose[parent]
        else:
            local = transforms[:, b] if parent < 0 else compose(invert(transforms[:, parent]), transforms[:, b])
            pose[b] = compose(pose[parent], mean_transform(local, motion.pivots[b]))
    return pose


def mean_transform(local: Float64, pivot: Float64) -> Float64:
    """(3,4) the mean rotation of transforms (f,3,4), at their mean size, with the mean position of the pivot."""
    mean = identity()
    size = np.sqrt(np.mean(local[..., :3] ** 2) * 3)
    mean[:, :3] = size * nearest_rotation(local[..., :3].mean(axis=0))
    places = local[..., :3] @ pivot + local[..., 3]
    mean[:, 3] = places.mean(axis=0) - mean[:, :3] @ pivot
    return mean


def _stored(motion: SkinMotion, run: FrameRun, state: MergeState, base: float, form: BoneForm) -> BoneOrder:
    """The path of a state as a BoneOrder of the model; its errors are not computed yet."""
    n = motion.n_bones
    parents, offsets = np.full(n, -1), identity(n)
    for follow in state.path:
        parents[follow.bone] = follow.parent if follow.parent < n else -1
        offsets[follow.bone] = follow.offset
    whole_parents, whole_offsets = _in_model(motion, parents, motion.offsets_in_model(offsets, parents))
    return BoneOrder(
        motion.bones[order_of(state)].astype(np.int32),
        whole_parents,
        whole_offsets,
        errors=np.zeros(n + 1),
        base=base * motion.squared_unit,
        samples=(run.stop - run.start) * motion.n_vertices,
        form=form,
        clip=run.name,
    )


def _in_model(motion: SkinMotion, parents: Int64, offsets: Float64) -> tuple[Int32, Float32]:
    """Parents (b,) and offsets (b,3,4) of all bones of the model; unused ones always follow."""
    whole_parents, whole_offsets = motion.leaders.astype(np.int32), motion.ties.copy()
    whole_parents[motion.bones] = np.where(parents < 0, -1, motion.bones[parents])
    whole_offsets[motion.bones] = offsets
    return whole_parents, whole_offsets.astype(np.float32)


def errors_of_order(
    motion: SkinMotion, pairs: Float64, run: FrameRun, order: BoneOrder, counts: Sequence[int]
) -> Float64:
    """(m,) squared errors for counts of active bones, in units of the body, for any frames."""
    exact, chain = frame_factor(motion.transforms[run.start : run.stop]), in_units(motion, order)
    errors = np.zeros(len(counts))
    for i, count in enumerate(counts):
        left, differences = left_out(chain, exact, count)
        errors[i] = error_of_matrices(pairs[np.ix_(left, left)], differences)
    return errors


def left_out(chain: BoneChain, exact: Float64, count: int) -> tuple[IntArray, Float64]:
    """The bones after the first `count`, and (f,m,3,4) their differences from `exact`, whose last bone is the world."""
    world, left = len(chain.parents), chain.order[count:]
    with_world = BoneChain(
        np.concatenate([[world], chain.order]),
        np.append(np.where(chain.parents < 0, world, chain.parents), -1),
        np.concatenate([chain.offsets, identity(1)]),
    )
    posed = pose_chain(with_world, exact, Fade(count + 1, count + 1, 0.0))
    return left, posed[:, left] - exact[:, left]


def in_units(motion: SkinMotion, order: BoneOrder) -> BoneChain:
    """The order of the used bones alone, in units of the body."""
    place = np.full(order.n_bones, -1)
    place[motion.bones] = np.arange(motion.n_bones)
    parents = np.where(order.parents[motion.bones] < 0, -1, place[order.parents[motion.bones]])
    unit_of_parent = np.where((parents < 0)[:, None, None], motion.unit_from_posed, motion.unit_from_rest)
    offsets = compose(compose(unit_of_parent, order.offsets[motion.bones]), invert(motion.unit_from_rest))
    return BoneChain(place[order.order], parents, offsets)
