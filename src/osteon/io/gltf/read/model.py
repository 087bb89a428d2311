"""Reading glTF as a skinned model, as a mesh sequence, and the levels of detail of a model.

Everything that a scene shows becomes one mesh. Bones are the joints of its skins and the nodes that hold a mesh without
a skin; morph targets are corrections, one column for each target of each node, with the weights of the file as
coefficients. The rest pose of a model has all morph weights zero. Nothing is fitted. A file that Osteon wrote returns
the model it was made from.

As a sequence, every animation of the file becomes a clip of one mesh, sampled at a frame rate.

A coarse mesh of a level is read like a model: the scene of its node alone, with its own metadata in place of the
model's.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from osteon.core.animation import BoneTrack, Clip, bone_type_of
from osteon.core.arrays import Float32, Float64
from osteon.core.character import Character, Corrections
from osteon.core.model import MOST_COARSE, SkinnedModel, StoredLevels, StoredLight
from osteon.core.sequence import MeshSequence
from osteon.deform.linear_blend import linear_blend_model
from osteon.io.formats.options import DEFAULT_LOAD_OPTIONS, LoadOptions, ReadRequest
from osteon.io.gltf import JsonObject
from osteon.io.gltf.read.accessors import read_arrays
from osteon.io.gltf.read.animations import SampledClip, plan_clips, sample_blocks
from osteon.io.gltf.read.asset import merge_instances
from osteon.io.gltf.read.bones import (
    Bones,
    gather_bones,
    gather_skeleton,
    gather_skin,
    joints_of_vertices,
    rest_placements,
    rest_pose,
)
from osteon.io.gltf.read.document import Document, open_document
from osteon.io.gltf.read.kept_edits import read_kept_edits, unpack_edits
from osteon.io.gltf.read.metadata import Metadata, read_metadata
from osteon.io.gltf.read.restored import bones_of_file, rest_of_file, restore_mesh, restore_model
from osteon.io.gltf.read.scene import GltfScene, pose_instance, read_scene
from osteon.io.load.source import Source


def holds_gltf_model(path: Path) -> bool:
    """Whether the file has a skin, a morph target or an animated node."""
    document = open_document(path)
    if any("skin" in node for node in document.items("nodes")):
        return True
    for number, mesh in enumerate(document.items("meshes")):
        if any(p.get("targets") for p in document.objects(mesh, "primitives", f"mesh {number}")):
            return True
    for number, animation in enumerate(document.items("animations")):
        channels = document.objects(animation, "channels", f"animation {number}")
        if any("node" in document.object(c, "target", f"animation {number}") for c in channels):
            return True
    return False


def read_gltf_model(path: Path, options: LoadOptions = DEFAULT_LOAD_OPTIONS) -> SkinnedModel:
    """The default scene as one model, with a clip for each animation; one frame, 'still', if there is none."""
    document = open_document(path)
    return _edited_model(document, options) or _read_model(document, options)


def _read_model(document: Document, options: LoadOptions) -> SkinnedModel:
    scene = read_scene(document)
    return build_model(document, scene, plan_clips(document, scene, options))


def _edited_model(document: Document, options: LoadOptions) -> SkinnedModel | None:
    """The model of another program's document with the edits that Osteon wrote into it; None if there are none."""
    kept = read_kept_edits(document)
    if kept is None:
        return None
    model = _read_model(kept.document, options)
    with document.source.naming():
        try:
            return unpack_edits(model, kept.arrays)
        except KeyError as error:
            raise document.error(f"its 'osteon_edits' lack {error}; remove that entry") from error


def build_model(
    document: Document, scene: GltfScene, planned: list[SampledClip], metadata: Metadata | None = None
) -> SkinnedModel:
    """The scene as a model with these clips; `metadata` replace those that the file has for its model."""
    metadata = metadata or read_metadata(document)
    placements = rest_placements(scene) if metadata is None else [rest_of_file(metadata)] * len(scene.instances)
    bones = gather_bones(scene, placements)
    if metadata is not None:
        bones = bones_of_file(metadata, scene, bones)
    transforms, weights = _sample(document, scene, bones, planned)
    faces, asset = merge_instances(document, scene)
    with document.source.naming():
        model = linear_blend_model(
            rest=document.source.positions(_rest_points(scene, placements)),
            faces=faces,
            skin=gather_skin(scene, bones),
            track=BoneTrack(transforms, bone_type_of(transforms), bones.names(document)),
            clips=tuple(sampled.clip for sampled in planned),
            corrections=_corrections(document, scene, placements, weights),
            skeleton=gather_skeleton(document, scene, bones),
            asset=asset,
            name=document.source.path.stem,
        )
        return model if metadata is None else restore_model(metadata, scene, model)


