"""Levels of detail in the .npz of a model.

Arrays by name: `levels.NAME` for those of `osteon.lod`; those of coarse mesh i, named as the model's own (`rest`,
`faces`, …), as `coarse_i.NAME`. The header has `levels`: {"header", "coverage", "coarse": [header of each mesh]}.
What all meshes share, motion and pictures, is there once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from osteon.core.character import Character
from osteon.core.model import MOST_COARSE, SkinnedModel, StoredLevels, coarse_model
from osteon.io.archives.archive import Archive, HeldArrays, open_archive
from osteon.io.archives.model_npz import MODEL_FORMAT, pack_model, unpack_model, write_packed
from osteon.io.formats.options import SaveOptions
from osteon.io.load.source import Source
from osteon.io.metadata.asset import damage_named
from osteon.io.metadata.baked import position_ranks, without_normals

__all__ = ["read_npz_levels", "write_npz_levels"]

#: What coarse meshes take from the model, besides its pictures.
SHARED = ("transforms", "coefficients", "joint_parents", "world_from_joint")
#: What the header says of a mesh alone.
_OF_MESH = ("name", "primitive_names")


def write_npz_levels(path: Path, model: SkinnedModel, options: SaveOptions, levels: StoredLevels) -> None:
    """All of a model and its levels; `read_npz_levels` gives the levels back, `read_npz_model` the model."""
    levels.check_fit(model)
    ranks = position_ranks(model)

    def shown(each: SkinnedModel) -> SkinnedModel:
        return each if options.normals else without_normals(each, ranks)

    arrays, header = pack_model(shown(model))
    arrays |= {f"levels.{name}": array for name, array in levels.arrays.items()}
    stored: dict[str, Any] = {"header": dict(levels.header), "coverage": list(levels.coverage), "coarse": []}
    for number, character in enumerate(levels.coarse, 1):
        own, words = pack_model(shown(coarse_model(model, character)))
        arrays |= {f"coarse_{number}.{name}": array for name, array in own.items() if not _is_shared(name)}
        stored["coarse"].append({key: words[key] for key in _OF_MESH})
    write_packed(path, arrays, header | {"levels": stored}, options)


def _is_shared(name: str) -> bool:
    return name in SHARED or name.startswith("image_")


def read_npz_levels(path: Path) -> StoredLevels | None:
    """The levels in an .npz of a model; None if there are none."""
    source = Source(path)
    with open_archive(source) as archive:
        header = archive.header() if archive.text("format") == MODEL_FORMAT else {}
        if "levels" not in header:
            return None
        with damage_named(source):
            stored = header["levels"]
            arrays, coverage = _named(archive, "levels."), tuple(float(part) for part in stored["coverage"])
            return StoredLevels(arrays, dict(stored["header"]), _coarse(archive, header, stored["coarse"]), coverage)


def _coarse(archive: Archive, header: dict[str, Any], stored: list[dict[str, Any]]) -> tuple[Character, ...]:
    """The coarse meshes, each with its own header in place of the model's."""
    if len(stored) > MOST_COARSE:
        raise ValueError(f"{len(stored)} coarse meshes, expected {MOST_COARSE} at most")
    shared = {name: archive.array(name) for name in archive.names if stored and _is_shared(name)}
    found = []
    for number, words in enumerate(stored, 1):
        held = HeldArrays(archive.source, shared | _named(archive, f"coarse_{number}."))
        found.append(unpack_model(held, header | words).character)
    return tuple(found)


def _named(archive: Archive, prefix: str) -> dict[str, NDArray[Any]]:
    """Arrays whose names begin so, without that."""
    return {name.removeprefix(prefix): archive.array(name) for name in archive.names if name.startswith(prefix)}
