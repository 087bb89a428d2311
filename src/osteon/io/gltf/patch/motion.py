"""Bone motion as keys of a character's own nodes, new animations, and nodes for helper bones.

A bone's transform T determines where its node is in the world: W = T N^-1, with N node_from_rest. In its parent the
node is at L = W_parent^-1 W, which translation, rotation and scale represent exactly as long as no parent stretches
unequally (`two_nodes.split_scale`). Parents are taken as the file will hold them, rounded to float32, so that errors do
not add up along a chain. A scale that differs from the node's own by rounding is the node's own, and gets no keys.

A helper bone is the last child of the joint that it works with. In clips of the character without keys for it, it does
not move relative to that joint, so its vertices follow the joint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.animation import RIGID, distinct_names
from osteon.core.arrays import Float64, FloatArray
from osteon.core.model import SkinnedModel
from osteon.core.transforms import keep_hemisphere, nearest_rotation, quaternions_from_matrices
from osteon.io.gltf import JsonObject
from osteon.io.gltf.channels import Channel, ChannelPath
from osteon.io.gltf.patch.character import Character
from osteon.io.gltf.patch.document import PatchedDocument
from osteon.io.gltf.read.nodes import Placement
from osteon.io.gltf.write.joints import set_node_rest
from osteon.io.two_nodes import split_scale

#: A translation, rotation or scale that differs from its rest value by less, relative to its size, needs no keys.
STILL = 1e-6


@dataclass(frozen=True, slots=True)
class RestNode:
    """A node without animation."""

    parent: int  # -1 at a root
    local: Float64  # (4,4) parent_from_node
    parts: Placement


@dataclass(frozen=True, slots=True)
class NodeKeys:
    """One property of one node in all frames."""

    node: int
    path: ChannelPath
    values: Float64  # (f,n)
    still: Float64  # (n,) without animation
    tolerance: float  # smaller differences from that need no keys

    def moves(self, frames: slice) -> bool:
        """Whether the property needs keys in these frames."""
        return bool(np.abs(self.values[frames] - self.still).max() > self.tolerance)


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def find_node_keys(
    nodes: Sequence[RestNode], order: Sequence[int], moved: Mapping[int, Float64], starts: Sequence[int]
) -> list[NodeKeys]:
    """Keys of all nodes with world matrices (f,4,4) in `moved`; `starts` are the first frames of clips."""
    world: dict[int, Float64] = {}
    found: list[NodeKeys] = []
    for node in order:
        parent = world[nodes[node].parent] if nodes[node].parent >= 0 else np.eye(4)
        if node not in moved:
            world[node] = parent @ nodes[node].local
            continue
        local = np.linalg.inv(parent) @ moved[node]
        parts = _rounded(split_matrices(local, nodes[node].parts, starts))
        world[node] = parent @ parts.parent_from_node()
        found += _keys(node, parts, nodes[node].parts, local)
    return found


def _keys(node: int, parts: Placement, still: Placement, local: Float64) -> list[NodeKeys]:
    size = max(float(np.abs(local[..., :3, 3]).max()), float(np.abs(still.translation).max()))
    rotation = still.rotation * np.where((parts.rotation[0] * still.rotation).sum() < 0, -1, 1)
    return [
        NodeKeys(node, "translation", parts.translation, still.translation, STILL * size),
        NodeKeys(node, "rotation", parts.rotation, rotation, STILL),
        NodeKeys(node, "scale", parts.scale, still.scale, STILL * float(np.abs(still.scale).max())),
    ]


def split_matrices(local: Float64, still: Placement, starts: Sequence[int]) -> Placement:
    """The three parts of matrices (f,4,4); the scale is the node's own where it differs by rounding only."""
    linear = local[..., :3, :3]
    rotation, scale = split_scale(linear, np.where(still.scale < 0, -1.0, 1.0))
    if (np.abs(scale - still.scale) <= RIGID / 2 * np.abs(still.scale)).all():
        scale = np.broadcast_to(still.scale, scale.shape).copy()
        rotation = nearest_rotation(linear * scale[..., None, :])
    quaternions = quaternions_from_matrices(rotation)
    if quaternions[0] @ still.rotation < 0:
        quaternions[0] = -quaternions[0]
    keep_hemisphere(quaternions[:, None], [s for s in starts if s], upright=False)
    return Placement(local[..., :3, 3].copy(), quaternions, scale)


def _rounded(parts: Placement) -> Placement:
    def stored(values: FloatArray) -> Float64:
        return values.astype(np.float32).astype(np.float64)

    return Placement(stored(parts.translation), stored(parts.rotation), stored(parts.scale))


class ClipKeys:
    """The channels of one animation, one after the other."""

    def __init__(self, file: PatchedDocument, animation: JsonObject, seconds: Float64) -> None:
        self.file = file
        self.animation = animation
        self.seconds = seconds  # (f,) of its frames

    def add(self, keys: NodeKeys, frames: slice) -> None:
        """Add a channel if the node moves in these frames."""
        if not keys.moves(frames):
            return
        values, seconds = keys.values[frames], self.seconds
        if np.abs(values - values[0]).max() <= keys.tolerance:
            ends = np.unique([0, len(values) - 1])
            values, seconds = values[ends], seconds[ends]
        add_channel(self.file, self.animation, Channel(keys.node, keys.path, "LINEAR", seconds, values))


