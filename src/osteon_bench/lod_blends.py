"""Rows about fewer blends: the order of slots compared with keeping the largest weights, renormalised."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.lod.search.fit_blends import slot_grams
from osteon.lod.search.pair_moments import motion_grams
from osteon.lod.search.skin_motion import read_skin_motion
from osteon_bench.lod import LevelCase
from osteon_bench.rows import Row, at_most, figure

__all__ = ["blend_rows"]

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
