"""Which engines show the file of a model as computed, from its properties, counted as the writer writes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osteon.core.model import SkinnedModel
from osteon.core.options import drop_unused
from osteon.io.engines import GLTF, USD, Engine, EngineName, FileFacts, Played, engine_of, played_rows, where_it_plays
from osteon.io.formats.options import SaveOptions
from osteon.io.meshes.mesh import single_normals
from osteon.io.metadata.baked import baked_model


def file_facts(model: SkinnedModel, suffix: str, options: SaveOptions, *, coarse_meshes: bool = False) -> FileFacts:
    """The facts of a file of this suffix that holds the model, perhaps with coarser meshes beside it."""
    model, gltf = baked_model(model), suffix in GLTF
    each = target_attributes(model, options) if gltf else 0
    coarse = gltf and coarse_meshes and writes_coarse(engine_of(options.engine))
    used = int((model.skin.weights > 0).sum(axis=1).max(initial=0))
    return FileFacts(
        suffix=suffix,
        bone_type=model.track.bone_type,
        influences=used,
        targets=model.rank,  # an engine without those of normals shows all positions
        attributes=_attributes(model, options) + model.n_columns * each if gltf else 0,
        vertices=model.n_vertices,
        quantized_positions=gltf and options.whole_numbers,
        short_rotations=gltf
        and (options.short_rotations or (options.compress and packs_rotations(engine_of(options.engine)))),
        meshopt=gltf and options.compress,
        coarse_meshes=coarse,
        coarse_channels=coarse and model.n_columns > 0 and engine_of(options.engine).hidden_channels,
        keys_between=gltf and model.track.bone_type == "flexible" and writes_between(engine_of(options.engine)),
    )


def writes_between(engine: Engine) -> bool:
    """Whether bones of two nodes get keys between frames: for engines that play them, and for `any`."""
    return engine.keys_between or engine.name == "any"


def writes_coarse(engine: Engine) -> bool:
    """Whether coarse meshes are written; an engine that is named and would show them at once gets none."""
    return engine.hidden_nodes


def packs_rotations(engine: Engine) -> bool:
    """Whether a compressed file has rotations of 16 bits; `any` refuses nothing."""
    return engine.short_rotations or engine.name == "any"


def target_attributes(model: SkinnedModel, options: SaveOptions) -> int:
    """The number of attributes of a morph target: two if it has normals and the named engine has room for them."""
    corrections = model.corrections
    if not options.normals or corrections is None or corrections.normal_basis is None:
        return 1
    engine = engine_of(options.engine)
    if engine.normals == "the surface" and not engine.normal_targets:
        return 1
    return 2 if engine.name == "any" or engine.has_room(_attributes(model, options) + 2 * model.n_columns) else 1


def _attributes(model: SkinnedModel, options: SaveOptions) -> int:
    """Of a vertex, without morph targets."""
    asset = model.asset
    tangents = options.normals and asset.uvs is not None and any(m.texture("normal") for m in asset.materials)
    sets = 1 if model.skin.n_influences <= 4 else 2
    more = len(asset.more_uvs) + len(asset.more_colors)
    return 1 + 2 * sets + more + sum([options.normals, tangents, asset.uvs is not None, asset.colors is not None])


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
