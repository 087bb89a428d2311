"""Which engines show the files of a model as computed, for the tables and the JSON of commands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osteon.core.model import SkinnedModel
from osteon.core.options import drop_unused
from osteon.io.engines import GLTF, USD, EngineName, Played, engine_of, played_rows, where_it_plays
from osteon.io.formats.engine_facts import file_facts, target_attributes
from osteon.io.formats.options import SaveOptions
from osteon.io.meshes.mesh import single_normals
from osteon.io.metadata.baked import baked_model


@dataclass(frozen=True, slots=True)
class FilePlays:
    """The result of a file in every engine that reads it."""

    path: str
    played: tuple[Played, ...]
    error_without: float | None  # E % without corrections; None where there are none


def file_plays(
    model: SkinnedModel,
    outputs: Iterable[str],
    options: SaveOptions,
    error_without: float | None,
    *,
    coarse_meshes: bool = False,
) -> list[FilePlays]:
    """One entry for each output that some engine reads."""
    found = []
    for path in outputs:
        suffix = Path(path).suffix.lower()
        used = drop_unused(options, written=suffix)
        played = where_it_plays(file_facts(model, suffix, used, coarse_meshes=coarse_meshes))
        if played:
            found.append(FilePlays(path, played, error_without))
    return found


def plays_json(files: list[FilePlays]) -> list[dict[str, Any]]:
    """One entry for each file and engine: whether it plays as computed, and why not."""
    return [
        {
            "file": file.path,
            "engine": played.engine.name,
            "plays": played.exact,
            "why": [*played.lacks, *(["no corrections"] if played.without_corrections else [])],
            "error_percent": file.error_without if played.without_corrections and not played.lacks else None,
            "known": played.engine.evidence,
            "import_settings": played.engine.cure,
        }
        for file in files
        for played in file.played
    ]


def plays_rows(files: list[FilePlays]) -> list[tuple[str, str]]:
    """Rows of the table: the engines that play a file, then the others with the reason."""
    rows = []
    for file in files:
        start = f"{file.path}: " if len(files) > 1 else ""
        rows += [(name, start + text) for name, text in played_rows(file.played, file.error_without)]
    return rows


def engine_notes(model: SkinnedModel, files: list[FilePlays], options: SaveOptions) -> list[str]:
    """Notes about the engine of --for, and about corrections of normals that are omitted."""
    notes, model = [], baked_model(model)
    for played in (played for file in files for played in file.played if played.engine.name == options.engine):
        for why in played.lacks:
            notes.append(f"--for {options.engine}: {played.engine.title} does not show {why} as computed")
    corrections, gltf = model.corrections, any(Path(file.path).suffix.lower() in GLTF for file in files)
    had = options.normals and corrections is not None and corrections.normal_basis is not None
    if gltf and had and target_attributes(model, options) == 1:
        notes.append(_few_attributes(model.n_columns, options.engine))
    usd = any(Path(file.path).suffix.lower() in USD for file in files)
    own = model.asset.normals
    if usd and had and own is not None and not single_normals(model.faces, own):
        notes.append(
            "USD has one normal offset per vertex, and vertices on hard edges have several normals, so the corrections "
            "of normals are omitted there; .glb keeps them"
        )
    return notes


def _few_attributes(rank: int, name: EngineName) -> str:
    most = engine_of(name).vertex_attributes
    if most is None:
        return f"--for {name}: {engine_of(name).title} shades the surface it moves; corrections of normals are omitted"
    return (
        f"{rank} corrections with normals need more than {most} attributes per vertex, so they correct positions only; "
        "--for web keeps their normals"
    )
