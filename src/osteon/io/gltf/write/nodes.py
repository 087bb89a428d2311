"""Joints as nodes: where they stand, who hangs below whom, and how they move.

A bone's transform T takes the rest pose to a frame. Its joint stands at B in the rest pose and at T B in the frame, so
the inverse bind matrix is the inverse of B. B shifts to the weighted centre of the bone's vertices (tracks then turn
about the middle of what they move), or is the placement that the skeleton gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, FloatArray
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.skeleton import Skeleton
from osteon.core.transforms import compose, identity, invert
from osteon.core.two_nodes import BoolArray, NodeTracks, split_transforms
from osteon.io.gltf.channels import Channel, ChannelPath
from osteon.io.gltf.json_types import JsonObject

__all__ = ["ARMATURE", "JointNodes", "Joints", "bone_centres", "build_nodes", "place_joints", "shortest"]

#: Nodes 0 and 1 hold the mesh and all joints.
ARMATURE = 1
#: A child hangs below its parent only if the parent never flattens more than this: its own numbers lose as many digits.
FLATTEST = 30.0

_WIDTHS = {"translations": 3, "rotations": 4, "scales": 3, "child_rotations": 4}


@dataclass(frozen=True, slots=True)
class Joints:
    """Where the joints stand in each frame, as they will be written."""

    names: tuple[str, ...]
    parents: tuple[int, ...]  # joint above, -1 for the armature
    local: Float64  # (f+1,b,3,4) parent_from_joint; the last one is the rest pose
    world: Float64  # (f+1,b,3,4) world_from_joint, likewise
    joint_from_rest: Float64  # (b,3,4) inverse bind


@dataclass(frozen=True, slots=True)
class JointNodes:
    """The nodes of all joints and their tracks."""

    entries: list[JsonObject]  # from node ARMATURE on
    joints: list[int]  # (b,) node of each joint
    movers: list[int]  # (b,) node with translation, rotation and scale: the joint itself, or the one above it
    tracks: NodeTracks  # f+1 frames, the rest pose last


def bone_centres(model: SkinnedModel) -> Float64:
    """(b,3) mean of each bone's vertices by weight; that of all vertices for a bone that has none."""
    total, sums = np.zeros(model.n_bones), np.zeros((model.n_bones, 3))
    np.add.at(total, model.skin.bones, model.skin.weights)
    np.add.at(sums, model.skin.bones, model.skin.weights[..., None] * model.rest[:, None, :].astype(np.float64))
    alone = total <= 0
    return np.where(alone[:, None], model.rest.mean(axis=0), sums / np.where(alone, 1, total)[:, None])


def place_joints(model: SkinnedModel) -> Joints:
    """Joints below one another as the skeleton says, or all below the armature."""
    skeleton = model.skeleton
    if skeleton is not None and len(skeleton.names) != model.n_bones:
        raise GeometryError(
            f"skeleton: {len(skeleton.names)} joints for {model.n_bones} bones; glTF needs one joint for each bone"
        )
    rest = identity(model.n_bones)
    rest[..., 3] = bone_centres(model)
    if skeleton is not None:
        world_from_joint = skeleton.world_from_joint.astype(np.float64)
        rest = np.where(_upright(world_from_joint)[:, None, None], world_from_joint, rest)
    transforms = np.concatenate([model.track.transforms.astype(np.float64), identity(1, model.n_bones)])
    world = compose(transforms, rest)
    if np.abs(world).max() > np.finfo(np.float32).max:
        raise GeometryError("the bones move farther than float32 reaches; scale the model down")
    names = model.track.names if skeleton is None else skeleton.names
    parents = _parents(skeleton, world)
    above = [identity(len(world)) if p < 0 else world[:, p] for p in parents]
    local = compose(invert(np.stack(above, axis=1)), world)
    return Joints(tuple(names), parents, local, world, invert(rest))


def _upright(matrices: FloatArray) -> BoolArray:
    """Whether matrices (…,3,4) can be undone without losing more than a digit or two."""
    values = np.linalg.svd(np.asarray(matrices[..., :3], np.float64), compute_uv=False)
    return np.asarray(values[..., 2] * FLATTEST > values[..., 0])


