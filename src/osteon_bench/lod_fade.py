"""Rows about pops: how far vertices move because the level changes, while the controller runs at its real rate.

A character stands in a scene at 60 frames per second. Its distance jumps between near and far at random, so the
goal of the controller keeps changing. In every frame the character is posed at the same moment of the clip at its level
of this frame and of the one before; the distance between the two is what the level moves, beyond the character's own
motion. Poses are those of the run time (`level_player`), with fewer blends where the level has fewer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.lod.controller import ControllerOptions, ControllerState, SeenCharacter, control_levels
from osteon.lod.level_player import LevelPlayer, LocalKeys, local_keys, plan_level
from osteon.lod.progressive_skin import LevelPoint
from osteon_bench.lod import LevelCase
from osteon_bench.rows import Row, at_most, figure

#: Largest way of a vertex in a frame, in % of the body's size, and the characters that have to keep it.
MOST, BOUNDED = 0.5, ("Fox", "Soldier", "CesiumMan")
#: Frames per second, frames of a run, and frames between two jumps of the distance on average.
RATE, RUN, JUMP = 60, 600, 120
#: Sizes of the body on the screen in pixels, near and far.
SIZES = (900.0, 8.0)


def fade_rows(case: LevelCase) -> list[Row]:
    """The largest way in a frame over all clips, and the seconds from the lowest level to the highest."""
    found = [_run(case, clip) for clip in range(len(case.model.clips))]
    worst = max(float(ways.max(initial=0.0)) for ways, _ in found)
    row = at_most if case.name in BOUNDED else _unbounded
    return [
        row(case.name, "largest way of a vertex in a frame because of its level, % of the size", worst, MOST),
        figure(case.name, "range of levels that a run covers, widest clip", max(reached for _, reached in found)),
    ]


def _unbounded(case: str, metric: str, value: float, bound: float) -> Row:
    return figure(case, metric, value)


@dataclass(frozen=True, slots=True)
class _Played:
    """A clip that is played at levels."""

    case: LevelCase
    clip: int
    keys: LocalKeys

    def posed(self, frame: float, level: float) -> Float64:
        """(v,3) at a moment of the clip and a level."""
        skin, model = self.case.levels, self.case.model
        order = skin.orders[self.clip]
        point: LevelPoint = skin.curves[self.clip].at(level)
        player = LevelPlayer(self.keys, order, plan_level(order, point.bones))
        matrices = player.prepare([frame])[0].astype(np.float64)
        weights = skin.blends.weights(point.blends).astype(np.float64)
        rest = np.concatenate([model.rest, np.ones((model.n_vertices, 1))], axis=1)
        out = np.zeros((model.n_vertices, 3))
        for k in range(skin.blends.n_blends):
            used = np.flatnonzero(weights[:, k])
            moved = np.einsum("vij,vj->vi", matrices[skin.blends.bones[used, k]], rest[used])
            out[used] += weights[used, k, None] * moved
        return out


def _run(case: LevelCase, clip: int) -> tuple[Float64, float]:
    """(f,) the largest way in every frame, as % of the size, and the range of levels that occurred."""
    model, run = case.model, case.model.clips[clip]
    played = _Played(case, clip, local_keys(model, case.levels.orders[clip], run.start, run.stop))
    rng, size = np.random.default_rng(clip), model.diagonal
    pixels, options = SIZES[0], ControllerOptions()
    state, ways, levels = ControllerState(), [], []
    for number in range(RUN):
        if rng.random() < 1 / JUMP:
            pixels = SIZES[0] + SIZES[1] - pixels
        seen = SeenCharacter(case.levels.curves[clip], pixels / size)
        after = control_levels(state, 1 / RATE, [seen], options)
        frame = (number / RATE * run.fps) % max(1, run.n_frames - 1)
        if state.levels and after.levels != state.levels:
            apart = played.posed(frame, after.levels[0]) - played.posed(frame, state.levels[0])
            ways.append(100 * float(np.linalg.norm(apart, axis=1).max()) / size)
        state = after
        levels.append(after.levels[0])
    return np.array(ways), max(levels) - min(levels)
