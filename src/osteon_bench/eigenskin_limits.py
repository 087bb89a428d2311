"""Limits of EigenSkin's figures, measured: what could be reached if one part were perfect.

- Best coefficients: the same columns, and for each unseen pose the coefficients that are best for it.
- Nothing cut off: as many columns as there are poses, on all vertices, without a limit per vertex; what is left is the
  choice of training poses and the interpolation between them. For the paper's preset that is all that single joints
  explain, without pairs.
- Time: posing with coefficients that are known already, so without radial basis functions; and with displaced points
  that are known already, so that only the skin is computed, from points that differ in each frame.

Notes, built-in hand, % removed, mean and worst. Default: 92.0, 89.5; with the best coefficients 94.1, 92.4; with
nothing cut off 94.3, 91.0, so the bounds of 94 and 90 leave 0.3 and 1.0 points for the choice of columns and for the
limit of ten per vertex. Paper: 80.4; the best coefficients of the same columns 82.0, below the bound of 84; all that
single joints explain 87.1. Time, five per joint: the columns cost 10 % of the skin, the rest of what is added are the
radial basis functions.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from osteon.core.model import SkinnedModel
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.pose import ColumnMotion, pose_points
from osteon.io.poses.pose_set import PoseSet
from osteon.pipeline.eigenskin import LearnedSkin
from osteon_bench.rows import Row, figure

#: Repetitions of each time; the fastest counts.
REPEATS = 15


def limit_rows(
    case: str, poses: PoseSet, usual: LearnedSkin, printed: LearnedSkin, learn: Callable[..., LearnedSkin]
) -> list[Row]:
    """Limits of the share of the skin's error that is removed in unseen poses, mean and worst."""
    whole = {"per_joint": 1000, "support": 0.0, "limit": 0, "eigennormals": 0}
    found = {
        "default, these columns with the best coefficients": _share(usual, best=True),
        "default, nothing cut off": _share(learn(poses, **whole, per_pair=1000)),
        "paper, these columns with the best coefficients": _share(printed, best=True),
        "paper, nothing cut off: all that single joints explain": _share(learn(poses, **whole, preset="paper")),
    }
    rows = []
    for name, (mean, worst) in found.items():
        rows += [
            figure(case, f"limit of {name}, % removed", mean),
            figure(case, f"limit of {name}, % removed in the worst pose", worst),
        ]
    return rows


def _share(learned: LearnedSkin, *, best: bool = False) -> tuple[float, float]:
    assert learned.validation is not None
    removed = 100 * (learned.validation.limit if best else learned.validation.removed)
    return float(removed.mean()), float(removed.min())


def cost_limit_rows(case: str, model: SkinnedModel, threads: int) -> list[Row]:
    """Times over that of the skin alone, in one run, alternately."""
    displacement = model.character.displacement(EigenSkin.kind)
    assert isinstance(displacement, EigenSkin)
    rest = model.rest.astype(np.float64)[None]
    bones = model.track.transforms
    columns = displacement.by_vertex()
    known = ColumnMotion(columns, displacement.position_coefficients(model.animation))
    moved = np.zeros((model.n_vertices, 3, model.n_frames), np.float32)
    columns.add(known.of_frames(0, model.n_frames), 0, moved)
    displaced = np.ascontiguousarray(rest + moved.transpose(2, 0, 1))
    plain = replace(model.character, displacements=()).deformer
    works: dict[str, Callable[[], object]] = {
        "skin": lambda: pose_points(plain, rest, bones, threads=threads),
        "known coefficients": lambda: pose_points(plain, rest, bones, threads=threads, moved_by=[known]),
        "known displaced points": lambda: pose_points(plain, displaced, bones, threads=threads),
    }
    seconds = {name: float("inf") for name in works}
    for _ in range(REPEATS):
        for name, work in works.items():
            started = time.perf_counter()
            work()
            seconds[name] = min(seconds[name], time.perf_counter() - started)
    return [
        figure(case, f"limit of five a joint: time with {name} / of the skin alone", seconds[name] / seconds["skin"])
        for name in works
        if name != "skin"
    ]
