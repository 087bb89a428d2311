"""A model fitted to a character, written into the character's own document.

What the fit changed is added at the end; all else stays, byte for byte:

| changed                          | where |
| --- | --- |
| weights of every vertex          | JOINTS_n and WEIGHTS_n of the primitives name new accessors |
| motion that was found            | one new animation for each clip, with keys of the character's own nodes |
| motion that the character brings | nothing: its animations are that motion |
| helpers                          | nodes after all others, joints at the end of the skins |
| corrections                      | morph targets after those that a mesh has |

Vertices that hang on a node, not on a skin, follow that node as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.core.corrections import Corrections
from osteon.core.model import SkinnedModel
from osteon.core.skin import Skin
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.kept.channels import ClipKeys, add_animation, free_clip_names
from osteon.io.gltf.kept.character import Character
from osteon.io.gltf.kept.file import KeptFile
from osteon.io.gltf.kept.helper_joints import Helper, add_helpers, list_in_skins, place_helpers
from osteon.io.gltf.kept.mesh import MorphTargets, add_targets, own_meshes, replace_influences, replace_normals
from osteon.io.gltf.kept.motion import NodeKeys, StandingNode, find_node_keys
from osteon.io.gltf.kept.notes import change_notes
from osteon.io.gltf.kept.weights_tracks import add_weight_keys, widen_weights
from osteon.io.gltf.read.scene import MeshInstance
from osteon.io.gltf.write.names import target_names

__all__ = ["FittedNormals", "keeps_mesh", "keeps_motion", "write_on_character"]


@dataclass(frozen=True, slots=True)
class FittedNormals:
    """Normals that shade better than the character's own, in the space of the rest pose."""

    rest: Float32  # (v,3) of the model's vertices
    basis: Float32 | None = None  # (m,v,3) morph targets that move normals only
    coefficients: Float32 | None = None  # (f,m)
    of_instance: Mapping[int, Float32] | None = None  # (n,3) in place of `rest`, where seams split the normals


def keeps_mesh(character: Character, model: SkinnedModel) -> bool:
    """Whether a model has the vertices and triangles of the character, and its joints first."""
    mesh, joints = character.model, character.model.n_bones
    same = model.n_vertices == mesh.n_vertices and np.array_equal(model.faces, mesh.faces)
    return same and model.n_bones >= joints and model.track.names[:joints] == mesh.track.names


def keeps_motion(character: Character, model: SkinnedModel) -> bool:
    """Whether the joints of a model move exactly as the character's own clips move them."""
    own = character.model.track.transforms
    joints = model.track.transforms[:, : own.shape[1]]
    return bool(character.animations) and own.shape == joints.shape and np.array_equal(own, joints)


def write_on_character(
    path: Path, character: Character, model: SkinnedModel, *, normals: FittedNormals | None = None
) -> None:
    """The character with the weights of `model` and its motion."""
    file = KeptFile(character.document)
    instances = character.scene.instances
    own_meshes(file, instances)
    helpers = place_helpers(character, model)
    add_helpers(file, character, helpers)
    list_in_skins(file, character, helpers)
    for number, instance in enumerate(instances):
        if instance.skin is not None and instance.geometry.influences is not None:
            skin, joints = _skin_of(character, model, number, helpers)
            replace_influences(file, instance, skin, joints)
        if normals is not None:
            replace_normals(file, instance, _normals_of(character, number, normals))
    morphs = _write_targets(file, character, model, normals)
    _write_motion(file, character, model, helpers, morphs)
    change_notes(file, character, model)
    path.write_bytes(file.to_bytes(path.suffix.lower()))


def _skin_of(character: Character, model: SkinnedModel, number: int, helpers: list[Helper]) -> tuple[Skin, list[int]]:
    """Influences of the vertices of an instance, and the joint of each bone in its skin."""
    instance, joints = character.scene.instances[number], character.bones.of_joint[number]
    assert instance.skin is not None
    joint_of_bone = [0] * model.n_bones
    for joint, bone in reversed(list(enumerate(joints.tolist()))):
        joint_of_bone[bone] = joint
    for i, helper in enumerate(helpers):
        joint_of_bone[helper.bone] = len(instance.skin.nodes) + i
    return model.skin.take(character.vertices[number].astype(np.int32)), joint_of_bone


def _normals_of(character: Character, number: int, normals: FittedNormals) -> Float32:
    """(n,3) unit normals of an instance in the space of its stored mesh."""
    split = (normals.of_instance or {}).get(number)
    rows = normals.rest[character.vertices[number]] if split is None else split
    turned = rows @ _turn(character.placements[number])
    return np.asarray(turned / np.linalg.norm(turned, axis=1, keepdims=True), np.float32)


def _turn(placement: Float64) -> Float64:
    """The rotation of a placement that turns, scales alike and shifts."""
    linear = placement[:3, :3]
    return np.asarray(linear / np.cbrt(np.linalg.det(linear)))


@dataclass(frozen=True, slots=True)
class _Morphs:
    """Targets that were added, and their weights in all frames."""

    weights: Float64  # (f,m)
    before: dict[int, Float64]  # by node: weights of the targets that its mesh had, in the new clips