def add_animation(file: PatchedDocument, name: str) -> JsonObject:
    """A new animation without channels."""
    entry: JsonObject = {"name": name, "channels": [], "samplers": []}
    file.append("animations", entry)
    return entry


def add_channel(file: PatchedDocument, animation: JsonObject, channel: Channel) -> None:
    """Append a channel with its sampler to an animation."""
    width = channel.values.shape[-1]
    values = channel.values.reshape(-1) if channel.path == "weights" else channel.values.reshape(-1, width)
    sampler: JsonObject = {"input": file.add_times(channel.times), "output": file.add(values, "keys")}
    if channel.interpolation != "LINEAR":
        sampler["interpolation"] = channel.interpolation
    samplers = animation.setdefault("samplers", [])
    target = {"node": channel.node, "path": channel.path}
    animation.setdefault("channels", []).append({"sampler": len(samplers), "target": target})
    samplers.append(sampler)
    if channel.path != "weights":
        _decompose_matrix(file, channel.node)


def _decompose_matrix(file: PatchedDocument, node: int) -> None:
    """Replace a node's matrix by three parts, as glTF requires of animated nodes: glTF 2.0, section 3.5.2."""
    from osteon.io.gltf.read.nodes import read_nodes

    entry = file.items("nodes")[node]
    if "matrix" not in entry or node >= len(file.document.items("nodes")):
        return
    parts = read_nodes(file.document).placements.node(node)
    del entry["matrix"]
    entry |= {
        "translation": parts.translation.tolist(),
        "rotation": parts.rotation.tolist(),
        "scale": parts.scale.tolist(),
    }


def free_clip_names(file: PatchedDocument, names: Sequence[str]) -> tuple[str, ...]:
    """The names, made different from those of the document's clips."""
    there = [file.document.text(entry, "name", f"animation_{i}") for i, entry in enumerate(file.items("animations"))]
    return distinct_names([*dict.fromkeys(there), *names])[len(dict.fromkeys(there)) :]


@dataclass(frozen=True, slots=True)
class Helper:
    """A bone that the character does not have."""

    bone: int
    node: int
    name: str
    world_from_rest: Float64  # (4,4) bind placement
    rest: RestNode


def place_helpers(character: Character, model: SkinnedModel) -> list[Helper]:
    """The rest placement of a model's bones after those of the character."""
    known, first = character.model.n_bones, len(character.document.items("nodes"))
    return [_place_helper(character, model, bone, first + bone - known) for bone in range(known, model.n_bones)]


def _place_helper(character: Character, model: SkinnedModel, bone: int, node: int) -> Helper:
    place, parent, local = np.eye(4), -1, np.eye(4)
    if model.skeleton is not None:
        place[:3] = model.skeleton.world_from_joint[bone]
        owner = int(model.skeleton.parents[bone])
        parent = character.bones.nodes[owner] if owner >= 0 else -1
        local = character.bones.node_from_rest[owner] @ place if owner >= 0 else place
    default = Placement(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]), np.ones(3))
    parts = split_matrices(local[None], default, [0]).node(0)
    return Helper(bone, node, model.track.names[bone], place, RestNode(parent, parts.parent_from_node(), parts))


def add_helpers(file: PatchedDocument, character: Character, helpers: Sequence[Helper]) -> None:
    """Add nodes for the helpers."""
    for helper in helpers:
        entry = {"name": helper.name}
        parts = helper.rest.parts
        set_node_rest(entry, "translation", parts.translation.astype(np.float32))
        set_node_rest(entry, "rotation", parts.rotation.astype(np.float32))
        set_node_rest(entry, "scale", parts.scale.astype(np.float32))
        assert file.append("nodes", entry) == helper.node
        if helper.rest.parent >= 0:
            file.items("nodes")[helper.rest.parent].setdefault("children", []).append(helper.node)
        elif file.root.get("scenes"):
            scene = file.document.whole(file.root, "scene", "the file", 0)
            file.items("scenes")[scene].setdefault("nodes", []).append(helper.node)


def list_in_skins(file: PatchedDocument, character: Character, helpers: Sequence[Helper]) -> None:
    """Make the helpers joints of every skin that is shown."""
    if not helpers:
        return
    done: set[int] = set()
    for instance, placement in zip(character.scene.instances, character.placements, strict=True):
        if instance.skin is None or instance.skin.number in done:
            continue
        done.add(instance.skin.number)
        bind = [*instance.skin.joint_from_mesh, *(np.linalg.inv(h.world_from_rest) @ placement for h in helpers)]
        entry = file.items("skins")[instance.skin.number]
        columns = np.stack(bind).transpose(0, 2, 1).reshape(-1, 16)
        entry["inverseBindMatrices"] = file.add(columns, "bind")
        entry["joints"] = [*entry["joints"], *(h.node for h in helpers)]
