"""Rows about progressive hierarchies: their error, compared with references, and the time to find them."""

from __future__ import annotations

import time

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.model import SkinnedModel
from osteon.deform.pose import blend_dense, pose_frames
from osteon.lod.bone_order import BoneForm, BoneOrder, pose_at_count
from osteon.lod.model_levels import model_at_level
from osteon.lod.search.fit_blends import slot_grams
from osteon.lod.search.fit_orders import FrameRun, fit_order, fit_orders, runs_of
from osteon.lod.search.merge_search import MergeProblem
from osteon.lod.search.pair_moments import motion_grams, pair_moments
from osteon.lod.search.skin_motion import SkinMotion, read_skin_motion
from osteon_bench.lod import LevelCase, bounded
from osteon_bench.lod_references import direct_search_seconds, exhaust, literal_basic_error
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun

#: Fractions of the bones, and the largest residual shares of the error in %.
PARTS = {"a quarter": (0.25, 5.0), "half": (0.5, 1.0), "three quarters": (0.75, 0.15)}
#: The error at a quarter over that of the basic form, as printed: inactive bones copy, or take the mean.
COPY, MEAN = 0.2, 0.35
#: Invisible shares (about 1e-4 of the diagonal), and distances that are rounding of float32.
NOTHING, ROUNDING = 1e-6, 1e-7
#: Agreement of moments with posed vertices; error over the best order; time over that of a direct search.
AGREEMENT, OVER_BEST, TIME = 1e-10, 1.6, 1 / 20
#: Characters of up to this many bones are compared with all orders; jointed ones by number of joints and seeds.
SMALL, JOINTED = 14, {6: range(4), 8: range(6), 10: range(1)}
#: Parents whose pairs the direct search times, and number of repetitions.
TIMED, TURNS = 4, 3


def bone_rows(case: LevelCase) -> list[Row]:
    """Shares of every clip, and the worst of the character compared with other forms and posed vertices."""
    motion = read_skin_motion(case.model)
    pairs = pair_moments(motion.owners, motion.holds, motion.n_bones)
    rows, beside, off, rises, apart = [], [], 0.0, 0, 0.0
    for order, run in zip(case.levels.orders, runs_of(motion), strict=False):
        label = f"{case.name}, {order.clip}, {order.n_ordered} bones"
        for words, (part, bound) in PARTS.items():
            share = 100 * order.shares[order.count_for_share(part)]
            rows.append(bounded(case, label, f"% of the error with {words}", share, bound))
        count = order.count_for_share(0.25)
        printed = [
            motion.squared_unit * literal_basic_error(motion, pairs, run, count, mean=mean) for mean in (False, True)
        ]
        exact = _exact_basics(motion, pairs, run)
        others = [*printed, *(float(exact[words].shares[count]) * order.base for words in ("copies", "means"))]
        beside.append([*(_over(order, count, e) for e in others), _over_basic(order, exact["fitted offsets"])])
        rows += _basic_rows(label, order, printed, exact)
        posed = _posed_errors(case, order, run)
        off = max(off, _disagreement(case, order, posed))
        rises += _rises(case, order, posed)
        whole = pose_frames(case.model, run.start, run.stop)
        same = pose_frames(model_at_level(case.model, case.levels, order.clip, 1.0))
        apart = max(apart, float(np.abs(whole - same).max()))
    copy, mean, exact_copy, exact_mean, basic_offset = np.max(beside, axis=0)
    return [
        *rows,
        bounded(case, case.name, "error at a quarter / basic, copies, worst clip", copy, COPY),
        bounded(case, case.name, "error at a quarter / basic, means, worst clip", mean, MEAN),
        figure(case.name, "error at a quarter / basic, copies, active bones exact, worst clip", exact_copy),
        figure(case.name, "error at a quarter / basic, means, active bones exact, worst clip", exact_mean),
        at_most(case.name, "error / basic with offsets, worst of three levels and clips", basic_offset, 1.0),
        at_most(case.name, "counts at which the error rises", rises, 0),
        at_most(case.name, "distance from the input with all bones and blends", apart, 0.0),
        at_most(case.name, "moments from posed vertices, of the error", off, AGREEMENT),
    ]


