"""Models that Osteon wrote: bones joined again from their joints, and the data of the metadata."""

from __future__ import annotations

from typing import Any

import numpy as np

from osteon.core.animation import BoneTrack, Clip
from osteon.core.arrays import Float32, Float64
from osteon.core.character import Corrections, Skeleton, Skin
from osteon.core.model import SkinnedModel
from osteon.deform.edits import Edits
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.registry import restore_deformer
from osteon.io.load.source import Source, as_float32
from osteon.io.meshes.mesh import merge_mesh_parts
from osteon.io.metadata.baked import StoredTables, live_model, numbered_columns
from osteon.io.metadata.edits import restore_edits
from osteon.io.usd.joints import JointTracks, join_bones
from osteon.io.usd.metadata import as_bound, read_stored_arrays, restore_asset
from osteon.io.usd.read.shown_meshes import ShownMesh, column_matrix


def is_written_by_osteon(shown: list[ShownMesh], metadata: dict[str, Any]) -> bool:
    """Whether the metadata still match the contents of the stage."""
    if len(shown) != 1 or "joint_of_bone" not in metadata or shown[0].skin is None:
        return False
    faces = len(shown[0].part.polygons.corners) - 2 * len(shown[0].part.polygons.sizes)
    k = metadata.get("influences")
    return bool(
        metadata.get("triangles") == faces and shown[0].skin.GetNumInfluencesPerComponent() in (k, 2 * (k or 0))
    )


def restore_model(
    pxr: Any, shown: ShownMesh, metadata: dict[str, Any], clips: tuple[Clip, ...], codes: Float64, source: Source
) -> SkinnedModel:
    """The model with its frames at the given time codes; raises one of MISFITS if the metadata do not match."""
    joints, parents = _joints(shown, metadata, codes)
    faces, asset = merge_mesh_parts([shown.part])
    names = tuple(str(name) for name in metadata["bone_names"])
    model = linear_blend_model(
        rest=source.positions(np.array(shown.mesh.GetPointsAttr().Get(pxr.Usd.TimeCode.Default()), np.float32)),
        faces=faces,
        skin=_skin(pxr, shown, metadata),
        track=BoneTrack(as_float32(join_bones(joints, parents)), metadata["bone_type"], names),
        clips=clips,
        corrections=_corrections(shown, codes),
        skeleton=_skeleton(metadata),
        asset=restore_asset(asset, metadata, shown.mesh),
        name=str(metadata["name"]),
    )
    if "deformer" in metadata:
        deformer = restore_deformer(*read_stored_arrays(shown.mesh, "deformer", metadata["deformer"]))
        model = model.with_character(deformer=deformer, fallback=model.skin)
    else:
        model = as_bound(pxr, shown.mesh, model)
    live = live_model(model, _tables(shown, metadata.get("displacements", []), model.n_columns))
    stored = read_stored_arrays(shown.mesh, Edits.kind, metadata["edits"])[1] if "edits" in metadata else {}
    return restore_edits(live, stored)


def _tables(shown: ShownMesh, stored: list[dict[str, Any]], total: int) -> list[StoredTables]:
    counts, numbers = [int(one["columns"]) for one in stored], [one.get("numbers") for one in stored]
    found = [read_stored_arrays(shown.mesh, str(one["kind"]), one) for one in stored]
    columns = numbered_columns(counts, numbers, total)
    return [StoredTables(kind, own, arrays) for own, (kind, arrays) in zip(columns, found, strict=True)]


def _joints(shown: ShownMesh, metadata: dict[str, Any], codes: Float64) -> tuple[JointTracks, np.ndarray]:
    query = shown.skeleton
    assert query is not None
    animation = query.GetAnimQuery()
    parts = [animation.ComputeJointLocalTransformComponents(code) for code in codes.tolist()]
    topology = query.GetTopology()
    bind = np.stack([column_matrix(m) for m in query.GetJointWorldBindTransforms()])
    tracks = JointTracks(
        tuple(query.GetJointOrder()),
        bind,
        bind,
        np.stack([np.array(p[0], np.float32) for p in parts]),
        np.stack([np.array(p[1], np.float32) for p in parts]),
        np.stack([np.array(p[2], np.float16) for p in parts]),
        np.array(metadata["joint_of_bone"], np.int32),
        np.array(metadata["fine_of_bone"], np.int32),
    )
    return tracks, np.array([topology.GetParent(j) for j in range(len(topology))])


def _skin(pxr: Any, shown: ShownMesh, metadata: dict[str, Any]) -> Skin:
    """The skin by bones; the weight of a fine joint is added to that of its bone."""
    assert shown.skeleton is not None
    binding = pxr.UsdSkel.BindingAPI(shown.mesh.GetPrim())
    k = int(metadata["influences"])
    shape = (shown.part.n_vertices, -1)
    numbers = np.array(binding.GetJointIndicesPrimvar().Get(), np.int64).reshape(shape)
    weights = np.array(binding.GetJointWeightsPrimvar().Get(), np.float32).reshape(shape)
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(shown.skeleton.GetJointOrder()):
        raise ValueError("an influence refers to a joint that does not exist")
    bone_of_joint = {joint: bone for bone, joint in enumerate(metadata["joint_of_bone"])}
    table = np.array([bone_of_joint.get(j, 0) for j in range(int(numbers.max(initial=0)) + 1)], np.int32)
    whole = weights[:, :k].astype(np.float64)
    if weights.shape[1] == 2 * k:
        whole = whole + weights[:, k:]
    return Skin(table[numbers[:, :k]], whole.astype(np.float32))


def _corrections(shown: ShownMesh, codes: Float64) -> Corrections | None:
    if shown.shapes is None or shown.skeleton is None:
        return None
    query = shown.shapes.query
    shapes = [query.GetBlendShape(i) for i in range(query.GetNumBlendShapes())]
    basis = np.stack([np.array(s.GetOffsetsAttr().Get(), np.float32) for s in shapes])
    normals: list[Float32] = [np.array(s.GetNormalOffsetsAttr().Get() or [], np.float32) for s in shapes]
    animation = shown.skeleton.GetAnimQuery()
    rows = [np.array(animation.ComputeBlendShapeWeights(code), np.float32) for code in codes.tolist()]
    return Corrections(basis, np.stack(rows), np.stack(normals) if all(len(n) for n in normals) else None)


def _skeleton(metadata: dict[str, Any]) -> Skeleton | None:
    stored = metadata.get("skeleton")
    if stored is None:
        return None
    names = tuple(str(name) for name in stored["names"])
    return Skeleton(names, np.array(stored["parents"], np.int32), np.array(stored["world_from_joint"], np.float32))
