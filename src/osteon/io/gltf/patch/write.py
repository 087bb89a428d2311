"""A model fitted to a character, written into the character's own document.

What the fit changed is appended; all else stays, byte for byte:

| changed                          | where |
| --- | --- |
| weights of every vertex          | JOINTS_n and WEIGHTS_n of the primitives refer to new accessors |
| motion that was found            | one new animation for each clip, with keys of the character's own nodes |
| motion of the character's clips  | nothing: its animations are that motion |
| helpers                          | nodes after all others, joints at the end of the skins |
| normals that the fit found       | NORMAL of the primitives refers to a new accessor |
| corrections                      | morph targets after those that a mesh has |

Vertices that follow a node, not a skin, follow that node as before.

Metadata of a document that Osteon wrote change with the model that they describe. Those on the order of vertices and
triangles stay true. Those on what the fit replaced are changed; a deformer, displacements, levels and light that were
made for the earlier weights are removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from osteon.core.animation import Clip, wider_type
from osteon.core.arrays import Float64
from osteon.core.character import Skin
from osteon.core.model import SkinnedModel
from osteon.io.gltf import JsonObject
from osteon.io.gltf.patch.character import Character
from osteon.io.gltf.patch.document import PatchedDocument
from osteon.io.gltf.patch.mesh import Morphs, add_weight_keys, own_meshes, replace_influences, write_surface
from osteon.io.gltf.patch.motion import (
    ClipKeys,
    Helper,
    NodeKeys,
    RestNode,
    add_animation,
    add_helpers,
    find_node_keys,
    free_clip_names,
    list_in_skins,
    place_helpers,
)


def keeps_mesh(character: Character, model: SkinnedModel) -> bool:
    """Whether a model has the vertices and triangles of the character, and its joints first.

    Not if morph targets of light come last in the mesh: a reader would take those of new corrections for light.
    """
    mesh, joints = character.model, character.model.n_bones
    if model.rank and _has_light_targets(character):
        return False
    same = model.n_vertices == mesh.n_vertices and np.array_equal(model.faces, mesh.faces)
    return same and model.n_bones >= joints and model.track.names[:joints] == mesh.track.names


def _has_light_targets(character: Character) -> bool:
    painted = {} if character.metadata is None else character.metadata.entries.get("painted")
    return isinstance(painted, dict) and bool(painted.get("targets"))


def keeps_motion(character: Character, model: SkinnedModel) -> bool:
    """Whether the joints of a model move exactly as in the character's own clips."""
    own = character.model.track.transforms
    joints = model.track.transforms[:, : own.shape[1]]
    return bool(character.animations) and own.shape == joints.shape and np.array_equal(own, joints)


def write_on_character(path: Path, character: Character, model: SkinnedModel) -> None:
    """Write the character with the weights and motion of `model`, and its normals if the fit found others."""
    file = PatchedDocument(character.document)
    instances = character.scene.instances
    own_meshes(file, instances)
    helpers = place_helpers(character, model)
    add_helpers(file, character, helpers)
    list_in_skins(file, character, helpers)
    for number, instance in enumerate(instances):
        if instance.skin is not None and instance.geometry.influences is not None:
            skin, joints = _skin_of(character, model, number, helpers)
            replace_influences(file, instance, skin, joints)
    morphs = write_surface(file, character, model)
    _write_motion(file, character, model, helpers, morphs)
    change_metadata(file, character, model)
    path.write_bytes(file.to_bytes(path.suffix.lower()))


def _skin_of(character: Character, model: SkinnedModel, number: int, helpers: list[Helper]) -> tuple[Skin, list[int]]:
    """Influences of the vertices of an instance, and the joint index of each bone in its skin."""
    instance, joints = character.scene.instances[number], character.bones.of_joint[number]
    assert instance.skin is not None
    joint_of_bone = [0] * model.n_bones
    for joint, bone in reversed(list(enumerate(joints.tolist()))):
        joint_of_bone[bone] = joint
    for i, helper in enumerate(helpers):
        joint_of_bone[helper.bone] = len(instance.skin.nodes) + i
    return model.skin.take(character.vertices[number].astype(np.int32)), joint_of_bone


