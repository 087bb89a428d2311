"""Joints as nodes, one each or two, and how they move.

Every node that moves is a joint of the skin, because importers forget motion of others; joints come after those that
they hang on. Vertices follow the lower of two nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, FloatArray
from osteon.core.kinematics import parents_first
from osteon.core.quaternions import matrices_from_quaternions
from osteon.core.two_nodes import BoolArray, NodeTracks, split_transforms
from osteon.io.gltf.channels import Channel, ChannelPath
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.write.joints import Joints
from osteon.io.gltf.write.names import NodeNames

__all__ = [
    "ARMATURE",
    "JointNodes",
    "SkinJoints",
    "build_nodes",
    "list_joints",
    "node_entries",
    "shortest",
    "stand_node",
]

#: Nodes 0 and 1 hold the mesh and all joints.
ARMATURE = 1

_WIDTHS = {"translations": 3, "rotations": 4, "scales": 3, "child_rotations": 4}
_AT_REST = {"translation": [0.0, 0.0, 0.0], "rotation": [0.0, 0.0, 0.0, 1.0], "scale": [1.0, 1.0, 1.0]}


@dataclass(frozen=True, slots=True)
class JointNodes:
    """The nodes of all joints and their tracks."""

    joints: list[int]  # (b,) node of each joint
    movers: list[int]  # (b,) node with translation, rotation and scale: the joint itself, or the one above it
    tracks: NodeTracks  # f+1 frames, the rest pose last


@dataclass(frozen=True, slots=True)
class SkinJoints:
    """All nodes that move as the skin lists them, parents first."""

    nodes: list[int]  # (j,)
    joint_from_rest: Float64  # (j,3,4) inverse bind
    of_bone: list[int]  # (b,) where the joint of each bone is in the list

    @property
    def are_bones(self) -> bool:
        """Whether the joints are the bones, in their order."""
        return self.of_bone == list(range(len(self.nodes)))


def build_nodes(joints: Joints, starts: list[int], moments: Float64, has_key: BoolArray) -> JointNodes:
    """One or two nodes for each joint.

    `starts` are the first frames of the clips, `moments (f,)` when frames are, `has_key (f,b)` where joints have keys.
    """
    rest = len(joints.local) - 1
    tracks = _split(joints, [*starts, rest], np.append(moments, moments[-1] + 1), has_key)
    steps = 1 + tracks.needs_child.astype(np.int64)
    movers = (ARMATURE + 1 + np.cumsum(steps) - steps).tolist()
    nodes = [mover + int(two) for mover, two in zip(movers, tracks.needs_child, strict=True)]
    return JointNodes(nodes, movers, tracks)


def node_entries(joints: Joints, nodes: JointNodes, names: NodeNames) -> list[JsonObject]:
    """The JSON of the armature and all joints, from node ARMATURE on, as they stand in the rest pose."""
    entries: list[JsonObject] = [{"name": names.armature}]
    for b, (mover, joint) in enumerate(zip(nodes.movers, nodes.joints, strict=True)):
        if mover == joint:
            entries.append({"name": names.joints[b]})
        else:
            entries += [{"name": names.movers[b], "children": [joint]}, {"name": names.joints[b]}]
    for b, above in enumerate(joints.parents):
        owner = entries[0] if above < 0 else entries[nodes.joints[above] - ARMATURE]
        owner.setdefault("children", []).append(nodes.movers[b])
    return entries


def stand_node(entry: JsonObject, path: ChannelPath, value: FloatArray) -> None:
    """Let a node stand at a value without animation; what is as by default is not written."""
    numbers = shortest(value)
    if numbers != _AT_REST[path]:
        entry[path] = numbers


def list_joints(joints: Joints, nodes: JointNodes) -> SkinJoints:
    """The joints of the skin: of a bone of two nodes both."""
    listed: list[int] = []
    bind: list[Float64] = []
    of_bone = [0] * len(nodes.joints)
    for b in parents_first(joints.parents):
        if nodes.movers[b] != nodes.joints[b]:
            turn = matrices_from_quaternions(nodes.tracks.child_rotations[-1, b])
            listed.append(nodes.movers[b])
            bind.append(turn @ joints.joint_from_rest[b])
        of_bone[b] = len(listed)
        listed.append(nodes.joints[b])
        bind.append(joints.joint_from_rest[b])
    return SkinJoints(listed, np.stack(bind), of_bone)


def _split(joints: Joints, starts: list[int], moments: Float64, has_key: BoolArray) -> NodeTracks:
    """Two-node tracks in all frames, each joint's from the frames it has keys in."""
    keys = np.concatenate([has_key, np.ones((1, has_key.shape[1]), bool)])
    n_frames, n_bones = keys.shape
    found = {name: np.empty((n_frames, n_bones, width)) for name, width in _WIDTHS.items()}
    needs_child = np.zeros(n_bones, bool)
    for pattern in np.unique(keys, axis=1).T:
        frames = np.flatnonzero(pattern)
        bones = np.flatnonzero((keys == pattern[:, None]).all(axis=0))
        begins = np.flatnonzero(np.isin(frames, starts)).tolist()
        part = split_transforms(joints.local[frames][:, bones], begins, known=joints.one_node[bones], positive=True)
        needs_child[bones] = part.needs_child
        for name, track in found.items():
            path: ChannelPath = "rotation" if name.endswith("rotations") else "scale"
            for i, b in enumerate(bones):
                values = getattr(part, name)[:, i]
                keyed = len(frames) == n_frames
                track[:, b] = values if keyed else Channel(0, path, "LINEAR", moments[frames], values).at(moments)
    return NodeTracks(**found, needs_child=needs_child)


def shortest(values: FloatArray) -> list[float]:
    """Numbers that round to the same float32, with the fewest digits."""
    return [float(str(value)) for value in np.asarray(values, np.float32)]
