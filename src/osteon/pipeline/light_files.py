"""Precomputed light in the files of models: with the colours that stock players show, and with levels of detail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from osteon.apply.light.model_light import ModelLight
from osteon.apply.light.options import LightColorOptions
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel, StoredLevels
from osteon.io import SaveOptions, load_stored_light, save_stored_light
from osteon.io.engines import GLTF, engine_of
from osteon.io.formats.engine_facts import writes_coarse
from osteon.io.formats.options import DEFAULT_SAVE_OPTIONS
from osteon.io.load.source import PathLike
from osteon.pipeline.light import shown_colors

DEFAULT_COLORS = LightColorOptions()


def load_light(path: PathLike) -> ModelLight | None:
    """The precomputed light in the file of a model; None if it has none."""
    stored = load_stored_light(path)
    if stored is None:
        return None
    try:
        return ModelLight.from_stored(stored)
    except GeometryError as error:
        raise GeometryError(f"{path}: {error}") from error


def save_light(
    model: SkinnedModel,
    light: ModelLight,
    path: PathLike,
    *,
    levels: StoredLevels | None = None,
    colors: LightColorOptions = DEFAULT_COLORS,
    options: SaveOptions = DEFAULT_SAVE_OPTIONS,
) -> None:
    """Write a model with its light, its levels if it has any, and vertex colours for stock players.

    A glTF for an engine that shows all meshes of a file at once has only the model's own.
    """
    light.check_fit(model)
    if Path(path).suffix.lower() in GLTF and levels is not None and not writes_coarse(engine_of(options.engine)):
        levels, light = replace(levels, coarse=(), coverage=()), replace(light, coarse=())
    changing = light.baked is not None or light.is_occlusion
    morphed = colors.colors == "morphed" or (colors.colors == "auto" and options.engine == "web" and changing)
    has_colors = light.is_occlusion or bool(light.environments)
    shown = shown_colors(model, light, colors, morphed=morphed) if has_colors else ()
    save_stored_light(model, replace(light.stored(), shown=shown), path, levels=levels, options=options)
