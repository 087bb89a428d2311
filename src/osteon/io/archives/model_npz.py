"""A skinned model in an .npz, whole and versioned.

Arrays by name: rest (v,3), faces (t,3), bones and weights (v,k), transforms (f,b,3,4); basis (r,v,3), coefficients
(f,r) and normal_basis (r,v,3) of the corrections, if there are any; joint_parents (j,) and world_from_joint (j,3,4) if
there is a skeleton; those of the asset that are there. A deformer other than linear blending has its arrays under
KIND_NAME, and `fallback_bones`, `fallback_weights` if it has a fallback. All that is not an array is JSON text under
`header`. Nothing needs a pickle.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Animation, BoneTrack
from osteon.core.character import Character, Skeleton
from osteon.core.mesh import Mesh
from osteon.core.model import MOST_COARSE, SkinnedModel, StoredLevels, StoredLight, coarse_model
from osteon.io.archives.archive import Archive, HeldArrays, NamedArrays, open_archive, pack_header, write_archive
from osteon.io.archives.sequences import MODEL_FORMAT, check_version
from osteon.io.formats.format_types import LevelFiles, LightFiles, ModelFormat
from osteon.io.formats.options import SaveOptions
from osteon.io.load.source import Source, quote
from osteon.io.metadata.asset import damage_named, pack_asset, pack_clips, unpack_asset, unpack_clips
from osteon.io.metadata.families import PLAIN_KINDS, family_arrays, read_deformer, read_displacement, read_fallback

__all__ = [
    "MODEL_FORMAT",
    "MODEL_VERSION",
    "NPZ_MODEL",
    "holds_npz_model",
    "pack_model",
    "read_npz_levels",
    "read_npz_model",
    "unpack_model",
    "write_npz_levels",
    "write_npz_model",
    "write_packed",
]

Family = TypeVar("Family")

#: Version 2 is for deformers other than linear blending; all other models are written as version 1.
MODEL_VERSION = 2
SKIN_ARRAYS = ("bones", "weights")
BASIS_ARRAYS = ("basis", "normal_basis")


def write_npz_model(path: Path, model: SkinnedModel, options: SaveOptions) -> None:
    """All of `model`; `read_npz_model` returns the same."""
    from osteon.io.metadata.baked import without_normals  # compiled kernels: only where a model is written

    write_packed(path, *pack_model(model if options.normals else without_normals(model)), options)


def write_packed(path: Path, arrays: dict[str, NDArray[Any]], header: dict[str, Any], options: SaveOptions) -> None:
    """The result of `pack_model`, with format and version."""
    if not options.normals:
        arrays = {name: array for name, array in arrays.items() if "normal_basis" not in name}
    version = MODEL_VERSION if "deformer" in header else 1
    stamp: dict[str, NDArray[Any]] = {"format": np.array(MODEL_FORMAT), "version": np.array(version)}
    write_archive(path, stamp | arrays | {"header": pack_header(header)})


def pack_model(model: SkinnedModel) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """All arrays of a model, and its other data as JSON."""
    arrays, header = pack_asset(model.asset)
    header |= {
        "name": model.name,
        "clips": pack_clips(model.clips),
        "bone_type": model.track.bone_type,
        "bone_names": list(model.track.names),
        "joint_names": list(model.skeleton.names) if model.skeleton is not None else [],
    }
    arrays |= {"rest": model.rest, "faces": model.faces, "transforms": model.track.transforms}
    character, coefficients = model.character, model.animation.coefficients
    arrays |= family_arrays(character)
    if coefficients is not None:
        arrays["coefficients"] = coefficients
    if model.skeleton is not None:
        arrays |= {"joint_parents": model.skeleton.parents, "world_from_joint": model.skeleton.world_from_joint}
    kinds = [character.deformer.kind, *(displacement.kind for displacement in character.displacements)]
    if not set(kinds) <= set(PLAIN_KINDS) or character.fallback is not None:
        header |= {"deformer": kinds[0], "displacements": kinds[1:]}
    return arrays, header


def holds_npz_model(path: Path) -> bool:
    """Whether an .npz holds a skinned model, rather than a mesh or a sequence."""
    with open_archive(Source(path)) as archive:
        return archive.text("format") == MODEL_FORMAT


def read_npz_model(path: Path) -> SkinnedModel:
    """The model that `write_npz_model` wrote. Other versions are refused by name."""
    source = Source(path)
    with open_archive(source) as archive:
        found = archive.text("format")
        if found != MODEL_FORMAT:
            what = quote(found) if found else "no format name"
            raise source.format_error(
                f"is no skinned model: it holds {what}, expected '{MODEL_FORMAT}'; make one with osteon skin"
            )
        check_version(archive, MODEL_FORMAT, 1, MODEL_VERSION)
        header = archive.header()
        with damage_named(source):
            return unpack_model(archive, header)


def unpack_model(archive: NamedArrays, header: dict[str, Any]) -> SkinnedModel:
    """The inverse of `pack_model`."""
    names = tuple(str(name) for name in header["bone_names"])
    track = BoneTrack(archive.array("transforms"), header["bone_type"], names)
    mesh = Mesh(archive.array("rest"), archive.array("faces"), unpack_asset(archive, header), str(header["name"]))
    deformer = _family(archive, str(header.get("deformer", "linear_blend")), SKIN_ARRAYS, read_deformer)
    kinds = header.get("displacements", ["corrections"] if "basis" in archive else [])
    displacements = tuple(_family(archive, str(kind), BASIS_ARRAYS, read_displacement) for kind in kinds)
    coefficients = archive.array("coefficients") if "corrections" in kinds else None
    animation = Animation(track, unpack_clips(header["clips"]), coefficients)
    fallback = read_fallback(archive.names, archive.array)
    return SkinnedModel(Character(mesh, deformer, displacements, _skeleton(archive, header), fallback), animation)


def _family(archive: NamedArrays, kind: str, plain: tuple[str, ...], read: Callable[..., Family]) -> Family:
    """A deformer or displacement; those of old kinds have arrays of fixed names."""
    names = [name for name in plain if name in archive] if kind in PLAIN_KINDS else archive.names
    return read(kind, names, archive.array)


def _skeleton(archive: NamedArrays, header: dict[str, Any]) -> Skeleton | None:
    if "joint_parents" not in archive:
        return None
    names = tuple(str(name) for name in header["joint_names"])
    return Skeleton(names, archive.array("joint_parents"), archive.array("world_from_joint"))


# Levels of detail in the same file. Arrays by name: `levels.NAME` for those of `osteon.lod`; those of coarse mesh i,
# named as the model's own (`rest`, `faces`, …), as `coarse_i.NAME`. The header has
# `levels`: {"header", "coverage", "coarse": [header of each mesh]}. Shared data, motion and images, is stored once.

#: What coarse meshes take from the model, besides its pictures.
SHARED = ("transforms", "coefficients", "joint_parents", "world_from_joint")
#: Keys of the header that each mesh has.
_OF_MESH = ("name", "primitive_names")


def write_npz_levels(path: Path, model: SkinnedModel, options: SaveOptions, levels: StoredLevels) -> None:
    """All of a model and its levels; `read_npz_levels` returns the levels, `read_npz_model` the model."""
    write_packed(path, *_pack_levels(model, options, levels), options)


def _pack_levels(
    model: SkinnedModel, options: SaveOptions, levels: StoredLevels
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """All arrays of a model and its levels, and their other data as JSON."""
    levels.check_fit(model)
    from osteon.io.metadata.baked import position_ranks, without_normals

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
    return arrays, header | {"levels": stored}


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


# Precomputed light in the same file: arrays as `light.NAME`, the header under `light`.


def write_npz_light(
    path: Path, model: SkinnedModel, options: SaveOptions, levels: StoredLevels | None, light: StoredLight
) -> None:
    """All of a model with its light, and perhaps its levels; `read_npz_light` returns the light."""
    from osteon.io.metadata.baked import without_normals

    if levels is None:
        arrays, header = pack_model(model if options.normals else without_normals(model))
    else:
        arrays, header = _pack_levels(model, options, levels)
    arrays |= {f"light.{name}": array for name, array in light.arrays.items()}
    write_packed(path, arrays, header | {"light": dict(light.header)}, options)


def read_npz_light(path: Path) -> StoredLight | None:
    """The light in an .npz of a model; None if there is none."""
    source = Source(path)
    with open_archive(source) as archive:
        header = archive.header() if archive.text("format") == MODEL_FORMAT else {}
        if "light" not in header:
            return None
        with damage_named(source):
            return StoredLight(_named(archive, "light."), dict(header["light"]))


NPZ_MODEL = ModelFormat(
    *(".npz", "NumPy archive", holds_npz_model, read_npz_model, write_npz_model),
    further_sets=True,
    levels=LevelFiles(read_npz_levels, write_npz_levels),
    light=LightFiles(read_npz_light, write_npz_light),
)