def _sample(
    document: Document, scene: GltfScene, bones: Bones, planned: list[SampledClip]
) -> tuple[Float32, dict[int, Float64]]:
    """(f,b,3,4) transforms, and (f,m) morph weights by node."""
    n_frames = planned[-1].clip.stop
    document.claim(48 * n_frames * len(bones.nodes), f"its {n_frames} frames of {len(bones.nodes)} bones", sampled=True)
    transforms = np.empty((n_frames, len(bones.nodes), 3, 4), np.float32)
    weights = {
        instance.node: np.empty((n_frames, len(instance.weights)))
        for instance in scene.instances
        if len(instance.weights)
    }
    for pose in sample_blocks(scene, planned):
        block = bones.transforms(pose)
        now = slice(pose.start, pose.start + len(block))
        transforms[now] = block
        for instance in scene.instances:
            if instance.node in weights:
                weights[instance.node][now] = pose.weights(instance)
    return transforms, weights


def _rest_points(scene: GltfScene, placements: list[Float64]) -> Float64:
    """(v,3) stored vertices in the rest pose."""
    with np.errstate(over="ignore", invalid="ignore"):
        posed = [
            p.geometry.positions @ m[:3, :3].T + m[:3, 3] for p, m in zip(scene.instances, placements, strict=True)
        ]
    return np.concatenate(posed)


def _corrections(
    document: Document, scene: GltfScene, placements: list[Float64], weights: dict[int, Float64]
) -> Corrections | None:
    """One column for each morph target of each node; it is zero for the instances of other nodes."""
    if not weights:
        return None
    columns = dict(zip(weights, np.cumsum([0, *(w.shape[1] for w in weights.values())]).tolist(), strict=False))
    coefficients = np.concatenate(list(weights.values()), axis=1)
    shape = (coefficients.shape[1], scene.n_vertices, 3)
    document.claim(24 * shape[0] * shape[1], f"its {shape[0]} morph targets of {shape[1]} vertices")
    basis = np.zeros(shape, np.float32)
    normals = np.zeros(shape, np.float32) if _normals_kept(scene, placements) else None
    start = 0
    for instance, matrix in zip(scene.instances, placements, strict=True):
        stop = start + instance.n_vertices
        if instance.node in columns:
            rows = slice(columns[instance.node], columns[instance.node] + len(instance.weights))
            basis[rows, start:stop] = instance.geometry.deltas @ matrix[:3, :3].T
            if normals is not None and instance.geometry.normal_deltas is not None:
                rotation = matrix[:3, :3] / np.cbrt(np.linalg.det(matrix[:3, :3]))
                normals[rows, start:stop] = instance.geometry.normal_deltas @ rotation.T
        start = stop
    return Corrections(basis, coefficients, normals)


def _normals_kept(scene: GltfScene, placements: list[Float64]) -> bool:
    """Whether some target moves normals, and all placements are similarities: deltas of normals can only be rotated."""
    moved = [
        m[:3, :3] for p, m in zip(scene.instances, placements, strict=True) if p.geometry.normal_deltas is not None
    ]
    square = [m.T @ m for m in moved]
    return bool(moved) and all(np.allclose(s, s[0, 0] * np.eye(3), rtol=0, atol=1e-5 * s[0, 0]) for s in square)


