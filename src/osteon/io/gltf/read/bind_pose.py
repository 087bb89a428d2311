"""The rest pose of a glTF scene: what an artist calls the bind pose, standing where the animation stands.

A skinned mesh is stored in its bind pose, but often in other units or axes than the scene (a model in centimetres below
a node that scales by 0.01). For joint j, M_j = world_from_joint inverse_bind takes the stored mesh into the scene. When
all M_j agree, the file's unanimated pose IS the bind pose, and it is used as it is. When they do not, the
file was saved in the middle of a movement: the stored mesh is then placed as a whole, by the M of the joint nearest the
root (among all skins that were bound together, so that body and clothes stay in place). If that matrix would distort
the mesh, or nothing is skinned, the unanimated pose is the rest pose. Morph weights have their unanimated values.

A skinned model needs one matrix for all of a mesh, whatever it does (`rest_placements`): bones then take the rest pose
where they took the stored mesh.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.io.gltf.read.scene import GltfScene, SkinJoints, pose_instance

__all__ = ["rest_placements", "rest_pose"]

#: Matrices of joints that differ by less than this part of their size agree.
AGREEMENT = 1e-3
#: What float32 leaves of a product that is the identity on paper.
ROUNDING = 1e-6
#: A matrix that shrinks some direction by more than this cannot be undone in float32.
FLAT = 1e-5
#: Neither can one that shrinks all directions to less than this.
TINY = 1e-30


@dataclass(frozen=True, slots=True)
class _Bind:
    """Where the stored mesh of a skin stands as a whole."""

    world_from_mesh: Float64  # (4,4)
    agrees: bool  # all joints say the same
    keeps_shape: bool  # it scales all directions alike


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
    """(4,4) for each instance: one matrix that can be undone and takes its stored mesh to the rest pose."""
    world = scene.tree.world_from_node({}, 1)
    binds = _binds(scene, world)
    found = []
    for instance in scene.instances:
        matrix = np.array(
            world[instance.node][0] if instance.skin is None else binds[instance.skin.number].world_from_mesh
        )
        matrix[3] = 0, 0, 0, 1  # the row that a rest pose cannot show
        found.append(matrix if _can_be_undone(matrix) and not _is_identity(matrix) else np.eye(4))
    return found


def _can_be_undone(matrix: Float64) -> bool:
    scales = _scales(matrix)
    return bool(scales[2] > max(FLAT * scales[0], TINY))


def _is_identity(matrix: Float64) -> bool:
    return bool(np.abs(matrix - np.eye(4)).max() <= ROUNDING)


def _scales(matrix: Float64) -> Float64:
    """Singular values, largest first; all zero for a matrix that has grown beyond all bounds."""
    if not np.isfinite(matrix).all():
        return np.zeros(3)
    return np.asarray(np.linalg.svd(matrix[:3, :3], compute_uv=False))


def _binds(scene: GltfScene, world: list[Float64]) -> dict[int, _Bind]:
    skins = {instance.skin.number: instance.skin for instance in scene.instances if instance.skin is not None}
    return {number: _bind(skin, list(skins.values()), world, scene.tree.depths) for number, skin in skins.items()}


@np.errstate(over="ignore", invalid="ignore")  # what grows beyond all bounds is named by the frame it is in
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
    turn = np.abs(matrices[:, :3, :3] - one[:3, :3]).max()
    reach = max(np.abs(one[:3, 3]).max(), np.abs(matrices[:, :3, 3]).max(), size)
    return bool(turn <= AGREEMENT * size and np.abs(matrices[:, :3, 3] - one[:3, 3]).max() <= AGREEMENT * reach)


def _share_bind(skin: SkinJoints, other: SkinJoints) -> bool:
    """Whether both skins bind some joint in the same place; every skin does so with itself."""
    where = {node: j for j, node in enumerate(other.nodes)}
    common = [(i, where[node]) for i, node in enumerate(skin.nodes) if node in where]
    close = (np.allclose(skin.joint_from_mesh[i], other.joint_from_mesh[j], rtol=1e-4, atol=1e-6) for i, j in common)
    return skin is other or any(close)
