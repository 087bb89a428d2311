"""The tree of a skinned character: regions, nodes and vertices in the order of the tree.

Triangles are partitioned by bone (`regions.py`), every region gets a tree in its own frame, and a tree over the
regions in world axes is put on top (`surface_area_tree.py`). Vertices are numbered in the order in which the leaves
reach them, so those of a leaf lie side by side in memory; arrays of the model are copied in that order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from osteon.apply.collide.regions import Regions, partition
from osteon.apply.collide.surface_area_tree import Splits, build_tree
from osteon.apply.collide.tree_table import (
    BLENDED,
    BOUND,
    CHILD,
    COUNT,
    ENTRY,
    FIRST,
    HELD,
    INSIDE,
    READ,
    REGION,
    VERTEX,
    WIDTH,
)
from osteon.core.arrays import Bool, Float32, Float64, Int32
from osteon.core.character import Arrays
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.topology import weld_points
from osteon.deform.animation_space import AnimationSpace
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.pose import pose_frames

#: Triangles in a leaf, and frames whose boxes the heuristic sums.
LEAF, SAMPLES = 8, 4


@dataclass(frozen=True, slots=True)
class CollisionTree:
    """Everything about a character that no pose changes."""

    regions: Regions
    arrays: Arrays  # by the names of `Tree`
    vertices: Int32  # (n,) the vertex of the mesh that each vertex of the tree is
    n_nodes: int
    vertices_by: int  # BLENDED or READ
    node_triangles: Int32 = field(repr=False)  # (n,) triangles of each node's subtree
    places: Int32 = field(repr=False)  # (t,) where each triangle of the mesh is in the order of the tree

    @property
    def n_vertices(self) -> int:
        return len(self.vertices)

    @property
    def n_triangles(self) -> int:
        return len(self.arrays["order"])

    @property
    def rank(self) -> int:
        """Columns of displacements."""
        return int(self.arrays["basis"].shape[1])

    @property
    def nodes(self) -> Int32:
        """(n,8)"""
        return self.arrays["nodes"]


def build_collision_tree(model: SkinnedModel, leaf: int = LEAF, samples: int = SAMPLES) -> CollisionTree:
    """The tree of a model."""
    if not len(model.faces):
        raise GeometryError(f"'{model.name}': a mesh without triangles cannot collide; remove it")
    if not model.n_frames:
        raise GeometryError(f"'{model.name}': has no frame; give it at least one")
    regions = partition(model.mesh, model.skin, model.n_bones)
    frames = np.unique(np.linspace(0, model.n_frames - 1, samples).astype(np.int32))
    posed = np.stack([pose_frames(model, int(f), int(f) + 1)[0] for f in frames])
    corners = posed.astype(np.float64)[:, model.faces]
    nodes, order = _nodes(regions, corners, regions.frames(model.animation.transforms[frames]), leaf)
    triangles = model.faces[order]
    vertices, first = np.unique(triangles, return_index=True)
    vertices = vertices[np.argsort(first, kind="stable")].astype(np.int32)
    number = np.zeros(model.n_vertices, np.int32)
    number[vertices] = np.arange(len(vertices), dtype=np.int32)
    triangles = number[triangles]
    leaf_vertices = _leaf_vertices(nodes, triangles)
    held = _subtree_triangles(nodes)
    arrays: Arrays = {"nodes": nodes, "triangles": triangles, "leaf_vertices": leaf_vertices, "order": order}
    places = np.concatenate([model.rest[vertices], *posed[:, vertices]], axis=1)
    arrays |= _rings(places, triangles) | _model_arrays(model, vertices)
    by = BLENDED if isinstance(model.deformer, LinearBlend | AnimationSpace) else READ
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    place_of = np.empty_like(order)
    place_of[order] = np.arange(len(order), dtype=np.int32)
    return CollisionTree(regions, arrays, vertices, len(nodes), by, held, place_of)


def _nodes(regions: Regions, corners: Float64, frames: Float64, leaf: int) -> tuple[Int32, Int32]:
    """(n,8) nodes and (t,) the order of triangles; corners (f,t,3,3), frames (f,g,3,4) of the same poses."""
    top = build_tree(_region_boxes(regions, corners), 1)
    parts = [_rows(top, 0, 0, 0)]
    parts[0][:, ENTRY] = parts[0][:, COUNT] > 0
    parts[0][:, COUNT] = 0
    entries = np.flatnonzero(parts[0][:, ENTRY])
    orders: list[Int32] = []
    done, n_nodes = 0, len(parts[0])
    for node in entries:
        g = int(top.order[parts[0][node, FIRST]])
        members = np.flatnonzero(regions.of_triangle == g).astype(np.int32)
        local = corners[:, members] - frames[:, None, None, g, :, 3]
        local = np.einsum("fji,ftcj->ftci", frames[:, g, :, :3], local, optimize=True)
        tree = build_tree(_boxes(local), leaf)
        parts[0][node, CHILD] = n_nodes
        parts.append(_rows(tree, n_nodes, done, g + 1))
        orders.append(members[tree.order])
        n_nodes, done = n_nodes + len(tree.after), done + len(members)
    return np.concatenate(parts), np.concatenate(orders)


def _boxes(corners: Float64) -> Float64:
    """(f,t,6) boxes of triangles with corners (f,t,3,3)."""
    return np.concatenate([corners.min(axis=2), corners.max(axis=2)], axis=2)


def _region_boxes(regions: Regions, corners: Float64) -> Float64:
    """(f,g,6) boxes of the regions in world axes."""
    boxes = _boxes(corners)
    out = np.empty((len(corners), len(regions.bones), 6))
    for g in range(len(regions.bones)):
        members = boxes[:, regions.of_triangle == g]
        out[:, g, :3], out[:, g, 3:] = members[..., :3].min(axis=1), members[..., 3:].max(axis=1)
    return out


def _rows(tree: Splits, node: int, triangle: int, region: int) -> Int32:
    """(n,8) nodes of a tree whose first node and triangle get these numbers.

    Siblings are put side by side, as queries read both: the k-th inner node, depth-first, has children 1 + 2k and
    2 + 2k. All nodes of a subtree but its root still follow each other.
    """
    inner = np.flatnonzero(tree.held == 0)
    number = np.zeros(len(tree.after), np.int64)
    number[inner + 1] = 1 + 2 * np.arange(len(inner))
    number[tree.second[inner]] = 2 + 2 * np.arange(len(inner))
    rows = np.zeros((len(tree.after), WIDTH), np.int32)
    rows[:, COUNT], rows[:, REGION], rows[:, BOUND] = tree.held, region, INSIDE
    rows[:, FIRST] = np.where(tree.held > 0, tree.first + triangle, 0)
    rows[inner, CHILD] = node + 1 + 2 * np.arange(len(inner))
    rows[inner, VERTEX] = rows[inner, CHILD] + tree.after[inner] - inner - 1
    out = np.empty_like(rows)
    out[number] = rows
    return out


def _leaf_vertices(nodes: Int32, triangles: Int32) -> Int32:
    """The vertices of all leaves, whose nodes get the place of theirs."""
    leaves = np.flatnonzero(nodes[:, COUNT])
    found, at = [], 0
    for leaf in leaves:
        first, count = nodes[leaf, FIRST], nodes[leaf, COUNT]
        of_leaf = np.unique(triangles[first : first + count])
        nodes[leaf, VERTEX], nodes[leaf, HELD] = at, len(of_leaf)
        found.append(of_leaf)
        at += len(of_leaf)
    return np.concatenate(found).astype(np.int32)


def _subtree_triangles(nodes: Int32) -> Int32:
    """(n,) triangles of each node's subtree."""
    count = nodes[:, COUNT].copy()
    for node in range(len(nodes) - 1, -1, -1):
        if nodes[node, ENTRY]:
            count[node] = count[nodes[node, CHILD]]
        elif not count[node]:
            count[node] = count[nodes[node, CHILD]] + count[nodes[node, CHILD] + 1]
    return count


