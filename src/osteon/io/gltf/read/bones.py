"""The rest pose of a scene, and its bones: joints of skins, and nodes that hold a mesh without a skin.

**Rest pose.** A skinned mesh is stored in its bind pose, but often in other units or axes than the scene (a model in
centimetres whose parent node scales by 0.01). For joint j, M_j = world_from_joint inverse_bind takes the stored mesh
into the scene. When all M_j agree, the file's unanimated pose is the bind pose and is used as it is. When they do not,
the file was saved in the middle of a movement: the stored mesh is then placed as a whole, by the M of the joint nearest
the root (among all skins that were bound together, so that body and clothes stay in place). If that matrix would
distort the mesh, or nothing is skinned, the unanimated pose is the rest pose. Morph weights have their unanimated
values.

A skinned model needs one matrix for all of a mesh in any case (`rest_placements`): bones then take the rest pose to
where they took the stored mesh.

**Bones.** A vertex of mesh instance i is at x = sum_k w_k W_j(k) B_j(k) s, with W world_from_joint, B the inverse bind
matrix and s the stored vertex. The rest pose is M_i s, so bone j takes rest to pose by T_j = W_j B_j M_i^-1. An
instance without a skin follows one bone, its node, with B the identity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.animation import distinct_names
from osteon.core.arrays import Float32, Float64, Int32, Int64
from osteon.core.character import Skeleton, Skin
from osteon.core.transforms import invert
from osteon.io.gltf.read.animations import ScenePose
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.read.scene import GltfScene, MeshInstance, SkinJoints, parents_of_joints, pose_instance
from osteon.io.load.source import as_float32

#: Matrices of joints that differ by less than this fraction of their size agree.
AGREEMENT = 1e-3
#: Rounding error of float32 in a product that should be the identity.
ROUNDING = 1e-6
#: A matrix whose smallest singular value is below this fraction of its largest cannot be inverted in float32.
FLAT = 1e-5
#: Neither can one whose singular values are all below this.
TINY = 1e-30


@dataclass(frozen=True, slots=True)
class _Bind:
    """The placement of the stored mesh of a skin as a whole."""

    world_from_mesh: Float64  # (4,4)
    agrees: bool  # all joints have this matrix
    keeps_shape: bool  # it scales uniformly


def rest_pose(scene: GltfScene) -> Float32:
    """(v,3) vertices of all instances, one after the other."""
    world = scene.tree.world_from_node({}, 1)
    binds = _binds(scene, world)
    out = np.empty((1, scene.n_vertices, 3), np.float32)
    start = 0
    for instance in scene.instances:
        stop = start + instance.n_vertices
        bind = None if instance.skin is None else binds[instance.skin.number]
        if bind is None or bind.agrees or not bind.keeps_shape:
            pose_instance(instance, world, instance.weights[None], out[:, start:stop])
        else:
            shape = instance.geometry.positions + np.tensordot(instance.weights, instance.geometry.deltas, axes=1)
            out[0, start:stop] = shape @ bind.world_from_mesh[:3, :3].T + bind.world_from_mesh[:3, 3]
        start = stop
    return np.asarray(out[0])


def rest_placements(scene: GltfScene) -> list[Float64]:
    """(4,4) for each instance: one invertible matrix that takes its stored mesh to the rest pose."""
    world = scene.tree.world_from_node({}, 1)
    binds = _binds(scene, world)
    found = []
    for instance in scene.instances:
        matrix = np.array(
            world[instance.node][0] if instance.skin is None else binds[instance.skin.number].world_from_mesh
        )
        matrix[3] = 0, 0, 0, 1  # a rest pose has no perspective
        scales = _scales(matrix)
        invertible = scales[2] > max(FLAT * scales[0], TINY)
        found.append(matrix if invertible and np.abs(matrix - np.eye(4)).max() > ROUNDING else np.eye(4))
    return found


def _scales(matrix: Float64) -> Float64:
    """Singular values, largest first; all zero for a matrix that is not finite."""
    if not np.isfinite(matrix).all():
        return np.zeros(3)
    return np.asarray(np.linalg.svd(matrix[:3, :3], compute_uv=False))


def _binds(scene: GltfScene, world: list[Float64]) -> dict[int, _Bind]:
    skins = {instance.skin.number: instance.skin for instance in scene.instances if instance.skin is not None}
    return {number: _bind(skin, list(skins.values()), world, scene.tree.depths) for number, skin in skins.items()}


@np.errstate(over="ignore", invalid="ignore")  # an overflow is reported later, with its frame
def _bind(skin: SkinJoints, skins: list[SkinJoints], world: list[Float64], depths: list[int]) -> _Bind:
    bound_together = [other for other in skins if _share_bind(skin, other)]
    matrices = np.concatenate([_world_from_mesh(other, world) for other in bound_together])
    nodes = [node for other in bound_together for node in other.nodes]
    chosen: Float64 = matrices[min(range(len(nodes)), key=lambda i: (depths[nodes[i]], nodes[i]))]
    scales = _scales(chosen)
    keeps_shape = scales[0] - scales[2] <= AGREEMENT * scales[0] and scales[2] > 0
    return _Bind(chosen, _agree(matrices, matrices[0]), bool(keeps_shape))


def _world_from_mesh(skin: SkinJoints, world: list[Float64]) -> Float64:
    return np.stack([world[node][0] for node in skin.nodes]) @ skin.joint_from_mesh


def _agree(matrices: Float64, one: Float64) -> bool:
    size = np.abs(one[:3, :3]).max()
    linear = np.abs(matrices[:, :3, :3] - one[:3, :3]).max()
    reach = max(np.abs(one[:3, 3]).max(), np.abs(matrices[:, :3, 3]).max(), size)
    return bool(linear <= AGREEMENT * size and np.abs(matrices[:, :3, 3] - one[:3, 3]).max() <= AGREEMENT * reach)


def _share_bind(skin: SkinJoints, other: SkinJoints) -> bool:
    """Whether both skins have the same inverse bind matrix for some joint; every skin does with itself."""
    joint_of = {node: j for j, node in enumerate(other.nodes)}
    common = [(i, joint_of[node]) for i, node in enumerate(skin.nodes) if node in joint_of]
    close = (np.allclose(skin.joint_from_mesh[i], other.joint_from_mesh[j], rtol=1e-4, atol=1e-6) for i, j in common)
    return skin is other or any(close)


#: glTF allows any number of sets of four; of each vertex the strongest bones are kept, at most this many.
MOST_INFLUENCES = 8
#: Inverse bind matrices of a node that differ by less than this fraction of their size are the same.
SAME_BIND = 1e-5
#: A bind matrix with a larger condition number cannot be inverted in float32.
WORST_CONDITION = 1e6


@dataclass(frozen=True, slots=True)
class Bones:
    """All bones of a scene in order of first use; a joint with the same bind matrix in several skins is one bone."""

    nodes: list[int]  # (b,)
    node_from_rest: Float64  # (b,4,4) B M^-1
    of_joint: list[Int64]  # for each instance: (j,) the bone of each joint of its skin, or of its node alone

    def transforms(self, pose: ScenePose) -> Float32:
        """(f,b,3,4) posed_from_rest; an overflow becomes infinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            world = np.stack([pose.world[node] for node in self.nodes], axis=1)
            return np.asarray((world @ self.node_from_rest)[:, :, :3], np.float32)

    def names(self, document: Document) -> tuple[str, ...]:
        entries = document.items("nodes")
        return distinct_names([document.text(entries[node], "name", f"node_{node}") for node in self.nodes])


