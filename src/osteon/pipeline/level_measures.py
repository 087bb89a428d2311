"""Errors of the bones and blends of a level, by posing both, and the time that fewer bones save."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64, IntArray
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames
from osteon.io import load_model, save_model
from osteon.io.save.atomic import scratch_folder
from osteon.lod.level_player import LevelPlayer, local_keys, plan_level
from osteon.lod.mesh.simplify import LevelError, measure_level
from osteon.lod.model_levels import Level, ModelLevels, model_at_level
from osteon.lod.progressive_skin import LevelPoint
from osteon.measure.shading import stock_shown

#: Frames times vertices that are posed at a time, and of all clips together at most; of more, every n-th frame.
BLOCK, MOST = 2_000_000, 40_000_000


@dataclass(frozen=True, slots=True)
class SkinMeasure:
    """Distances between vertices of a level, on the model's own mesh, and those of the model; in units of the model."""

    error_percent: float  # E, of all clips
    rms: float  # of the worst clip
    worst: float


def measure_level_skin(levels: ModelLevels, level: Level, *, threads: int = 0) -> SkinMeasure:
    """Bones and blends of a level against the model itself, on the model's own mesh; every clip by its own order."""
    model, point = levels.model, LevelPoint(level.bones, min(level.blends, levels.skin.blends.n_blends))
    clips = (model_at_level(model, levels.skin, order.clip, point) for order in levels.skin.orders)
    return _measured(model, clips, threads)


def measure_models(model: SkinnedModel, other: SkinnedModel, *, threads: int = 0) -> SkinMeasure:
    """A model against another with as many vertices and the same clips."""
    runs = (np.arange(clip.start, clip.stop, dtype=np.int32) for clip in other.clips)
    return _measured(model, (other.take_frames(run) for run in runs), threads)


@dataclass(frozen=True, slots=True)
class MeshError:
    """The error of a mesh with all bones, in units of the model."""

    rms: float
    worst: float

    @staticmethod
    def of(error: LevelError) -> MeshError:
        return MeshError(error.rms, error.worst.distance)


#: Frames of every clip in which surfaces are compared, and frames times vertices: small models are compared in more.
#: With 8 frames the worst distance that was printed for CesiumMan was exceeded by a sixth in others.
SURFACE_FRAMES, SURFACE_WORK = 8, 150_000


def measure_shown(
    source: SkinnedModel, whole: SkinnedModel, shown: SkinnedModel, mesh: MeshError | None, *, threads: int = 0
) -> SkinMeasure:
    """A level as its file shows it against the source; `whole` is its mesh with all bones, `mesh` the error of that.

    The squares of both errors are added. That bounds the distance of the surfaces, unless both have the same cause; so
    the surfaces are compared too, in some frames, and the larger figure counts.
    """
    skin = measure_models(whole, shown, threads=threads)
    if mesh is None:
        return skin
    rms, worst = float(np.hypot(skin.rms, mesh.rms)), skin.worst + mesh.worst
    beside = np.full(source.n_vertices, -1, np.int32)
    for clip in source.clips:
        count = min(clip.n_frames, max(SURFACE_FRAMES, SURFACE_WORK // max(1, source.n_vertices)))
        frames = np.unique(np.linspace(clip.start, clip.stop - 1, count).round().astype(np.int32))
        apart = measure_level(source, shown, beside, frames, threads=threads)
        rms, worst = max(rms, apart.rms), max(worst, apart.worst.distance)
    return SkinMeasure(skin.error_percent, rms, worst)


def shown_by_players(model: SkinnedModel) -> SkinnedModel:
    """The model as a stock player shows its file: written and read back, and with its fallback if it has one."""
    with scratch_folder() as folder:
        path = folder / "level.glb"
        save_model(model, path)
        return stock_shown(load_model(path))


def _measured(model: SkinnedModel, clips: Iterable[SkinnedModel], threads: int) -> SkinMeasure:
    """The model against a representation of each of its clips."""
    errors, counts, worst, motion = [], [], 0.0, _MotionSum()
    step = max(1, -(-model.n_frames * model.n_vertices // MOST))
    for clip, other in zip(model.clips, clips, strict=True):
        frames = np.arange(0, clip.n_frames, step)
        error = 0.0
        for block in np.array_split(frames, -(-len(frames) * model.n_vertices // BLOCK)):
            exact = _posed(model, clip.start + block, threads)
            squared = ((_posed(other, block, threads) - exact) ** 2).sum(axis=-1)
            error += float(squared.sum())
            worst = max(worst, float(squared.max(initial=0.0)))
            motion.add(exact)
        errors.append(error)
        counts.append(len(frames) * model.n_vertices)
    rms = max(np.sqrt(np.array(errors) / np.maximum(counts, 1)))
    moved = motion.total()
    percent = float(100 * np.sqrt(sum(errors) / moved)) if moved > 0 else 0.0
    return SkinMeasure(percent, float(rms), float(np.sqrt(worst)))


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


# The measured time of computing the matrices of a character, by the number of active bones.
#
# Interpolation of keys, kinematics, bind matrices and whatever bones follow, as `level_player` does it for a crowd.
#
# Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 3.1 and figure 6.
# Differs from the paper: it reports frames per second of a whole program; here only the cost of bones is timed.

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
