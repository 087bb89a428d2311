"""A skinned model in an .npz, whole and versioned.

Arrays by name: rest (v,3), faces (t,3), bones and weights (v,k), transforms (f,b,3,4); basis (r,v,3), coefficients
(f,r) and normal_basis (r,v,3) of the corrections, if there are any; joint_parents (j,) and world_from_joint (j,3,4) if
there is a skeleton; those of the asset that are there. All that is not an array is JSON text under `header`. Nothing
needs a pickle.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.model import BoneTrack, Corrections, Skeleton, Skin, SkinnedModel
from osteon.io.archives.archive import Archive, open_archive, pack_header, write_archive
from osteon.io.archives.sequence_npz import check_version
from osteon.io.doors.format_types import ModelFormat
from osteon.io.doors.options import SaveOptions
from osteon.io.doors.source import Source
from osteon.io.metadata.asset import damage_named, pack_asset, pack_clips, unpack_asset, unpack_clips

__all__ = ["MODEL_FORMAT", "MODEL_VERSION", "NPZ_MODEL", "holds_npz_model", "read_npz_model", "write_npz_model"]

MODEL_FORMAT = "osteon-model"
MODEL_VERSION = 1


def write_npz_model(path: Path, model: SkinnedModel, options: SaveOptions) -> None:
    """All of `model`; `read_npz_model` gives the same back."""
    arrays, header = pack_asset(model.asset)
    header |= {
        "name": model.name,
        "clips": pack_clips(model.clips),
        "bone_type": model.track.bone_type,
        "bone_names": list(model.track.names),
        "joint_names": list(model.skeleton.names) if model.skeleton is not None else [],
    }
    arrays |= {"rest": model.rest, "faces": model.faces, "bones": model.skin.bones, "weights": model.skin.weights}
    arrays |= {"transforms": model.track.transforms}
    if model.corrections is not None:
        arrays |= {"basis": model.corrections.basis, "coefficients": model.corrections.coefficients}
        if model.corrections.normal_basis is not None and options.normals:
            arrays |= {"normal_basis": model.corrections.normal_basis}
    if model.skeleton is not None:
        arrays |= {"joint_parents": model.skeleton.parents, "world_from_joint": model.skeleton.world_from_joint}
    stamp: dict[str, NDArray[Any]] = {"format": np.array(MODEL_FORMAT), "version": np.array(MODEL_VERSION)}
    write_archive(path, stamp | arrays | {"header": pack_header(header)})


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
            what = f"'{found}'" if found else "no format name"
            raise source.format_error(f"holds {what}, expected '{MODEL_FORMAT}'; is it a mesh sequence?")
        check_version(archive, MODEL_FORMAT, MODEL_VERSION)
        header = archive.header()
        with damage_named(source):
            return _unpack(archive, header)


def _unpack(archive: Archive, header: dict[str, Any]) -> SkinnedModel:
    corrections = None
    if "basis" in archive:
        corrections = Corrections(
            archive.array("basis"), archive.array("coefficients"), archive.optional("normal_basis")
        )
    skeleton = None
    if "joint_parents" in archive:
        names = tuple(str(name) for name in header["joint_names"])
        skeleton = Skeleton(names, archive.array("joint_parents"), archive.array("world_from_joint"))
    names = tuple(str(name) for name in header["bone_names"])
    return SkinnedModel(
        rest=archive.array("rest"),
        faces=archive.array("faces"),
        skin=Skin(archive.array("bones"), archive.array("weights")),
        track=BoneTrack(archive.array("transforms"), header["bone_type"], names),
        clips=unpack_clips(header["clips"]),
        corrections=corrections,
        skeleton=skeleton,
        asset=unpack_asset(archive, header),
        name=str(header["name"]),
    )


NPZ_MODEL = ModelFormat(".npz", "NumPy archive", holds_npz_model, read_npz_model, write_npz_model)
