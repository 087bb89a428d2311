"""Levels as models of their own: which one a number means, how far it is from its source, how large its file is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.lod_options import LodOptions
from osteon.core.model import SkinnedModel
from osteon.core.option_checks import drop_unused
from osteon.io import SaveOptions, save_model
from osteon.io.save.atomic import scratch_folder
from osteon.lod.model_levels import Level, ModelLevels
from osteon.lod.skin_errors import skin_errors
from osteon.pipeline.level_measures import measure_models
from osteon.pipeline.levels import LevelsFit

__all__ = ["BakedLevel", "bake_found", "file_sizes", "level_at", "stored_fit"]


@dataclass(frozen=True, slots=True)
class BakedLevel:
    """A level alone."""

    level: Level
    model: SkinnedModel
    error_percent: float  # E of bones and blends, in percent of the motion
    rms_percent: float  # root mean square distance in the worst clip, of the body's size; that of the mesh besides
    worst_percent: float


def bake_found(found: LevelsFit, level: Level) -> BakedLevel:
    """A level alone, measured against the model: one order of bones must do for all clips, and blends share a rest."""
    levels = found.levels
    baked, source = levels.baked(level), levels.mesh_model(level.mesh)
    skin, size = measure_models(source, baked), levels.model.diagonal or 1.0
    rms = float(np.hypot(100 * skin.rms / size, level.mesh_rms_percent))
    worst = 100 * skin.worst / size + level.mesh_worst_percent
    return BakedLevel(level, baked, skin.error_percent, rms, worst)


def level_at(found: LevelsFit, share: float) -> Level:
    """The level that costs a part 0 … 1 of what bones and blends cost at most, on the model's own mesh."""
    point = found.errors.curve_of_all().at(share)
    return Level(round(point.bones), round(point.blends), 0, len(found.levels.model.faces))


def stored_fit(levels: ModelLevels, options: LodOptions) -> LevelsFit:
    """Levels that were read from a file, as if they had just been found."""
    return LevelsFit(levels, skin_errors(levels.model, levels.skin), (), (), True, (), {}, options)


def file_sizes(levels: ModelLevels, options: SaveOptions) -> tuple[int, ...]:
    """Bytes of every level alone, as a .glb."""
    used = drop_unused(options, written=".glb")
    with scratch_folder() as folder:
        path = folder / "level.glb"
        sizes = []
        for level in levels.levels:
            save_model(levels.baked(level), path, options=used)
            sizes.append(path.stat().st_size)
    return tuple(sizes)