def gather_bones(scene: GltfScene, placements: list[Float64]) -> Bones:
    """Bones of all instances, shared where they have the same skin, node, or joint with the same bind matrix."""
    nodes: list[int] = []
    matrices: list[Float64] = []
    bones_of_node: dict[int, list[int]] = {}
    of_joint: list[Int64] = []
    for instance, world_from_mesh in zip(scene.instances, placements, strict=True):
        joints = [instance.node] if instance.skin is None else instance.skin.nodes
        bind = np.eye(4)[None] if instance.skin is None else instance.skin.joint_from_mesh
        found = []
        for node, matrix in zip(joints, bind @ np.linalg.inv(world_from_mesh), strict=True):
            known, limit = bones_of_node.setdefault(node, []), SAME_BIND * np.abs(matrix).max()
            bone = next((b for b in known if np.abs(matrices[b] - matrix).max() <= limit), len(nodes))
            if bone == len(nodes):
                nodes.append(node)
                matrices.append(matrix)
                known.append(bone)
            found.append(bone)
        of_joint.append(np.array(found, np.int64))
    return Bones(nodes, np.stack(matrices), of_joint)


def pick_bones(bones: Bones, chosen: list[int]) -> Bones:
    """The `chosen` bones in this order; vertices must follow no others."""
    place = np.zeros(len(bones.nodes), np.int64)
    place[chosen] = np.arange(len(chosen))
    nodes = [bones.nodes[b] for b in chosen]
    return Bones(nodes, bones.node_from_rest[chosen], [place[of] for of in bones.of_joint])


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
    """(v,k) bones and weights of one instance; unused slots have bone 0."""
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
    """(v,) the joint with the largest weight of each vertex, or its node without a skin; and the names of these."""
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
    """The joints of all skins as a tree, placed as in the bind pose; None if an instance has no skin."""
    if any(instance.skin is None for instance in scene.instances):
        return None
    if np.linalg.cond(bones.node_from_rest[:, :3, :3]).max() > WORST_CONDITION:
        return None  # a singular bind matrix has no inverse, so there is no rest placement
    parents = parents_of_joints(scene, bones.nodes)
    world_from_joint = as_float32(invert(bones.node_from_rest[:, :3]))
    return Skeleton(bones.names(document), np.array(parents, np.int32), world_from_joint)
