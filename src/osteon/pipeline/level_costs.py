"""What fewer bones save: the measured time that the matrices of a character take, by how many bones are active.

Interpolation of keys, kinematics, bind matrices and whatever bones follow, as `level_player` does it for a crowd.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 3.1 and figure 6.
Differs from the paper: it tells frames a second of a whole program; here only that part is timed which bones cost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.lod.level_player import LevelPlayer, plan_level
from osteon.lod.local_keys import local_keys
from osteon.lod.model_levels import ModelLevels

__all__ = ["BoneCosts", "measure_costs"]

#: Characters that are prepared by a call, counts of bones that are timed, and how often; the shortest time counts.
CROWD, COUNTS, REPEATS = 64, 12, 5


@dataclass(frozen=True, slots=True)
class BoneCosts:
    """Times of one clip."""

    clip: str
    bones: Int64  # (m,) active
    microseconds: Float64  # (m,) a character


def measure_costs(levels: ModelLevels) -> BoneCosts:
    """The longest clip, from one bone to all; its frames are spread over the characters."""
    model = levels.model
    number = int(np.argmax([clip.n_frames for clip in model.clips]))
    clip, order = model.clips[number], levels.skin.orders[number]
    keys = local_keys(model, order, clip.start, clip.stop)
    frames = np.linspace(0, clip.n_frames - 1, CROWD)
    counts = np.unique(np.linspace(1, order.n_ordered, COUNTS).round().astype(np.int64))
    players = [LevelPlayer(keys, order, plan_level(order, int(count))) for count in counts]
    least = np.full(len(counts), np.inf)
    for _ in range(REPEATS):
        for i, player in enumerate(players):
            began = time.perf_counter()
            player.prepare(frames)
            least[i] = min(least[i], time.perf_counter() - began)
    return BoneCosts(clip.name, counts, 1e6 * least / CROWD)