def _write_motion(
    file: PatchedDocument, character: Character, model: SkinnedModel, helpers: list[Helper], morphs: Morphs
) -> None:
    """Write keys of all moving nodes to new animations, or only those of new nodes to the character's own."""
    own = keeps_motion(character, model) and not _plays_targets(character)
    moved = _world_of_nodes(character, model, helpers)
    keys = find_node_keys(*_rest_nodes(character, helpers), moved, [clip.start for clip in model.clips])
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
            _add_constant(file, animation, keys, seconds)


def _plays_targets(character: Character) -> bool:
    """Whether the character's clips or its mesh have morph weights that differ from those of the rest pose."""
    if character.metadata is not None:
        return False
    at_rest = any(np.abs(instance.weights).max(initial=0) > 0 for instance in character.scene.instances)
    return at_rest or any(channel.path == "weights" for clip in character.clips for channel in clip.channels)


def _differs(character: Character, node: int, weights: Float64) -> bool:
    instance = next(i for i in character.scene.instances if i.node == node)
    return bool(len(weights)) and not np.array_equal(instance.weights, weights)


def _add_constant(file: PatchedDocument, animation: JsonObject, keys: list[NodeKeys], seconds: Float64) -> None:
    """Add a constant channel to a clip without motion, because glTF requires one."""
    still = next(k for k in keys if k.path == "rotation")
    values = np.tile(still.still, (len(still.values), 1))
    held = NodeKeys(still.node, still.path, values, still.still, -1.0)
    ClipKeys(file, animation, seconds).add(held, slice(0, len(seconds)))


def _rest_nodes(character: Character, helpers: list[Helper]) -> tuple[list[RestNode], list[int]]:
    """All nodes without animation, and their order, parents first."""
    tree = character.scene.tree
    nodes = [
        RestNode(parent, tree.parent_from_node[n], tree.placements.node(n)) for n, parent in enumerate(tree.parents)
    ]
    return nodes + [helper.rest for helper in helpers], tree.order + [helper.node for helper in helpers]


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


#: Metadata that were made for the earlier weights.
_OUTDATED = ("deformer", "displacements", "levels", "light")


def change_metadata(file: PatchedDocument, character: Character, model: SkinnedModel) -> None:
    """Change the metadata of a file that Osteon wrote to those of the new model."""
    if character.metadata is None:
        return
    metadata: JsonObject = file.root["asset"]["extras"]["osteon"]
    for key in _OUTDATED:
        metadata.pop(key, None)
    metadata["influences"] = model.skin.n_influences
    metadata["bone_type"] = wider_type(character.model.track.bone_type, model.track.bone_type)
    append_clip_metadata(file, model.clips)
    if "low" in metadata:
        added = 0 if model.corrections is None else model.corrections.n_columns
        metadata["low"] = [*metadata["low"], *([0.0] * added)]
        metadata["span"] = [*metadata["span"], *([1.0] * added)]
    _append_helpers(file, metadata, character, model)


def append_clip_metadata(file: PatchedDocument, clips: Iterable[Clip]) -> None:
    """Append clips to the metadata of a file that Osteon wrote, with the names of their animations, the last ones."""
    metadata = file.root.get("asset", {}).get("extras", {}).get("osteon", {})
    known = metadata.get("clips")
    if known is None:
        return
    metadata.pop("light", None)  # it has no coefficients for the new frames
    added = file.items("animations")[len(file.document.items("animations")) :]
    metadata["clips"] = [
        *known,
        *(
            {"name": animation["name"], "frames": clip.n_frames, "fps": clip.fps}
            for animation, clip in zip(added, clips, strict=False)
        ),
    ]


def _append_helpers(file: PatchedDocument, metadata: JsonObject, character: Character, model: SkinnedModel) -> None:
    added = model.track.names[character.model.n_bones :]
    if not added:
        return
    skin = character.scene.instances[0].skin
    assert skin is not None
    if "bone_joints" in metadata:
        metadata["bone_joints"] = [*metadata["bone_joints"], *range(len(skin.nodes), len(skin.nodes) + len(added))]
    for key in ("joint_names", "bones"):
        if key in metadata:
            metadata[key] = [*metadata[key], *added]
    if "parents" in metadata and model.skeleton is not None:
        metadata["parents"] = model.skeleton.parents.tolist()
        metadata["joints"] = file.add(np.asarray(model.skeleton.world_from_joint).reshape(-1), "data")
