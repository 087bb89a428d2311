"""The node tree: parents, and the transform of each node relative to its parent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.core.kinematics import world_from_local
from osteon.core.transforms import (
    matrices_from_quaternions,
    nearest_rotation,
    quaternions_from_matrices,
    unit_quaternions,
)
from osteon.io.gltf import JsonObject
from osteon.io.gltf.read.document import Document


@dataclass(frozen=True, slots=True)
class Placement:
    """Transforms of nodes relative to their parents: the three parts that animations change."""

    translation: Float64  # (…,3)
    rotation: Float64  # (…,4) quaternion x y z w
    scale: Float64  # (…,3)

    def parent_from_node(self) -> Float64:
        """(…,4,4) matrices that scale, then rotate, then translate. Quaternions need not be normalised."""
        shape = np.broadcast_shapes(self.translation.shape[:-1], self.rotation.shape[:-1], self.scale.shape[:-1])
        out = np.zeros((*shape, 4, 4))
        out[..., :3, :3] = matrices_from_quaternions(unit_quaternions(self.rotation)) * self.scale[..., None, :]
        out[..., :3, 3] = self.translation
        out[..., 3, 3] = 1
        return out

    def node(self, number: int) -> Placement:
        """The placement of one node."""
        return Placement(self.translation[number], self.rotation[number], self.scale[number])


@dataclass(frozen=True, slots=True)
class NodeTree:
    """All nodes of the file."""

    parents: list[int]  # -1 at a root
    order: list[int]  # parents before children
    depths: list[int]
    placements: Placement  # (n,…) without animation
    parent_from_node: Float64  # (n,4,4) without animation

    @np.errstate(over="ignore", invalid="ignore")  # an overflow is reported later, with its frame
    def world_from_node(self, moved: dict[int, Placement], n_frames: int) -> list[Float64]:
        """(f,4,4) for each node; `moved` are the placements of animated nodes."""
        local = [
            moved[node].parent_from_node() if node in moved else still
            for node, still in enumerate(self.parent_from_node)
        ]
        world = world_from_local(local, self.parents, self.order)
        return [w if w.ndim == 3 else np.broadcast_to(w, (n_frames, 4, 4)) for w in world]


def read_nodes(document: Document) -> NodeTree:
    """The tree, refused if a node has two parents or is its own ancestor."""
    entries = document.items("nodes")
    parents = [-1] * len(entries)
    children = [document.wholes(entry, "children", f"node {i}") for i, entry in enumerate(entries)]
    for node, listed in enumerate(children):
        for child in listed:
            document.item("nodes", child, f"node {node}")
            if parents[child] >= 0:
                raise document.error(f"node {child} is a child of both node {parents[child]} and node {node}")
            parents[child] = node
    order = [node for node, parent in enumerate(parents) if parent < 0]
    depths = [0] * len(entries)
    for node in order:  # grows during the iteration
        for child in children[node]:
            depths[child] = depths[node] + 1
            order.append(child)
    if len(order) < len(entries):
        cyclic = min(set(range(len(entries))) - set(order))
        raise document.error(f"node {cyclic} is its own ancestor; the node tree has a cycle")
    placements, local = _placements(document, entries)
    return NodeTree(parents, order, depths, placements, local)


def _placements(document: Document, entries: list[JsonObject]) -> tuple[Placement, Float64]:
    """The three parts for all nodes, and their matrices; a matrix in the file takes precedence over the parts."""

    def gather(key: str, default: list[float]) -> Float64:
        rows = [document.numbers(entry, key, f"node {i}", default) for i, entry in enumerate(entries)]
        return np.array(rows).reshape(-1, len(default))

    still = Placement(
        gather("translation", [0.0, 0.0, 0.0]),
        gather("rotation", [0.0, 0.0, 0.0, 1.0]),
        gather("scale", [1.0, 1.0, 1.0]),
    )
    with np.errstate(over="ignore", invalid="ignore"):
        local = still.parent_from_node()
    matrices = gather("matrix", [float(i % 5 == 0) for i in range(16)]).reshape(-1, 4, 4).transpose(0, 2, 1)
    has_matrix = np.array(["matrix" in entry for entry in entries], bool)
    local[has_matrix] = matrices[has_matrix]
    _decompose(still, matrices, has_matrix)
    return still, local


@np.errstate(over="ignore", invalid="ignore")
def _decompose(still: Placement, matrices: Float64, has_matrix: NDArray[np.bool_]) -> None:
    """Set the three parts of nodes that have a matrix: an animation may change one of them and not the others."""
    linear = matrices[has_matrix][:, :3, :3]
    scale = np.linalg.norm(linear, axis=1)
    scale[np.linalg.det(linear) < 0, 0] *= -1
    still.translation[has_matrix] = matrices[has_matrix][:, :3, 3]
    still.rotation[has_matrix] = quaternions_from_matrices(
        nearest_rotation(linear / np.where(scale, scale, 1)[:, None])
    )
    still.scale[has_matrix] = scale


def scene_nodes(document: Document, tree: NodeTree) -> list[int]:
    """The nodes of the default scene (of the file if it has no scene), parents first."""
    scenes = document.items("scenes")
    if not scenes:
        return tree.order
    index = document.whole(document.root, "scene", "the file", 0)
    scene = document.item("scenes", index, "the file")
    shown = set(document.wholes(scene, "nodes", f"scene {index}"))
    for node in shown:
        document.item("nodes", node, f"scene {index}")
    for node in tree.order:
        if tree.parents[node] in shown:
            shown.add(node)
    return [node for node in tree.order if node in shown]
