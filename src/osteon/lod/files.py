"""Models with levels in files: `load_model` reads the model alone from the same file."""

from __future__ import annotations

from pathlib import Path

from osteon.core.errors import GeometryError
from osteon.io import SaveOptions, load_model, load_stored_levels, save_stored_levels
from osteon.io.engines import GLTF, engine_of
from osteon.io.formats.engine_facts import writes_coarse
from osteon.io.formats.options import DEFAULT_SAVE_OPTIONS
from osteon.io.load.source import PathLike
from osteon.lod.model_levels import ModelLevels

__all__ = ["load_levels", "save_levels"]


def save_levels(levels: ModelLevels, path: PathLike, *, options: SaveOptions = DEFAULT_SAVE_OPTIONS) -> None:
    """Write a model with its levels as .glb, .gltf or .npz; stock players show the model.

    A glTF for an engine that shows all meshes of a file at once has only the model's own.
    """
    if Path(path).suffix.lower() in GLTF and not writes_coarse(engine_of(options.engine)):
        levels = levels.on_own_mesh()
    save_stored_levels(levels.model, levels.to_stored(), path, options=options)


def load_levels(path: PathLike) -> ModelLevels | None:
    """The model in a file with its levels; None if it has none."""
    stored = load_stored_levels(path)
    if stored is None:
        return None
    try:
        return ModelLevels.from_stored(load_model(path), stored)
    except GeometryError as error:
        raise GeometryError(str(error) if str(error).startswith(str(path)) else f"{path}: {error}") from error
