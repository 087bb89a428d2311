"""Rows about playing levels: the cost of preparing matrices, and the motion of vertices as the level changes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from osteon.core.arrays import Float64
from osteon.deform.pose import blend_dense
from osteon.lod.bone_order import pose_at_count
from osteon.lod.level_player import LevelPlayer, local_keys, plan_level
from osteon_bench.lod import LevelCase, bounded
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun

#: Time with a quarter of the bones over that with all; characters of fewer bones are mostly overhead.
COST, LEAST_BONES = 0.35, 12
#: Characters prepared per call, each at its own time, and number of repetitions; the fastest counts.
CROWD, RUNS = 256, 60
#: Positions of the level that move by 1 % of a step, and measured frames of a clip.
UNSEEN = 1e-6  # displacements below this fraction of the diagonal are rounding
STEPS, FRAMES = ((0.0, 0.01), (0.5, 0.51), (0.99, 1.0)), 6


def play_rows(run: BenchRun, case: LevelCase) -> list[Row]:
    """Interpolation, kinematics and palette of a crowd with a quarter, half and all of the bones, alternately."""
    if case.levels.n_ordered < LEAST_BONES:
        return []
    run.report(f"{case.name}: preparing matrices")
    seconds = np.sum([_clip_seconds(case, number) for number in range(len(case.levels.orders))], axis=0)
    return [
        bounded(case, case.name, "preparing matrices, a quarter of the bones / all", seconds[0] / seconds[2], COST),
        figure(case.name, "preparing matrices, half of the bones / all", seconds[1] / seconds[2]),
        figure(case.name, "ns a bone and character, all bones", _nanoseconds(case, float(seconds[2]))),
    ]


def _nanoseconds(case: LevelCase, seconds: float) -> float:
    return 1e9 * seconds / CROWD / case.levels.n_ordered / len(case.levels.orders)


def _clip_seconds(case: LevelCase, number: int) -> Float64:
    """(3,) the fastest times of a quarter, half and all of the bones, measured alternately."""
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
    """The displacement of a vertex for 1 % of a step between two counts, over 1 % of the largest of the whole step."""
    number = int(np.argmax([order.base for order in case.levels.orders]))
    order, clip = case.levels.orders[number], case.model.clips[number]
    frames = np.unique(np.linspace(clip.start, clip.stop - 1, FRAMES).round().astype(np.int64))
    exact = case.model.animation.transforms[frames].astype(np.float64)
    weights, blends = case.model.skin.dense(case.model.n_bones), case.levels.blends

    def with_bones(count: float) -> Float64:
        return blend_dense(case.model.rest, weights, pose_at_count(order, exact, count))

    def with_blends(count: float) -> Float64:
        fewer, slots = np.zeros(weights.shape), blends.skin.weights.astype(np.float64) @ blends.shares(count)
        np.add.at(fewer, (np.arange(len(fewer))[:, None], blends.bones), slots)  # files round them to float32
        return blend_dense(case.model.rest, fewer, exact)

    seen = UNSEEN * case.model.diagonal
    of_bones = max(largest_pop(with_bones, count, seen) for count in range(order.n_ordered))
    of_blends = max((largest_pop(with_blends, count, seen) for count in range(1, blends.n_blends)), default=0.0)
    return [
        at_most(case.name, "way for 1 % of a step / 1 % of its largest way", round(of_bones, 6), 1.0),
        at_most(case.name, "the same for a step of blends", round(of_blends, 6), 1.0),
    ]


def largest_pop(posed: Callable[[float], Float64], count: int, seen: float) -> float:
    """The largest displacement for 1 % of the step to the next count, over 1 % of the largest of the whole step."""
    largest = _way(posed(count), posed(count + 1))
    if largest <= seen:
        return 0.0
    return max(_way(posed(count + a), posed(count + b)) for a, b in STEPS) / (0.01 * largest)


def _way(before: Float64, after: Float64) -> float:
    return float(np.linalg.norm(after - before, axis=2).max())