def _parents(skeleton: Skeleton | None, world: Float64) -> tuple[int, ...]:
    """The nearest ancestor that stands upright in every frame."""
    n_bones = world.shape[1]
    if skeleton is None:
        return tuple([-1] * n_bones)
    upright: BoolArray = np.asarray(_upright(world).all(axis=0))
    found: list[int] = []
    for j in range(n_bones):
        above = int(skeleton.parents[j])
        while above >= 0 and not upright[above]:
            above = int(skeleton.parents[above])
        found.append(above)
    return tuple(found)


def build_nodes(joints: Joints, starts: list[int], moments: Float64, has_key: BoolArray) -> JointNodes:
    """The armature and one or two nodes for each joint.

    `starts` are the first frames of the clips, `moments (f,)` when frames are, `has_key (f,b)` where joints have keys.
    """
    rest = len(joints.local) - 1
    tracks = _split(joints.local, [*starts, rest], np.append(moments, moments[-1] + 1), has_key)
    entries: list[JsonObject] = [{"name": "armature"}]
    nodes: list[int] = []
    movers: list[int] = []
    for b, name in enumerate(joints.names):
        movers.append(ARMATURE + len(entries))
        placement = _placement(tracks, rest, b)
        if tracks.needs_child[b]:
            nodes.append(movers[b] + 1)
            turn = shortest(tracks.child_rotations[rest, b])
            child = {"name": name} | ({"rotation": turn} if turn != [0.0, 0.0, 0.0, 1.0] else {})
            entries += [{"name": f"{name}_affine"} | placement | {"children": [nodes[b]]}, child]
        else:
            nodes.append(movers[b])
            entries.append({"name": name} | placement)
    for b, above in enumerate(joints.parents):
        owner = entries[0] if above < 0 else entries[nodes[above] - ARMATURE]
        owner.setdefault("children", []).append(movers[b])
    return JointNodes(entries, nodes, movers, tracks)


def _split(local: Float64, starts: list[int], moments: Float64, has_key: BoolArray) -> NodeTracks:
    """Two-node tracks in all frames, each joint's from the frames it has keys in."""
    keys = np.concatenate([has_key, np.ones((1, has_key.shape[1]), bool)])
    n_frames, n_bones = keys.shape
    found = {name: np.empty((n_frames, n_bones, width)) for name, width in _WIDTHS.items()}
    needs_child = np.zeros(n_bones, bool)
    for pattern in np.unique(keys, axis=1).T:
        frames = np.flatnonzero(pattern)
        bones = np.flatnonzero((keys == pattern[:, None]).all(axis=0))
        part = split_transforms(local[frames][:, bones], np.flatnonzero(np.isin(frames, starts)).tolist())
        needs_child[bones] = part.needs_child
        for name, track in found.items():
            path: ChannelPath = "rotation" if name.endswith("rotations") else "scale"
            for i, b in enumerate(bones):
                values = getattr(part, name)[:, i]
                keyed = len(frames) == n_frames
                track[:, b] = values if keyed else Channel(0, path, "LINEAR", moments[frames], values).at(moments)
    return NodeTracks(**found, needs_child=needs_child)


def _placement(tracks: NodeTracks, frame: int, bone: int) -> JsonObject:
    """Translation, rotation and scale of a node, without what is as by default."""
    all_parts = {
        "translation": (tracks.translations, [0.0, 0.0, 0.0]),
        "rotation": (tracks.rotations, [0.0, 0.0, 0.0, 1.0]),
        "scale": (tracks.scales, [1.0, 1.0, 1.0]),
    }
    values = {key: (shortest(track[frame, bone]), default) for key, (track, default) in all_parts.items()}
    return {key: value for key, (value, default) in values.items() if value != default}


def shortest(values: FloatArray) -> list[float]:
    """Numbers that round to the same float32, with the fewest digits."""
    return [float(str(value)) for value in np.asarray(values, np.float32)]