def _over(order: BoneOrder, count: int, other: float) -> float:
    """The ratio of two errors; no row if both are invisible."""
    share = float(order.shares[count])
    return 0.0 if share <= NOTHING else share * order.base / max(other, 1e-300)


def _over_basic(order: BoneOrder, basic: BoneOrder) -> float:
    """Compared with the basic form with offsets, the worst of three levels; to the six digits of float32."""
    counts = [order.count_for_share(part) for part, _ in PARTS.values()]
    return round(max(_over(order, n, float(basic.shares[n]) * order.base) for n in counts), 6)


def _exact_basics(motion: SkinMotion, pairs: Float64, run: FrameRun) -> dict[str, BoneOrder]:
    """The basic form with exact matrices of active bones, by the rule for inactive bones."""
    forms: dict[str, BoneForm] = {"copies": "copy", "means": "mean", "fitted offsets": "offset"}
    return {words: fit_order(motion, pairs, run, form) for words, form in forms.items()}


def _basic_rows(label: str, order: BoneOrder, printed: list[float], exact: dict[str, BoneOrder]) -> list[Row]:
    """The residual of the basic form with a quarter of the bones, as printed and with exact active bones; no bounds."""
    count, base = order.count_for_share(0.25), max(order.base, 1e-300)
    shares = {f"{words}, as printed": e / base for words, e in zip(("copies", "means"), printed, strict=True)}
    shares |= {f"{words}, active bones exact": float(basic.shares[count]) for words, basic in exact.items()}
    return [figure(label, f"% of the error with a quarter, basic, {words}", 100 * e) for words, e in shares.items()]


def _posed_errors(case: LevelCase, order: BoneOrder, run: FrameRun) -> Float64:
    """(n+1,) squared errors of posed vertices, in double precision, with 0 … n active bones."""
    model = case.model
    weights, exact = (
        model.skin.dense(model.n_bones),
        model.animation.transforms[run.start : run.stop].astype(np.float64),
    )
    true, found = blend_dense(model.rest, weights, exact), np.empty(order.n_ordered + 1)
    for count in range(order.n_ordered + 1):
        same = count > 0 and order.active_counts[count] == order.active_counts[count - 1]
        if same:
            found[count] = found[count - 1]
            continue
        posed = blend_dense(model.rest, weights, pose_at_count(order, exact, count))
        found[count] = float(((posed - true) ** 2).sum())
    return found


def _unseen(case: LevelCase, order: BoneOrder) -> float:
    """Squared errors below this are rounding of float32, or invisible."""
    return max(NOTHING * order.base, order.samples * (ROUNDING * case.model.diagonal) ** 2)


def _disagreement(case: LevelCase, order: BoneOrder, posed: Float64) -> float:
    """The largest deviation of stored errors from those of posed vertices, over all counts."""
    found = order.errors[order.active_counts]
    return float((np.abs(found - posed) / np.maximum(posed, _unseen(case, order))).max())


def _rises(case: LevelCase, order: BoneOrder, posed: Float64) -> int:
    """Counts with a larger error of posed vertices than with one bone fewer."""
    return int((np.diff(posed) > AGREEMENT * np.maximum(posed[1:], _unseen(case, order))).sum())


def set_rows(run: BenchRun, cases: list[LevelCase]) -> list[Row]:
    """Small characters compared with all sets and all orders of their bones."""
    from osteon_bench.subjects import JointedOptions, make_jointed

    models = [(case.name, case.model) for case in cases if case.measured and case.levels.n_ordered <= SMALL]
    for joints, seeds in JOINTED.items():
        models += [(f"{joints} joints, {s}", make_jointed(s, JointedOptions(joints=joints))) for s in seeds]
    rows = []
    for name, model in models:
        run.report(f"{name}: all sets of bones")
        over_sets, over_orders = _over_all(model)
        rows.append(at_most(name, "error / best of all orders, at three levels", over_orders, OVER_BEST))
        rows.append(figure(name, "error / best of all sets, at three levels", over_sets))
    return rows


