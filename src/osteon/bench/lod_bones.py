"""Rows about progressive hierarchies: what is left of the error, beside what, and how long it takes to find them."""

from __future__ import annotations

import time

import numpy as np

from osteon.bench.lod import LevelCase, bounded
from osteon.bench.lod_references import best_of_sets, direct_search_seconds, literal_basic_error
from osteon.bench.rows import Row, at_most, figure
from osteon.bench.run import BenchRun
from osteon.core.model import SkinnedModel
from osteon.deform.dense_blend import blend_dense
from osteon.deform.pose import pose_frames
from osteon.lod.bone_order import BoneOrder
from osteon.lod.level_pose import pose_at_count
from osteon.lod.model_at_level import model_at_level
from osteon.lod.search.fit_orders import FrameRun, fit_order, fit_orders, runs_of
from osteon.lod.search.merge_state import MergeProblem
from osteon.lod.search.pair_moments import motion_grams, pair_moments
from osteon.lod.search.skin_motion import read_skin_motion

__all__ = ["bone_rows", "set_rows", "time_rows"]

#: Parts of the bones, and the shares of the error in % that may be left.
PARTS = {"a quarter": (0.25, 5.0), "half": (0.5, 1.0), "three quarters": (0.75, 0.15)}
#: The error at a quarter over that of the basic form, as printed: inactive bones copy, or take the mean.
COPY, MEAN = 0.2, 0.35
#: Shares below this are not seen (about 1e-4 of the diagonal), and distances below that are what float32 leaves.
NOTHING, ROUNDING = 1e-6, 1e-7
#: Agreement of moments with posed vertices; over the best of all sets; over the time of a direct search.
AGREEMENT, OVER_BEST, TIME = 1e-10, 1.6, 1 / 20
#: Characters of up to so many bones are compared with all sets of theirs; jointed ones by number of joints and seeds.
SMALL, JOINTED = 14, {7: range(4), 8: range(4), 10: range(1)}
#: Parents whose pairs are timed by the direct search.
TIMED = 4


def bone_rows(case: LevelCase) -> list[Row]:
    """Shares of every clip, and the worst of the character beside other forms and posed vertices."""
    motion = read_skin_motion(case.model)
    pairs = pair_moments(motion.owners, motion.holds, motion.n_bones)
    rows, beside, off, rises, exact = [], [], 0.0, 0, 0.0
    for order, run in zip(case.levels.orders, runs_of(motion), strict=False):
        label = f"{case.name}, {order.clip}, {order.n_ordered} bones"
        for words, (part, bound) in PARTS.items():
            share = 100 * order.shares[order.count_for_share(part)]
            rows.append(bounded(case, label, f"% of the error with {words}", share, bound))
        count = order.count_for_share(0.25)
        printed = [literal_basic_error(motion, pairs, run, count, mean=mean) for mean in (False, True)]
        basic = fit_order(motion, pairs, run, "offset")
        beside.append([*(_over(order, count, e * motion.squared_unit) for e in printed), _over_basic(order, basic)])
        off = max(off, _disagreement(case, order, run))
        rises += int((np.diff(order.shares) > 0).sum())
        whole = pose_frames(case.model, run.start, run.stop)
        same = pose_frames(model_at_level(case.model, case.levels, order.clip, 1.0))
        exact = max(exact, float(np.abs(whole - same).max()))
    copy, mean, basic_offset = np.max(beside, axis=0)
    return [
        *rows,
        bounded(case, case.name, "error at a quarter / basic, copies, worst clip", copy, COPY),
        bounded(case, case.name, "error at a quarter / basic, means, worst clip", mean, MEAN),
        at_most(case.name, "error / basic with offsets, worst of three levels and clips", basic_offset, 1.0),
        at_most(case.name, "counts at which the error rises", rises, 0),
        at_most(case.name, "distance from the input with all bones and blends", exact, 0.0),
        at_most(case.name, "moments from posed vertices, of the error", off, AGREEMENT),
    ]


def _over(order: BoneOrder, count: int, other: float) -> float:
    """The error over another; none where there is nothing to see."""
    share = float(order.shares[count])
    return 0.0 if share <= NOTHING else share * order.base / max(other, 1e-300)


def _over_basic(order: BoneOrder, basic: BoneOrder) -> float:
    """Beside the basic form with offsets, the worst of three levels; to six digits, which is what float32 has."""
    counts = [order.count_for_share(part) for part, _ in PARTS.values()]
    return round(max(_over(order, n, float(basic.shares[n]) * order.base) for n in counts), 6)


def _disagreement(case: LevelCase, order: BoneOrder, run: FrameRun) -> float:
    """How far stored errors are from those of posed vertices, in double precision, at three counts."""
    model, worst = case.model, 0.0
    weights, exact = (
        model.skin.dense(model.n_bones),
        model.animation.transforms[run.start : run.stop].astype(np.float64),
    )
    true = blend_dense(model.rest, weights, exact)
    for part, _ in PARTS.values():
        count = order.count_for_share(part)
        posed = blend_dense(model.rest, weights, pose_at_count(order, exact, count))
        direct = float(((posed - true) ** 2).sum())
        found = float(order.errors[order.active_counts[count]])
        least = order.samples * (ROUNDING * model.diagonal) ** 2
        worst = max(worst, abs(found - direct) / max(direct, NOTHING * order.base, least))
    return worst


def set_rows(run: BenchRun, cases: list[LevelCase]) -> list[Row]:
    """Small characters beside the best of all sets of their bones."""
    from osteon.synth.jointed import JointedOptions, make_jointed

    models = [(case.name, case.model) for case in cases if case.levels.n_ordered <= SMALL and case.levels.n_ordered < 8]
    for joints, seeds in JOINTED.items():
        models += [(f"{joints} joints, {s}", make_jointed(s, JointedOptions(joints=joints))) for s in seeds]
    rows = []
    for name, model in models:
        run.say(f"{name}: all sets of bones")
        at_levels, anywhere = _over_sets(model)
        rows.append(at_most(name, "error / best of all sets, at three levels", at_levels, OVER_BEST))
        rows.append(figure(name, "error / best of all sets, worst count", anywhere))
    return rows


def _over_sets(model: SkinnedModel) -> tuple[float, float]:
    """Over the best of all sets: the worst of three levels, and of all counts, of the first clip."""
    motion = read_skin_motion(model)
    pairs, frames = pair_moments(motion.owners, motion.holds, motion.n_bones), runs_of(motion)[0]
    order = fit_order(motion, pairs, frames)
    problem = MergeProblem(pairs, motion_grams(motion.transforms[frames.start : frames.stop]), motion.rigid)
    counts = range(1, order.n_ordered)
    over = [_over(order, n, motion.squared_unit * best_of_sets(problem, n)) for n in counts]
    judged = {order.count_for_share(part) for part, _ in PARTS.values()}
    return max([r for n, r in zip(counts, over, strict=True) if n in judged], default=0.0), max(over, default=0.0)


def time_rows(run: BenchRun, case: LevelCase) -> list[Row]:
    """The whole search of a character beside a plain one that poses."""
    run.say(f"{case.name}: time of the search")
    motion = read_skin_motion(case.model)
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        fit_orders(read_skin_motion(case.model))
        seconds.append(time.perf_counter() - start)
    direct = direct_search_seconds(motion, TIMED)
    label = f"{case.name}, all clips, {motion.n_bones} bones"
    return [
        at_most(label, "time of the search / one that poses, extrapolated", min(seconds) / direct, TIME),
        figure(label, "seconds of the search", min(seconds)),
        figure(label, "seconds of one that poses, extrapolated", direct),
    ]
