"""Writing USD: a skinned model by UsdSkel, or a sequence as a mesh whose points have time samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from osteon import __version__
from osteon.core.animation import Clip, frame_times
from osteon.core.arrays import Float64
from osteon.core.frames import each_frame
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.edits import Edits, edited_model
from osteon.io.formats.options import SaveOptions
from osteon.io.metadata.baked import baked_model, column_entry, stock_model, tables_of, without_normals
from osteon.io.metadata.edits import edit_arrays
from osteon.io.metadata.target_names import column_names
from osteon.io.usd.joints import JointTracks, build_joints, distinct_identifiers, joint_influences
from osteon.io.usd.metadata import CLASSIC, SKINNING_METHODS, pack_metadata, store_arrays, write_metadata
from osteon.io.usd.stage import load_pxr, picture_names, save_stage
from osteon.io.usd.write.mesh import define_materials, define_mesh, extent_of, normal_layout, set_samples, vectors

BLOCK = 64  # frames that are posed at once for their extents


def write_usd(path: Path, model: SkinnedModel, options: SaveOptions) -> None:
    """Write the model as a SkelRoot; `read_usd_model` returns it."""
    pxr = load_pxr(path)
    edits, model = edit_arrays(model.character), edited_model(model)
    shaded, layout = options.normals and not model.asset.faceted, normal_layout(model.mesh, model.asset.normals)
    # A blend shape has one normal offset per vertex.
    whole = model if shaded and layout.by_vertex else without_normals(model)
    model = baked_model(whole) if whole.deformer.kind in SKINNING_METHODS else stock_model(whole, options, "USD")
    joints = build_joints(model)
    codes = frame_times(model.clips, model.clips[0].fps)
    stage = _new_stage(pxr, model.clips, codes)
    where = f"/{distinct_identifiers([model.name], 'model')[0]}"
    root = pxr.UsdSkel.Root.Define(stage, where)
    stage.SetDefaultPrim(root.GetPrim())
    pxr.Usd.ModelAPI(root.GetPrim()).SetKind(pxr.Kind.Tokens.component)
    mesh = define_mesh(pxr, stage, f"{where}/Mesh", model.faces, model.asset, model.rest)
    pictures = picture_names(model.asset, path)
    define_materials(pxr, stage, mesh, model.faces, model.asset, pictures)
    _define_skeleton(pxr, stage, where, joints)
    _bind(pxr, mesh, where, model, joints)
    shapes = _shape_names(whole, model.n_columns)
    _define_animation(pxr, stage, where, model, joints, codes, shapes)
    _define_shapes(pxr, stage, mesh, model, shapes)
    if shaded:
        from osteon.deform.normals import rest_normals  # compiled: not needed to import the formats

        layout.define(pxr, mesh, rest_normals(model.mesh))
    _set_extents(pxr, root, model, codes)
    metadata = pack_metadata(model, joints)
    if whole.deformer is not model.deformer:
        deformer = whole.deformer
        metadata["deformer"] = store_arrays(pxr, mesh, "deformer", deformer.kind, deformer.arrays())
    tables = tables_of(whole)
    for one, columns in zip(tables, column_entry(tables, model.n_columns), strict=True):
        stored = store_arrays(pxr, mesh, one.kind, one.kind, one.arrays)
        metadata.setdefault("displacements", []).append(columns | stored)
    if edits:
        metadata["edits"] = store_arrays(pxr, mesh, Edits.kind, Edits.kind, edits)
    write_metadata(pxr, root.GetPrim(), mesh, metadata, model.asset)
    save_stage(pxr, stage, path, {name: image.data for image, name in pictures.items()})


def write_usd_sequence(path: Path, sequence: MeshSequence) -> None:
    """Write the sequence as a Mesh whose points have one time sample per frame; `read_usd` returns it."""
    pxr = load_pxr(path)
    codes = frame_times(sequence.clips, sequence.clips[0].fps)
    stage = _new_stage(pxr, sequence.clips, codes)
    where = f"/{distinct_identifiers([sequence.name], 'mesh')[0]}"
    root = pxr.UsdGeom.Xform.Define(stage, where)
    stage.SetDefaultPrim(root.GetPrim())
    pxr.Usd.ModelAPI(root.GetPrim()).SetKind(pxr.Kind.Tokens.component)
    mesh = define_mesh(pxr, stage, f"{where}/Mesh", sequence.faces, sequence.asset, sequence.rest)
    pictures = picture_names(sequence.asset, path)
    define_materials(pxr, stage, mesh, sequence.faces, sequence.asset, pictures)
    extents: list[Any] = []

    def points() -> Iterator[Any]:
        for frame in each_frame(sequence.source):
            extents.append(extent_of(pxr, frame))
            yield vectors(pxr, frame)

    set_samples(pxr, mesh.GetPointsAttr(), codes, points())
    set_samples(pxr, mesh.GetExtentAttr(), codes, iter(extents))
    _set_normals(pxr, mesh, sequence, codes)
    write_metadata(pxr, root.GetPrim(), mesh, pack_metadata(sequence), sequence.asset)
    save_stage(pxr, stage, path, {name: image.data for image, name in pictures.items()})


def _new_stage(pxr: Any, clips: tuple[Clip, ...], codes: Float64) -> Any:
    """An empty stage in memory with its units and its timeline."""
    stage = pxr.Usd.Stage.CreateInMemory()
    pxr.UsdGeom.SetStageUpAxis(stage, pxr.UsdGeom.Tokens.y)
    pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(clips[0].fps)
    stage.SetFramesPerSecond(clips[0].fps)
    stage.SetStartTimeCode(float(codes[0]))
    stage.SetEndTimeCode(float(codes[-1]))
    stage.GetRootLayer().comment = f"Osteon {__version__}"
    return stage


def _matrices(pxr: Any, transforms: Float64) -> Any:
    """Matrix4d[] of (j,3,4); USD has row vectors."""
    whole = np.zeros((len(transforms), 4, 4))
    whole[:, :3] = transforms
    whole[:, 3, 3] = 1
    return pxr.Vt.Matrix4dArray.FromNumpy(np.ascontiguousarray(np.swapaxes(whole, 1, 2)))


def _define_skeleton(pxr: Any, stage: Any, where: str, joints: JointTracks) -> None:
    skeleton = pxr.UsdSkel.Skeleton.Define(stage, f"{where}/Skeleton")
    skeleton.CreateJointsAttr(pxr.Vt.TokenArray(list(joints.paths)))
    skeleton.CreateBindTransformsAttr(_matrices(pxr, joints.world_from_joint))
    skeleton.CreateRestTransformsAttr(_matrices(pxr, joints.parent_from_joint))
    binding = pxr.UsdSkel.BindingAPI.Apply(skeleton.GetPrim())
    binding.CreateAnimationSourceRel().SetTargets([f"{where}/Skeleton/Animation"])


def _bind(pxr: Any, mesh: Any, where: str, model: SkinnedModel, joints: JointTracks) -> None:
    binding = pxr.UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([f"{where}/Skeleton"])
    numbers, weights = joint_influences(model, joints)
    n = numbers.shape[1]
    binding.CreateJointIndicesPrimvar(False, n).Set(pxr.Vt.IntArray.FromNumpy(numbers.reshape(-1)))
    binding.CreateJointWeightsPrimvar(False, n).Set(pxr.Vt.FloatArray.FromNumpy(weights.reshape(-1)))
    if model.deformer.kind != CLASSIC:
        binding.CreateSkinningMethodAttr(SKINNING_METHODS[model.deformer.kind])


def _shape_names(whole: SkinnedModel, rank: int) -> list[str]:
    """Names of the columns, as identifiers."""
    return list(distinct_identifiers(column_names(whole, rank), "shape"))


def _define_animation(
    pxr: Any,
    stage: Any,
    where: str,
    model: SkinnedModel,
    joints: JointTracks,
    codes: Float64,
    shapes: Sequence[str],
) -> None:
    animation = pxr.UsdSkel.Animation.Define(stage, f"{where}/Skeleton/Animation")
    animation.CreateJointsAttr(pxr.Vt.TokenArray(list(joints.paths)))
    halves, quaternions = pxr.Vt.Vec3hArray.FromNumpy, pxr.Vt.QuatfArray.FromNumpy
    translations = (vectors(pxr, frame) for frame in joints.translations)
    rotations = (quaternions(np.ascontiguousarray(frame)) for frame in joints.rotations)
    scales = [halves(np.ascontiguousarray(frame)) for frame in joints.scales]
    set_samples(pxr, animation.CreateTranslationsAttr(), codes, translations)
    set_samples(pxr, animation.CreateRotationsAttr(), codes, rotations)
    scales_attribute = animation.CreateScalesAttr(scales[0])
    if (joints.scales != joints.scales[:1]).any():
        set_samples(pxr, scales_attribute, codes, scales)
    if model.corrections is not None and model.n_columns:
        animation.CreateBlendShapesAttr(pxr.Vt.TokenArray(shapes))
        floats = pxr.Vt.FloatArray.FromNumpy
        weights = (floats(np.ascontiguousarray(row)) for row in model.corrections.coefficients)
        set_samples(pxr, animation.CreateBlendShapeWeightsAttr(), codes, weights)


def _define_shapes(pxr: Any, stage: Any, mesh: Any, model: SkinnedModel, shapes: Sequence[str]) -> None:
    """Define a blend shape for each column of the corrections."""
    if model.corrections is None or not model.n_columns:
        return
    targets = []
    for r, name in enumerate(shapes):
        shape = pxr.UsdSkel.BlendShape.Define(stage, mesh.GetPath().AppendChild(name))
        shape.CreateOffsetsAttr(vectors(pxr, model.corrections.basis[r]))
        if model.corrections.normal_basis is not None:
            offsets = model.corrections.normal_basis[r][model.mesh.normal_of_vertex]
            shape.CreateNormalOffsetsAttr(vectors(pxr, offsets))
        targets.append(shape.GetPath())
    binding = pxr.UsdSkel.BindingAPI(mesh.GetPrim())
    binding.CreateBlendShapesAttr(pxr.Vt.TokenArray(shapes))
    binding.CreateBlendShapeTargetsRel().SetTargets(targets)


def _set_normals(pxr: Any, mesh: Any, sequence: MeshSequence, codes: Float64) -> None:
    """Write authored normals in the rest pose, and rotated with the surface in every frame."""
    own = sequence.asset.normals
    if own is None:
        return
    from osteon.measure.shading import source_normals_of  # compiled: not needed to import the formats

    attribute = normal_layout(sequence.mesh, own).define(pxr, mesh, own.values)
    source = source_normals_of(sequence)
    index = normal_layout(sequence.mesh, source.as_stored(source.rest)).normals
    set_samples(pxr, attribute, codes, (vectors(pxr, source.at(frame)[index]) for frame in each_frame(sequence.source)))


def _set_extents(pxr: Any, root: Any, model: SkinnedModel, codes: Float64) -> None:
    """Write the extent of the posed mesh in each frame, which players use for culling."""
    from osteon.deform.pose import pose_frames

    blocks = range(0, model.n_frames, BLOCK)
    posed = (pose_frames(model, first, min(first + BLOCK, model.n_frames)) for first in blocks)
    set_samples(pxr, root.CreateExtentAttr(), codes, (extent_of(pxr, frame) for block in posed for frame in block))
