"""The bones of a glTF scene: joints of skins, and nodes that carry a mesh of their own.

For a vertex of mesh instance i the file says x = sum_k w_k W_j(k) B_j(k) s, with W world_from_joint, B the inverse bind
matrix and s the stored vertex. The rest pose is M_i s (bind_pose), so bone j takes rest to pose by
T_j = W_j B_j M_i^-1. An instance without a skin hangs on one bone, its node, with B the identity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32, Int64
from osteon.core.clips import distinct_names
from osteon.core.skeleton import Skeleton
from osteon.core.skin import Skin
from osteon.core.transforms import invert
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.read.sampling import ScenePose
from osteon.io.gltf.read.scene import GltfScene, MeshInstance, parents_of_joints
from osteon.io.load.source import as_float32

__all__ = ["Bones", "gather_bones", "gather_skeleton", "gather_skin", "joints_of_vertices", "pick_bones"]

#: glTF has any number of sets of four; more than this many bones a vertex are not kept.
MOST_INFLUENCES = 8
#: Inverse bind matrices of a node that differ by less than this part of their size are one.
SAME_BIND = 1e-5
#: A bind matrix that squeezes more than this cannot be undone in float32.
WORST_CONDITION = 1e6


@dataclass(frozen=True, slots=True)
class Bones:
    """All bones of a scene in order of first use; a joint that several skins bind alike is one bone."""

    nodes: list[int]  # (b,)
    node_from_rest: Float64  # (b,4,4) B M^-1
    of_joint: list[Int64]  # for each instance: (j,) the bone of each joint of its skin, or of its node alone

    def transforms(self, pose: ScenePose) -> Float32:
        """(f,b,3,4) posed_from_rest; what grows beyond all bounds becomes infinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            world = np.stack([pose.world[node] for node in self.nodes], axis=1)
            return np.asarray((world @ self.node_from_rest)[:, :, :3], np.float32)

    def names(self, document: Document) -> tuple[str, ...]:
        entries = document.items("nodes")
        return distinct_names([document.text(entries[node], "name", f"node_{node}") for node in self.nodes])


def gather_bones(scene: GltfScene, placements: list[Float64]) -> Bones:
    """Bones of all instances; those on one skin, on one node, or on joints that are bound alike, share theirs."""
    nodes: list[int] = []
    matrices: list[Float64] = []
    bones_of_node: dict[int, list[int]] = {}
    of_joint: list[Int64] = []
    for instance, world_from_mesh in zip(scene.instances, placements, strict=True):
        joints = [instance.node] if instance.skin is None else instance.skin.nodes
        bind = np.eye(4)[None] if instance.skin is None else instance.skin.joint_from_mesh
        found = []
        for node, matrix in zip(joints, bind @ np.linalg.inv(world_from_mesh), strict=True):
            known = bones_of_node.setdefault(node, [])
            bone = next((b for b in known if _same_bind(matrices[b], matrix)), len(nodes))
            if bone == len(nodes):
                nodes.append(node)
                matrices.append(matrix)
                known.append(bone)
            found.append(bone)
        of_joint.append(np.array(found, np.int64))
    return Bones(nodes, np.stack(matrices), of_joint)


def pick_bones(bones: Bones, chosen: list[int]) -> Bones:
    """Only some of the bones, in a new order; vertices follow no others."""
    place = np.zeros(len(bones.nodes), np.int64)
    place[chosen] = np.arange(len(chosen))
    nodes = [bones.nodes[b] for b in chosen]
    return Bones(nodes, bones.node_from_rest[chosen], [place[of] for of in bones.of_joint])


def _same_bind(one: Float64, other: Float64) -> bool:
    """Whether two inverse bind matrices of a node are one, as far as float32 can tell."""
    return bool(np.abs(one - other).max() <= SAME_BIND * np.abs(one).max())


def gather_skin(scene: GltfScene, bones: Bones) -> Skin:
    """Influences of all vertices, at most eight each, scaled to a sum of one."""
    instances = [_influences(instance, of) for instance, of in zip(scene.instances, bones.of_joint, strict=True)]
    width = max(weights.shape[1] for _, weights in instances)
    indices = np.zeros((scene.n_vertices, width), np.int32)
    values = np.zeros((scene.n_vertices, width))
    start = 0
    for index, weights in instances:
        stop = start + len(index)
        indices[start:stop, : index.shape[1]] = index
        values[start:stop, : index.shape[1]] = weights
        start = stop
    return Skin(indices, values)


def _influences(instance: MeshInstance, bone_of_joint: Int64) -> tuple[Int32, Float64]:
    """(v,k) bones and weights of one instance; unused slots name bone 0."""
    influences = instance.geometry.influences
    if instance.skin is None or influences is None:
        return np.full((instance.n_vertices, 1), bone_of_joint[0], np.int32), np.ones((instance.n_vertices, 1))
    joints, weights = influences.joints, influences.weights
    if weights.shape[1] > MOST_INFLUENCES:
        order = np.argsort(-weights, axis=1, kind="stable")[:, :MOST_INFLUENCES]
        joints, weights = np.take_along_axis(joints, order, axis=1), np.take_along_axis(weights, order, axis=1)
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.where(weights > 0, bone_of_joint[joints], 0).astype(np.int32), weights


def joints_of_vertices(document: Document, scene: GltfScene) -> tuple[Int32, tuple[str, ...]]:
    """(v,) the joint that moves each vertex most, or its node where no joint does; and the names of these."""
    entries = document.items("nodes")
    nodes = []
    for instance in scene.instances:
        influences = instance.geometry.influences
        if instance.skin is None or influences is None:
            nodes.append(np.full(instance.n_vertices, instance.node))
        else:
            strongest = influences.weights.argmax(axis=1)[:, None]
            joints = np.take_along_axis(influences.joints, strongest, axis=1)[:, 0]
            nodes.append(np.array(instance.skin.nodes)[joints])
    used, number = np.unique(np.concatenate(nodes), return_inverse=True)
    names = tuple(document.text(entries[node], "name", f"node_{node}") for node in used)
    return number.reshape(-1).astype(np.int32), names


def gather_skeleton(document: Document, scene: GltfScene, bones: Bones) -> Skeleton | None:
    """The joints of all skins as a tree, if nothing but skins moves; rest placement is that of the bind."""
    if any(instance.skin is None for instance in scene.instances):
        return None
    if np.linalg.cond(bones.node_from_rest[:, :3, :3]).max() > WORST_CONDITION:
        return None  # a joint that was bound flat stands nowhere
    parents = parents_of_joints(scene, bones.nodes)
    world_from_joint = as_float32(invert(bones.node_from_rest[:, :3]))
    return Skeleton(bones.names(document), np.array(parents, np.int32), world_from_joint)