def _rings(places: Float32, triangles: Int32) -> Arrays:
    """Welded vertices and the triangles around each: at seams of texture coordinates a place has several vertices.

    places (v,·): positions at rest and in some frames.
    """
    first, of_vertex = weld_points(places)
    welds = first[of_vertex].astype(np.int32)
    corners = welds[triangles].reshape(-1)
    order = np.argsort(corners, kind="stable")
    starts = np.searchsorted(corners[order], np.arange(len(places) + 1)).astype(np.int32)
    return {"welds": welds, "ring_starts": starts, "rings": (order // 3).astype(np.int32)}


def _model_arrays(model: SkinnedModel, vertices: Int32) -> Arrays:
    """Arrays of the model for the kernels, in the order of the tree."""
    skin, deformer = model.skin, model.deformer
    used = _used_slots(model)
    bases = [moving_columns(one.basis) for one in model.character.displacements]
    basis = np.concatenate([np.empty((0, model.n_vertices, 3), np.float32), *bases])
    offsets = np.zeros((0, 0, 3), np.float32)
    if isinstance(deformer, AnimationSpace):
        offsets = deformer.offsets[vertices][:, used].astype(np.float32)
    return {
        "rest": model.rest[vertices],
        "bones": skin.bones[vertices][:, used],
        "weights": (deformer.weights if isinstance(deformer, AnimationSpace) else skin.weights)[vertices][:, used],
        "offsets": offsets,
        "basis": basis[:, vertices].swapaxes(0, 1),
    }


def moving_columns(basis: NDArray[np.float32]) -> NDArray[np.float32]:
    """(r,v,3) the columns that move positions, which come first."""
    from osteon.core.character import position_rank

    return basis[: position_rank(basis)]


def _used_slots(model: SkinnedModel) -> Bool:
    """(k,) the slots that any vertex uses."""
    deformer = model.deformer
    if isinstance(deformer, AnimationSpace):
        return np.asarray((deformer.weights != 0).any(axis=0) | (deformer.offsets != 0).any(axis=(0, 2)))
    return np.asarray((model.skin.weights != 0).any(axis=0))
