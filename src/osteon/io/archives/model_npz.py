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
from osteon.core.model import SkinnedModel
from osteon.io.archives.archive import NamedArrays, open_archive, pack_header, write_archive
from osteon.io.archives.sequence_npz import MODEL_FORMAT, check_version
from osteon.io.formats.format_types import LevelFiles, ModelFormat, WhenCalled
from osteon.io.formats.options import SaveOptions
from osteon.io.load.source import Source, quote
from osteon.io.metadata.asset import damage_named, pack_asset, pack_clips, unpack_asset, unpack_clips
from osteon.io.metadata.baked import without_normals
from osteon.io.metadata.families import PLAIN_KINDS, family_arrays, read_deformer, read_displacement, read_fallback

__all__ = [
    "MODEL_FORMAT",
    "MODEL_VERSION",
    "NPZ_MODEL",
    "holds_npz_model",
    "pack_model",
    "read_npz_model",
    "unpack_model",
    "write_npz_model",
    "write_packed",
]

Family = TypeVar("Family")

#: Version 2 is one that holds another deformer than linear blending; what version 1 can say is written as version 1.
MODEL_VERSION = 2
SKIN_ARRAYS = ("bones", "weights")
BASIS_ARRAYS = ("basis", "normal_basis")


def write_npz_model(path: Path, model: SkinnedModel, options: SaveOptions) -> None:
    """All of `model`; `read_npz_model` gives the same back."""
    write_packed(path, *pack_model(model if options.normals else without_normals(model)), options)


def write_packed(path: Path, arrays: dict[str, NDArray[Any]], header: dict[str, Any], options: SaveOptions) -> None:
    """What `pack_model` made, with its stamp."""
    if not options.normals:
        arrays = {name: array for name, array in arrays.items() if "normal_basis" not in name}
    version = MODEL_VERSION if "deformer" in header else 1
    stamp: dict[str, NDArray[Any]] = {"format": np.array(MODEL_FORMAT), "version": np.array(version)}
    write_archive(path, stamp | arrays | {"header": pack_header(header)})


def pack_model(model: SkinnedModel) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """All arrays of a model, and all else as JSON."""
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
    """The model that `pack_model` took apart."""
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


NPZ_MODEL = ModelFormat(
    *(".npz", "NumPy archive", holds_npz_model, read_npz_model, write_npz_model),
    further_sets=True,
    levels=LevelFiles(
        WhenCalled("osteon.io.archives.levels_npz", "read_npz_levels"),
        WhenCalled("osteon.io.archives.levels_npz", "write_npz_levels"),
    ),
)
