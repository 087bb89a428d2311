"""How far a level's bones and blends are from the model, by posing both: every clip by its own order of bones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, IntArray
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames
from osteon.lod.level_curve import LevelPoint
from osteon.lod.model_at_level import model_at_level
from osteon.lod.model_levels import Level, ModelLevels

__all__ = ["SkinMeasure", "measure_level_skin"]

#: Frames times vertices that are posed at a time, and of all clips together at most; of more every so manieth frame.
BLOCK, MOST = 2_000_000, 40_000_000


@dataclass(frozen=True, slots=True)
class SkinMeasure:
    """Distances between vertices of a level, on the model's own mesh, and those of the model; in units of the model."""

    error_percent: float  # E, of all clips
    rms: float  # of the worst clip
    worst: float


def measure_level_skin(levels: ModelLevels, level: Level, *, threads: int = 0) -> SkinMeasure:
    """Bones and blends of a level against the model itself."""
    model, point = levels.model, LevelPoint(level.bones, min(level.blends, levels.skin.blends.n_blends))
    errors, counts, worst, motion = [], [], 0.0, _MotionSum()
    for order, clip in zip(levels.skin.orders, model.clips, strict=True):
        step = max(1, -(-model.n_frames * model.n_vertices // MOST))
        frames = np.arange(0, clip.n_frames, step)
        coarse = model_at_level(model, levels.skin, order.clip, point)
        error = 0.0
        for block in np.array_split(frames, -(-len(frames) * model.n_vertices // BLOCK)):
            exact = _posed(model, clip.start + block, threads)
            squared = ((_posed(coarse, block, threads) - exact) ** 2).sum(axis=-1)
            error += float(squared.sum())
            worst = max(worst, float(squared.max(initial=0.0)))
            motion.add(exact)
        errors.append(error)
        counts.append(len(frames) * model.n_vertices)
    rms = max(np.sqrt(np.array(errors) / np.maximum(counts, 1)))
    moved = motion.total()
    return SkinMeasure(
        float(100 * np.sqrt(sum(errors) / moved)) if moved > 0 else 0.0, float(rms), float(np.sqrt(worst))
    )


def _posed(model: SkinnedModel, frames: IntArray, threads: int) -> Float64:
    few = model.take_frames(frames.astype(np.int32))
    return pose_frames(few, threads=threads).astype(np.float64)


class _MotionSum:
    """Squared distances of vertices from their means over all frames, summed up as frames come."""

    def __init__(self) -> None:
        self._count, self._sum, self._squares = 0, np.zeros((1, 3)), 0.0
        self._origin: Float64 | None = None

    def add(self, frames: Float64) -> None:
        """Frames (f,v,3); about the first of them, where digits are not lost."""
        self._origin = frames[0] if self._origin is None else self._origin
        about = frames - self._origin
        self._count += len(frames)
        self._sum = self._sum + about.sum(axis=0)
        self._squares += float((about**2).sum())

    def total(self) -> float:
        return max(0.0, self._squares - float((self._sum**2).sum()) / max(1, self._count))
