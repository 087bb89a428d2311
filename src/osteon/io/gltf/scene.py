"""The parts of a scene, and where their vertices are at a moment.

Vertices come out in world space: morphed, then either skinned (the node that holds a skinned mesh does not move it, as
the glTF specification says) or placed by their node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.io.gltf.accessors import read_floats
from osteon.io.gltf.document import Document
from osteon.io.gltf.nodes import NodeTree, read_nodes, scene_nodes
from osteon.io.gltf.primitives import Influences, Primitive, read_primitives

__all__ = ["Part", "Scene", "SkinJoints", "pose_part", "read_scene"]


@dataclass(frozen=True, slots=True)
class SkinJoints:
    """The joints of a skin, and how to get from the mesh to each."""

    nodes: list[int]  # (j,)
    joint_from_mesh: Float64  # (j,4,4) inverse bind matrices


@dataclass(frozen=True, slots=True)
class Part:
    """A primitive as one node shows it."""

    primitive: Primitive
    node: int
    name: str
    skin: SkinJoints | None
    weights: Float64  # (m,) of the morph targets, without animation


@dataclass(frozen=True, slots=True)
class Scene:
    """All that is shown."""

    tree: NodeTree
    parts: list[Part]

    @property
    def n_vertices(self) -> int:
        return sum(len(part.primitive.positions) for part in self.parts)

    def target_counts(self) -> dict[int, int]:
        """Morph targets of the mesh that a node holds."""
        return {part.node: len(part.weights) for part in self.parts}


def read_scene(document: Document) -> Scene:
    """Everything of the default scene that consists of triangles."""
    tree = read_nodes(document)
    meshes: dict[int, list[Primitive]] = {}
    parts: list[Part] = []
    for node in scene_nodes(document, tree):
        entry = document.items("nodes")[node]
        if "mesh" not in entry:
            continue
        mesh = document.whole(entry, "mesh", f"node {node}")
        if mesh not in meshes:
            meshes[mesh] = read_primitives(document, mesh)
        parts += _parts_of(document, node, mesh, meshes[mesh])
    return Scene(tree, parts)


def _parts_of(document: Document, node: int, mesh: int, primitives: list[Primitive]) -> list[Part]:
    entry, mesh_entry = document.items("nodes")[node], document.item("meshes", mesh, f"node {node}")
    name = document.text(entry, "name", document.text(mesh_entry, "name", f"mesh_{mesh}"))
    skin = _read_skin(document, entry["skin"], f"node {node}") if "skin" in entry else None
    n_targets = max((len(p.deltas) for p in primitives), default=0)
    owner = entry if "weights" in entry else mesh_entry
    weights = np.array(document.numbers(owner, "weights", f"node {node}", []))
    if len(weights) not in (0, n_targets):
        raise document.error(f"node {node} has {len(weights)} weights for {n_targets} morph targets")
    weights = weights if len(weights) else np.zeros(n_targets)
    parts = []
    for i, primitive in enumerate(primitives):
        if len(primitive.deltas) != n_targets:
            raise document.error(f"the primitives of mesh {mesh} differ in their number of morph targets")
        used = None if primitive.influences is None else skin
        highest = 0 if primitive.influences is None else int(primitive.influences.joints.max())
        if used is not None and highest >= len(used.nodes):
            raise document.error(f"mesh {mesh} names joint {highest}, but its skin has {len(used.nodes)}")
        parts.append(Part(primitive, node, name if len(primitives) == 1 else f"{name}_{i}", used, weights))
    return parts


def _read_skin(document: Document, index: int, user: str) -> SkinJoints:
    entry = document.item("skins", index, user)
    nodes = document.wholes(entry, "joints", f"skin {index}")
    if not nodes:
        raise document.error(f"skin {index} has no joints")
    for node in nodes:
        document.item("nodes", node, f"skin {index}")
    if "inverseBindMatrices" not in entry:
        return SkinJoints(nodes, np.broadcast_to(np.eye(4), (len(nodes), 4, 4)))
    stored = read_floats(document, entry["inverseBindMatrices"], (16,), f"inverse bind matrices of skin {index}")
    if len(stored) < len(nodes):
        raise document.error(f"skin {index} has {len(stored)} inverse bind matrices for {len(nodes)} joints")
    matrices = stored[: len(nodes)].reshape(-1, 4, 4).transpose(0, 2, 1)
    return SkinJoints(nodes, np.ascontiguousarray(matrices))


def pose_part(part: Part, world: list[Float64], weights: Float64, out: NDArray[np.float32]) -> None:
    """Vertices of `part` into `out (f,v,3)`; `world (f,4,4)` for each node, `weights (f,m)` of the morph targets."""
    primitive = part.primitive
    if part.skin is not None:
        world_from_mesh = np.stack([world[node] for node in part.skin.nodes], axis=1) @ part.skin.joint_from_mesh
    for f in range(len(out)):
        shape = primitive.positions
        if len(weights[f]):
            shape = shape + np.tensordot(weights[f], primitive.deltas, axes=1)
        if part.skin is None or primitive.influences is None:
            placed = shape @ world[part.node][f, :3, :3].T + world[part.node][f, :3, 3]
        else:
            placed = _skin(shape, primitive.influences, world_from_mesh[f, :, :3, :])
        with np.errstate(over="ignore", invalid="ignore"):
            out[f] = placed


def _skin(shape: Float64, influences: Influences, matrices: Float64) -> Float64:
    """Linear blend skinning of (v,3) by the joints' matrices (j,3,4)."""
    blended = np.zeros((len(shape), 12))
    flat = matrices.reshape(-1, 12)
    for k in range(influences.joints.shape[1]):
        blended += influences.weights[:, k, None] * flat[influences.joints[:, k]]
    rows = blended.reshape(-1, 3, 4)
    return np.asarray(np.einsum("vij,vj->vi", rows[:, :, :3], shape) + rows[:, :, 3])
