"""The rest pose of a glTF scene: what an artist calls the bind pose, standing where the animation stands.

A skinned mesh is stored in its bind pose, but often in other units or axes than the scene (a model in centimetres below
a node that scales by 0.01). For joint j, M_j = world_from_joint inverse_bind takes the stored mesh into the scene. When
all M_j agree, the file's unanimated pose IS the bind pose, and it is used as it is. When they do not, the
file was saved in the middle of a movement: the stored mesh is then placed as a whole, by the M of the joint nearest the
root (among all skins that were bound together, so that body and clothes stay in place). If that matrix would distort
the mesh, or nothing is skinned, the unanimated pose is the rest pose. Morph weights have their unanimated values.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.io.gltf.scene import Scene, SkinJoints, pose_part

__all__ = ["rest_pose"]

#: Matrices of joints that differ by less than this part of their size agree.
AGREEMENT = 1e-3


def rest_pose(scene: Scene) -> Float32:
    """(v,3) vertices of all parts, one part after the other."""
    world = scene.tree.world_from_node({}, 1)
    skins = [part.skin for part in scene.parts if part.skin is not None]
    out = np.empty((1, scene.n_vertices, 3), np.float32)
    start = 0
    for part in scene.parts:
        stop = start + len(part.primitive.positions)
        placement = None if part.skin is None else _placement(part.skin, skins, world, scene.tree.depths)
        if placement is None:
            pose_part(part, world, part.weights[None], out[:, start:stop])
        else:
            shape = part.primitive.positions + np.tensordot(part.weights, part.primitive.deltas, axes=1)
            out[0, start:stop] = shape @ placement[:3, :3].T + placement[:3, 3]
        start = stop
    return np.asarray(out[0])


def _placement(skin: SkinJoints, skins: list[SkinJoints], world: list[Float64], depths: list[int]) -> Float64 | None:
    """Where to put a stored mesh as a whole; None to pose it by its joints."""
    bound_together = [other for other in skins if _share_bind(skin, other)]
    matrices = np.concatenate([_world_from_mesh(other, world) for other in bound_together])
    if _agree(matrices, matrices[0]):
        return None
    nodes = [node for other in bound_together for node in other.nodes]
    chosen: Float64 = matrices[min(range(len(nodes)), key=lambda i: (depths[nodes[i]], nodes[i]))]
    scales = np.linalg.svd(chosen[:3, :3], compute_uv=False)
    return chosen if scales[0] - scales[2] <= AGREEMENT * scales[0] and scales[2] > 0 else None


def _world_from_mesh(skin: SkinJoints, world: list[Float64]) -> Float64:
    return np.stack([world[node][0] for node in skin.nodes]) @ skin.joint_from_mesh


def _agree(matrices: Float64, one: Float64) -> bool:
    size = np.abs(one[:3, :3]).max()
    turn = np.abs(matrices[:, :3, :3] - one[:3, :3]).max()
    reach = max(np.abs(one[:3, 3]).max(), np.abs(matrices[:, :3, 3]).max(), size)
    return bool(turn <= AGREEMENT * size and np.abs(matrices[:, :3, 3] - one[:3, 3]).max() <= AGREEMENT * reach)


def _share_bind(skin: SkinJoints, other: SkinJoints) -> bool:
    """Whether both skins bind some joint in the same place."""
    where = {node: j for j, node in enumerate(other.nodes)}
    common = [(i, where[node]) for i, node in enumerate(skin.nodes) if node in where]
    return any(np.allclose(skin.joint_from_mesh[i], other.joint_from_mesh[j], rtol=1e-4, atol=1e-6) for i, j in common)