def _over_all(model: SkinnedModel) -> tuple[float, float]:
    """The error of the first clip over that of the best sets, the worst of three levels; the same of the best order."""
    motion = read_skin_motion(model)
    pairs, frames = pair_moments(motion.owners, motion.holds, motion.n_bones), runs_of(motion)[0]
    order = fit_order(motion, pairs, frames)
    problem = MergeProblem(pairs, motion_grams(motion.transforms[frames.start : frames.stop]), motion.rigid)
    counts = {order.count_for_share(part) for part, _ in PARTS.values()} - {order.n_ordered}
    best = exhaust(problem, counts)
    over = max((_over(order, n, motion.squared_unit * best.sets[n]) for n in counts), default=0.0)
    return over, over / best.orders


def time_rows(run: BenchRun, case: LevelCase) -> list[Row]:
    """The whole search compared with a direct one that poses, alternately; the fastest of each counts."""
    run.report(f"{case.name}: time of the search")
    motion = read_skin_motion(case.model)
    own, direct = np.inf, np.inf
    for _ in range(TURNS):
        start = time.perf_counter()
        fit_orders(read_skin_motion(case.model))
        own = min(own, time.perf_counter() - start)
        direct = min(direct, direct_search_seconds(motion, TIMED))
    label = f"{case.name}, all clips, {motion.n_bones} bones"
    return [
        at_most(label, "time of the search / one that poses, extrapolated", own / direct, TIME),
        figure(label, "seconds of the search", own),
        figure(label, "seconds of one that poses, extrapolated", direct),
    ]


# Rows about fewer blends: the order of slots compared with keeping the largest weights, renormalised.

#: Squared error over that of the largest weights, with 1, 2 and 3 blends; and the sum of the three for any character.
BOUNDS = {"Soldier": (0.96, 0.70, 0.65), "CesiumMan": (0.96, 0.70, 0.65)}
IN_SUM = 1.01


def blend_rows(case: LevelCase) -> list[Row]:
    """The errors of 1, 2 and 3 blends over those of the largest weights, over all clips."""
    plain = _largest_weights(case)
    own = case.levels.blends.errors[: len(plain)]
    if not plain.sum() > 0:
        return []
    rows = []
    for blends, (error, other) in enumerate(zip(own, plain, strict=True), start=1):
        metric = (
            f"error with {blends} blends / largest weights" if blends > 1 else "error with 1 blend / largest weights"
        )
        value, bounds = error / max(other, 1e-300), BOUNDS.get(case.name)
        if other > 1e-12 * plain.sum():
            rows.append(
                figure(case.name, metric, value)
                if bounds is None
                else at_most(case.name, metric, value, bounds[blends - 1])
            )
    return [*rows, at_most(case.name, "error of all blends in sum / largest weights", own.sum() / plain.sum(), IN_SUM)]


def _largest_weights(case: LevelCase) -> Float64:
    """(k-1,) squared errors of keeping the largest 1 … k-1 weights, renormalised."""
    motion = read_skin_motion(case.model)
    weights = case.model.skin.weights.astype(np.float64)
    forms = slot_grams(motion, weights, motion_grams(motion.transforms), slice(None))
    rank = np.argsort(np.argsort(-weights, axis=1, kind="stable"), axis=1)
    found = []
    for blends in range(1, weights.shape[1]):
        kept = np.where(rank < blends, weights, 0)
        change = kept / kept.sum(axis=1, keepdims=True) - weights
        found.append(float(np.einsum("vi,vij,vj->", change, forms, change, optimize=True)))
    return motion.squared_unit * np.maximum(found, 0)
