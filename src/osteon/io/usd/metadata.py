"""What Osteon stores in the stages it writes: JSON under `osteon` in the customData of the default prim."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from osteon.core.asset import Asset, Image, TextureRole
from osteon.core.clips import Clip
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.io.metadata.asset import pack_clips, unpack_clips
from osteon.io.metadata.materials import pack_materials, unpack_materials
from osteon.io.usd.joint_tracks import JointTracks, distinct_identifiers

__all__ = [
    "METADATA_KEY",
    "MISFITS",
    "clips_of_metadata",
    "pack_metadata",
    "read_metadata",
    "restore_asset",
    "write_metadata",
]

METADATA_KEY = "osteon"
VERSION = 1
#: What metadata raise that no longer fit their stage, because another program changed it.
MISFITS = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, GeometryError)
PRIMITIVES = "userProperties:primitiveOfTriangle"


def pack_metadata(source: SkinnedModel | MeshSequence, joints: JointTracks | None = None) -> dict[str, Any]:
    """All that USD has no place for."""
    metadata: dict[str, Any] = {
        "version": VERSION,
        "name": source.name,
        "clips": pack_clips(source.clips),
        "materials": pack_materials(source.asset.materials),
        "picture_names": [{role: image.name for role, image in m.textures} for m in source.asset.materials],
        "material_prims": distinct_identifiers([m.name for m in source.asset.materials], "material"),
        "primitive_names": list(source.asset.primitive_names),
        "triangles": len(source.faces),
    }
    if source.asset.faceted:
        metadata["faceted"] = True
    elif source.asset.normals is not None:
        metadata["normals"] = True  # else they are the smooth ones of the rest pose
    if isinstance(source, SkinnedModel) and joints is not None:
        metadata |= {
            "bone_type": source.track.bone_type,
            "bone_names": list(source.track.names),
            "influences": source.skin.n_influences,
            "joint_of_bone": joints.of_bone.tolist(),
            "fine_of_bone": joints.fine_of_bone.tolist(),
        }
        if source.skeleton is not None:
            metadata["skeleton"] = {
                "names": list(source.skeleton.names),
                "parents": source.skeleton.parents.tolist(),
                "world_from_joint": source.skeleton.world_from_joint.astype(float).tolist(),
            }
    return metadata


def write_metadata(pxr: Any, root: Any, mesh: Any, metadata: dict[str, Any], asset: Asset) -> None:
    root.SetCustomDataByKey(METADATA_KEY, json.dumps(metadata))
    if asset.primitive_of_triangle is not None:
        kind = pxr.Sdf.ValueTypeNames.IntArray
        stored = mesh.GetPrim().CreateAttribute(PRIMITIVES, kind, True, pxr.Sdf.VariabilityUniform)
        stored.Set(pxr.Vt.IntArray.FromNumpy(np.ascontiguousarray(asset.primitive_of_triangle, np.int32)))


def read_metadata(stage: Any) -> dict[str, Any]:
    """The metadata; empty for a stage of others, or of a later release."""
    root = stage.GetDefaultPrim()
    stored = root.GetCustomDataByKey(METADATA_KEY) if root else None
    try:
        metadata = json.loads(stored) if isinstance(stored, str) else {}
    except (ValueError, RecursionError):
        return {}
    return metadata if isinstance(metadata, dict) and metadata.get("version") == VERSION else {}


def clips_of_metadata(metadata: dict[str, Any]) -> tuple[Clip, ...]:
    """The table of clips; empty if it makes no sense."""
    try:
        clips = unpack_clips(metadata.get("clips", []))
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()
    starts = [0, *(clip.stop for clip in clips)]
    return clips if [clip.start for clip in clips] == starts[:-1] else ()


def restore_asset(asset: Asset, metadata: dict[str, Any], mesh: Any) -> Asset:
    """Materials and primitives as they were when Osteon wrote the file; raises one of MISFITS if they changed."""
    primitives = mesh.GetPrim().GetAttribute(PRIMITIVES)
    values = np.array(primitives.Get(), np.int32) if primitives and primitives.HasValue() else None
    asset = replace(
        asset,
        primitive_of_triangle=values,
        primitive_names=tuple(str(name) for name in metadata["primitive_names"]),
        normals=asset.normals if metadata.get("normals") is True else None,
        faceted=metadata.get("faceted") is True,
    )
    stored = unpack_materials(metadata["materials"])
    if asset.triangle_material is None:
        return replace(asset, materials=stored)
    place = {name: i for i, name in enumerate(metadata["material_prims"])}
    table = np.array([place[material.name] for material in asset.materials], np.int32)
    found = {place[material.name]: dict(material.textures) for material in asset.materials}
    whole = tuple(
        replace(material, textures=_named(found.get(i, {}), names))
        for i, (material, names) in enumerate(zip(stored, metadata["picture_names"], strict=True))
    )
    return replace(asset, materials=whole, triangle_material=table[asset.triangle_material])


def _named(pictures: dict[TextureRole, Image], names: dict[TextureRole, str]) -> tuple[tuple[TextureRole, Image], ...]:
    """The pictures that are there, under their own names and in their own order."""
    return tuple((role, replace(pictures[role], name=str(names[role]))) for role in names if role in pictures)
