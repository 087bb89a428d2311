"""Osteon's metadata in USD stages: JSON under `osteon` in the customData of the default prim, and arrays.

Deformers and displacements that UsdSkel has no form for are stored as array attributes of the mesh that only Osteon
reads. A deformer that UsdSkel supports is named by its skinning method; a stage without one uses linear blending.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Clip, bone_type_of
from osteon.core.character import Arrays
from osteon.core.errors import GeometryError
from osteon.core.mesh import Asset, Image, TextureRole
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.registry import restore_deformer
from osteon.io.metadata.asset import pack_clips, pack_materials, unpack_clips, unpack_materials
from osteon.io.usd.joints import JointTracks, distinct_identifiers

METADATA_KEY = "osteon"
VERSION = 1
#: Errors from metadata that do not match their stage, because another program changed it.
MISFITS = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, GeometryError)
PRIMITIVES = "userProperties:primitiveOfTriangle"


def pack_metadata(source: SkinnedModel | MeshSequence, joints: JointTracks | None = None) -> dict[str, Any]:
    """The data of a model or sequence that USD has no place for."""
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
        metadata["normals"] = True  # absent: they are the smooth ones of the rest pose
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
    """The metadata; empty for a stage that another program or a later release wrote."""
    root = stage.GetDefaultPrim()
    stored = root.GetCustomDataByKey(METADATA_KEY) if root else None
    try:
        metadata = json.loads(stored) if isinstance(stored, str) else {}
    except (ValueError, RecursionError):
        return {}
    return metadata if isinstance(metadata, dict) and metadata.get("version") == VERSION else {}


def clips_of_metadata(metadata: dict[str, Any]) -> tuple[Clip, ...]:
    """The table of clips; empty if it is invalid."""
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


def _named(images: dict[TextureRole, Image], names: dict[TextureRole, str]) -> tuple[tuple[TextureRole, Image], ...]:
    """The images that exist, with their stored names and in their stored order."""
    return tuple((role, replace(images[role], name=str(names[role]))) for role in names if role in images)


PREFIX = "userProperties:"


def store_arrays(pxr: Any, mesh: Any, owner: str, kind: str, arrays: Arrays) -> dict[str, Any]:
    """Write arrays as flat attributes of integers or float32; returns their entry for the metadata."""
    types = pxr.Sdf.ValueTypeNames
    for name, array in arrays.items():
        flat, whole = np.ascontiguousarray(array).reshape(-1), array.dtype.kind in "iu"
        stored = mesh.GetPrim().CreateAttribute(
            f"{PREFIX}{owner}:{name}", types.IntArray if whole else types.FloatArray, True, pxr.Sdf.VariabilityUniform
        )
        values = pxr.Vt.IntArray.FromNumpy if whole else pxr.Vt.FloatArray.FromNumpy
        stored.Set(values(flat.astype(np.int32 if whole else np.float32)))
    return {"kind": kind, "shapes": {name: list(array.shape) for name, array in arrays.items()}}


def read_stored_arrays(mesh: Any, owner: str, stored: dict[str, Any]) -> tuple[str, Arrays]:
    """The kind and the arrays of an entry of the metadata; raises one of MISFITS if they do not match."""
    arrays = {str(name): _stored_array(mesh, f"{owner}:{name}", shape) for name, shape in stored["shapes"].items()}
    return str(stored["kind"]), arrays


def _stored_array(mesh: Any, name: str, shape: list[int]) -> NDArray[Any]:
    attribute = mesh.GetPrim().GetAttribute(PREFIX + name)
    if not attribute or not attribute.HasValue():
        raise KeyError(name)
    return np.array(attribute.Get()).reshape([int(size) for size in shape])


CLASSIC = "linear_blend"
SKINNING_METHODS = {
    CLASSIC: "classicLinear",
    "dual_quaternion": "dualQuaternion",
}
_KINDS = {method: kind for kind, method in SKINNING_METHODS.items()}


def as_bound(pxr: Any, mesh: Any, model: SkinnedModel) -> SkinnedModel:
    """The model with the deformer of the mesh's skinning method; bones that it cannot blend stay linear."""
    method = pxr.UsdSkel.BindingAPI(mesh.GetPrim()).GetSkinningMethodAttr().Get()
    kind = _KINDS.get(str(method or ""), CLASSIC)
    if kind == CLASSIC or bone_type_of(model.track.transforms) != "rigid":
        return model
    skin = model.skin
    return model.with_character(deformer=restore_deformer(kind, {"bones": skin.bones, "weights": skin.weights}))