def read_gltf_sequence(path: Path, request: ReadRequest) -> MeshSequence:
    """The mesh of the default scene with a clip for each animation; one frame if there is none."""
    document = open_document(path)
    scene = read_scene(document)
    planned = plan_clips(document, scene, request.options)
    n_frames = planned[-1].clip.stop
    document.claim(
        12 * n_frames * scene.n_vertices, f"its {n_frames} frames of {scene.n_vertices} vertices", sampled=True
    )
    frames = np.empty((n_frames, scene.n_vertices, 3), np.float32)
    for pose in sample_blocks(scene, planned, request.progress):
        stop = pose.start + len(pose.world[0])
        first = 0
        for instance in scene.instances:
            block = frames[pose.start : stop, first : first + instance.n_vertices]
            pose_instance(instance, pose.world, pose.weights(instance), block)
            first += instance.n_vertices
    clips = tuple(sampled.clip for sampled in planned)
    _check_frames(frames, clips, document)
    rest = document.source.positions(rest_pose(scene))
    metadata = read_metadata(document)
    with document.source.naming():
        joints, names = joints_of_vertices(document, scene)
        if metadata is not None:
            mesh = restore_mesh(metadata, scene)
            frames, rest = frames[:, mesh.vertices], rest[mesh.vertices]
            asset = replace(mesh.asset, joint_of_vertex=joints[mesh.vertices], joint_names=names)
            return MeshSequence(frames, mesh.faces, rest, clips, asset, metadata.text("name") or path.stem)
        faces, asset = merge_instances(document, scene)
        if any(instance.skin is not None for instance in scene.instances):
            asset = replace(asset, joint_of_vertex=joints, joint_names=names)
        return MeshSequence(frames, faces, rest, clips, asset, path.stem)


def _check_frames(frames: Float32, clips: tuple[Clip, ...], document: Document) -> None:
    """Raise an error that names the first frame that is not finite."""
    with np.errstate(invalid="ignore"):
        if np.isfinite(frames.sum(dtype=np.float64)):
            return
    for clip in clips:
        for f in range(clip.start, clip.stop):
            Source(document.source.path, f).positions(frames[f])


_LEVELS = "the levels of Osteon's metadata"
#: Metadata of a mesh, not of the model.
_OF_MESH = (
    *("influences", "vertices", "triangles", "turns", "polygons", "primitives"),
    *("plain", "dequantize", "low", "span", "deformer", "edits", "levels", "normals", "faceted", "painted"),
)


def read_gltf_levels(path: Path) -> StoredLevels | None:
    """The levels in a file; None if it has none, or another program wrote or changed it."""
    document = open_document(path)
    metadata = read_metadata(document)
    if metadata is None or "levels" not in metadata.entries:
        return None
    entry = document.object(metadata.entries, "levels", "Osteon's metadata")
    coarse = document.objects(entry, "coarse", _LEVELS)
    if len(coarse) > MOST_COARSE:
        raise document.error(f"{_LEVELS} have {len(coarse)} coarse meshes, expected {MOST_COARSE} at most")
    with document.source.naming():
        return StoredLevels(
            read_arrays(document, document.object(entry, "arrays", _LEVELS), "the levels"),
            document.object(entry, "header", _LEVELS),
            tuple(_read_coarse_mesh(document, metadata, one) for one in coarse),
            tuple(document.numbers(entry, "coverage", _LEVELS, [])),
        )


_LIGHT = "the light of Osteon's metadata"


def read_gltf_light(path: Path) -> StoredLight | None:
    """The precomputed light in a file; None if it has none, or another program wrote or changed it."""
    document = open_document(path)
    metadata = read_metadata(document)
    if metadata is None or "light" not in metadata.entries:
        return None
    entry = document.object(metadata.entries, "light", "Osteon's metadata")
    arrays = read_arrays(document, document.object(entry, "arrays", _LIGHT), "the light")
    return StoredLight(arrays, document.object(entry, "header", _LIGHT))


def _read_coarse_mesh(document: Document, metadata: Metadata, entry: JsonObject) -> Character:
    """The mesh of a node, on the joints of the model."""
    node = document.whole(entry, "node", _LEVELS)
    document.item("nodes", node, _LEVELS)
    scene = read_scene(document, [node])
    entries = {key: value for key, value in metadata.entries.items() if key not in _OF_MESH}
    planned = plan_clips(document, scene, DEFAULT_LOAD_OPTIONS)
    return build_model(document, scene, planned, Metadata(document, entries | entry)).character