def _write_targets(file: KeptFile, character: Character, model: SkinnedModel, normals: FittedNormals | None) -> _Morphs:
    """Morph targets of corrections and of normals; weights of what the character has, at rest."""
    corrections = model.corrections
    names = target_names(model.rank)
    columns = [] if corrections is None else [np.asarray(corrections.coefficients, np.float64)]
    spans = [np.abs(c).max(axis=0).clip(1e-30) for c in columns]  # weights stay in -1 … 1, as far as players go
    moves_normals = normals is not None and normals.basis is not None and normals.coefficients is not None
    if moves_normals and normals is not None and normals.coefficients is not None:
        columns.append(np.asarray(normals.coefficients, np.float64))
        names += [f"normals_{m}" for m in range(columns[-1].shape[1])]
    weights = np.concatenate([c / s for c, s in zip(columns, [*spans, 1.0], strict=False)], axis=1) if columns else None
    before: dict[int, Float64] = {}
    for number, instance in enumerate(character.scene.instances):
        if corrections is not None:
            add_targets(file, instance, _targets(character, number, corrections, spans[0]))
        if moves_normals and normals is not None and normals.basis is not None:
            turned = normals.basis[:, character.vertices[number]] @ _turn(character.placements[number])
            add_targets(file, instance, MorphTargets(None, np.asarray(turned, np.float64)))
        if instance.node not in before:
            before[instance.node] = _weights_before(character, instance)
            if weights is not None:
                widen_weights(file, instance.node, len(instance.weights), weights.shape[1], names)
    return _Morphs(np.zeros((model.n_frames, 0)) if weights is None else weights, before)


def _targets(character: Character, number: int, corrections: Corrections, span: Float64) -> MorphTargets:
    pick, placement = character.vertices[number], character.placements[number]
    undo = np.linalg.inv(placement[:3, :3])
    positions = span[:, None, None] * (corrections.basis[:, pick] @ undo.T)
    if corrections.normal_basis is None:
        return MorphTargets(positions, None)
    return MorphTargets(positions, span[:, None, None] * (corrections.normal_basis[:, pick] @ _turn(placement)))


def _weights_before(character: Character, instance: MeshInstance) -> Float64:
    """Weights of the character's own targets in the rest pose; in files of Osteon those without animation."""
    return instance.weights if character.metadata is not None else np.zeros(len(instance.weights))


def _write_motion(
    file: KeptFile, character: Character, model: SkinnedModel, helpers: list[Helper], morphs: _Morphs
) -> None:
    """Keys of all that moves: in new animations, or of what is new in the character's own."""
    own = keeps_motion(character, model) and not _plays_targets(character)
    moved = _world_of_nodes(character, model, helpers)
    keys = find_node_keys(*_standing(character, helpers), moved, [clip.start for clip in model.clips])
    if own:
        keys = [k for k in keys if k.node >= len(character.document.items("nodes"))]
    names = [] if own else free_clip_names(file, [clip.name for clip in model.clips])
    for number, clip in enumerate([c.clip for c in character.clips] if own else model.clips):
        if own:
            animation, seconds = file.items("animations")[character.animations[number]], character.clips[number].moments
        else:
            animation, seconds = add_animation(file, names[number]), np.arange(clip.n_frames) / clip.fps
        frames = slice(clip.start, clip.stop)
        clip_keys = ClipKeys(file, animation, seconds)
        for each in keys:
            clip_keys.add(each, frames)
        for node, before in morphs.before.items():
            if morphs.weights.shape[1] or (not own and _differs(character, node, before)):
                add_weight_keys(file, animation, node, seconds, before, morphs.weights[frames])
        if not animation["channels"]:
            _stand_still(file, animation, keys, seconds)


def _plays_targets(character: Character) -> bool:
    """Whether the character's clips, or its mesh as it stands, show morph targets that the rest pose does not."""
    if character.metadata is not None:
        return False
    stands = any(np.abs(instance.weights).max(initial=0) > 0 for instance in character.scene.instances)
    return stands or any(channel.path == "weights" for clip in character.clips for channel in clip.channels)


def _differs(character: Character, node: int, weights: Float64) -> bool:
    instance = next(i for i in character.scene.instances if i.node == node)
    return bool(len(weights)) and not np.array_equal(instance.weights, weights)


def _stand_still(file: KeptFile, animation: JsonObject, keys: list[NodeKeys], seconds: Float64) -> None:
    """A clip in which nothing moves has one channel, because glTF asks for one."""
    still = next(k for k in keys if k.path == "rotation")
    values = np.tile(still.still, (len(still.values), 1))
    held = NodeKeys(still.node, still.path, values, still.still, -1.0)
    ClipKeys(file, animation, seconds).add(held, slice(0, len(seconds)))


def _standing(character: Character, helpers: list[Helper]) -> tuple[list[StandingNode], list[int]]:
    """All nodes without animation, and their order, parents first."""
    tree = character.scene.tree
    nodes = [
        StandingNode(parent, tree.parent_from_node[n], tree.placements.node(n)) for n, parent in enumerate(tree.parents)
    ]
    return nodes + [helper.standing for helper in helpers], tree.order + [helper.node for helper in helpers]


def _world_of_nodes(character: Character, model: SkinnedModel, helpers: list[Helper]) -> dict[int, Float64]:
    """(f,4,4) for each node that a bone moves."""
    transforms = np.zeros((model.n_frames, model.n_bones, 4, 4))
    transforms[:, :, :3], transforms[:, :, 3, 3] = model.track.transforms, 1
    moved: dict[int, Float64] = {}
    for bone, node in enumerate(character.bones.nodes):
        if node not in moved:
            moved[node] = transforms[:, bone] @ np.linalg.inv(character.bones.node_from_rest[bone])
    for helper in helpers:
        moved[helper.node] = transforms[:, helper.bone] @ helper.world_from_rest
    return moved
