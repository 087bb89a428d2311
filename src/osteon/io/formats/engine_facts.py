"""The properties of a model on which support by engines depends, counted as the writer writes them."""

from __future__ import annotations

from osteon.core.model import SkinnedModel
from osteon.io.engines import GLTF, Engine, FileFacts, engine_of
from osteon.io.formats.options import SaveOptions
from osteon.io.metadata.baked import baked_model


def file_facts(model: SkinnedModel, suffix: str, options: SaveOptions, *, coarse_meshes: bool = False) -> FileFacts:
    """The facts of a file of this suffix that holds the model, perhaps with coarser meshes beside it."""
    model, gltf = baked_model(model), suffix in GLTF
    each = target_attributes(model, options) if gltf else 0
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
        coarse_meshes=gltf and coarse_meshes and writes_coarse(engine_of(options.engine)),
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
