"""Files for Cesium, which has room for 16 attributes per vertex."""

from __future__ import annotations

from pathlib import Path

from osteon.io import SaveOptions, load_model, save_model
from osteon.io.engines import engine_of
from osteon.io.formats.engine_facts import file_facts


def for_cesium(path: Path, folder: Path) -> Path:
    """The file itself, or the same model written for Cesium where it has more attributes than fit."""
    model = load_model(path)
    if engine_of("cesium").has_room(file_facts(model, ".glb", SaveOptions()).attributes):
        return path
    written = folder / f"{path.stem}-cesium.glb"
    save_model(model, written, options=SaveOptions(engine="cesium"))
    return written
