"""Rows about playing levels: what preparing matrices costs, and how far vertices go as the level moves."""

from __future__ import annotations

import time

import numpy as np

from osteon.bench.lod import LevelCase, bounded
from osteon.bench.rows import Row, at_most, figure
from osteon.bench.run import BenchRun
from osteon.core.arrays import Float64
from osteon.deform.dense_blend import blend_dense
from osteon.lod.bone_order import BoneOrder
from osteon.lod.level_player import LevelPlayer, plan_level
from osteon.lod.level_pose import pose_at_count
from osteon.lod.local_keys import local_keys

__all__ = ["play_rows", "pop_rows"]

#: Time with a quarter of the bones over that with all; characters of fewer bones are mostly overhead.
COST, LEAST_BONES = 0.35, 12
#: Characters that are prepared by a call, each at a time of its own, and how often that is timed; the best counts.
CROWD, RUNS = 256, 60
#: Where the level moves by 1 % of a step, and frames of a clip in which that is looked at.
UNSEEN = 1e-6  # ways below this part of the diagonal are rounding
STEPS, FRAMES = ((0.0, 0.01), (0.5, 0.51), (0.99, 1.0)), 6


def play_rows(run: BenchRun, case: LevelCase) -> list[Row]:
    """Interpolation, kinematics and palette of a crowd with a quarter, half and all of the bones, in turns."""
    if case.levels.n_ordered < LEAST_BONES:
        return []
    run.say(f"{case.name}: preparing matrices")
    seconds = np.sum([_clip_seconds(case, number) for number in range(len(case.levels.orders))], axis=0)
    return [
        bounded(case, case.name, "preparing matrices, a quarter of the bones / all", seconds[0] / seconds[2], COST),
        figure(case.name, "preparing matrices, half of the bones / all", seconds[1] / seconds[2]),
        figure(case.name, "ns a bone and character, all bones", _nanoseconds(case, float(seconds[2]))),
    ]


def _nanoseconds(case: LevelCase, seconds: float) -> float:
    return 1e9 * seconds / CROWD / case.levels.n_ordered / len(case.levels.orders)


def _clip_seconds(case: LevelCase, number: int) -> Float64:
    """(3,) the best times of a quarter, half and all of the bones, taken in turns."""
    order, clip = case.levels.orders[number], case.model.clips[number]
    keys = local_keys(case.model, order, clip.start, clip.stop)
    players = [LevelPlayer(keys, order, plan_level(order, order.count_for_share(part))) for part in (0.25, 0.5, 1.0)]
    frames = np.random.default_rng(0).uniform(0, clip.n_frames - 1, CROWD)
    best = np.full(3, np.inf)
    for _ in range(RUNS):
        for i, player in enumerate(players):
            start = time.perf_counter()
            player.prepare(frames)
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def pop_rows(case: LevelCase) -> list[Row]:
    """How far a vertex goes for 1 % of a step from one bone to the next, over 1 % of the largest way of that step."""
    number = int(np.argmax([order.base for order in case.levels.orders]))
    order, clip = case.levels.orders[number], case.model.clips[number]
    frames = np.unique(np.linspace(clip.start, clip.stop - 1, FRAMES).round().astype(np.int64))
    exact = case.model.animation.transforms[frames].astype(np.float64)
    worst = max(_largest_pop(case, order, exact, count) for count in range(order.n_ordered))
    return [at_most(case.name, "way for 1 % of a step / 1 % of its largest way", round(worst, 6), 1.0)]


def _largest_pop(case: LevelCase, order: BoneOrder, exact: Float64, count: int) -> float:
    def posed(at: float) -> Float64:
        return blend_dense(case.model.rest, weights, pose_at_count(order, exact, at))

    weights = case.model.skin.dense(case.model.n_bones)
    largest = _way(posed(count), posed(count + 1))
    if largest <= UNSEEN * case.model.diagonal:
        return 0.0
    return max(_way(posed(count + a), posed(count + b)) for a, b in STEPS) / (0.01 * largest)


def _way(before: Float64, after: Float64) -> float:
    return float(np.linalg.norm(after - before, axis=2).max())
