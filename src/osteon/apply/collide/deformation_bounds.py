"""Bounded Deformation Tree: spheres of all nodes in the frames of an animation, from few numbers per region and frame.

In the axes of its region a vertex is  y_v^f = m_v + sum_i q_i^f W_iv + e_v^f,  with m_v its mean over the frames and
W_i the `RANK` columns of largest singular value of what is left. For the vertices of a node, with middles c0 and W_i0,

    c(q) = c0 + sum_i q_i W_i0,    R(q) = R0 + sum_i |q_i| dR_i

    dR_i = max_v |W_iv - W_i0|,    R0 = max_{v,f} |m_v + e_v^f - c0|

hold every vertex in every frame: the residual e is in R0. Valid for the frames it was made of only.

Based on: James and Pai, BD-Tree: output-sensitive collision detection for reduced deformable models, 2004, eq. 8 and 9;
James and Twigg, Skinning Mesh Animations, 2005, section 7 (a tree and a basis per region).
Differs from the paper: the residual of the basis is bounded too, so that no vertex is missed.
"""

from __future__ import annotations

import numpy as np

from osteon.apply.collide.collision_tree import CollisionTree
from osteon.apply.collide.leaf_vertices import fused_call, store_box
from osteon.apply.collide.tree_table import CHILD, COUNT, ENTRY, FIRST, REGION, WIDTH, Tree
from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.character import Arrays
from osteon.core.kernels import lean

#: Columns per region; a region with fewer frames or of one rigid motion has zeros.
RANK = 10
#: Part by which radii are larger than computed: rounding to float32.
ROUNDED = 4e-7


def deformation_arrays(tree: CollisionTree, posed: Float64, frames: Float64, boxes: Float32) -> Arrays:
    """Arrays by the names of `Tree`, from posed vertices (f,v,3) in its order, frames (f,g+1,12) and stored boxes.

    Boxes (f,n,6) of the top of the tree, which are in world axes, are kept.
    """
    nodes, n_frames = tree.nodes, len(posed)
    n_top = int((nodes[:, REGION] == 0).sum())
    spheres = np.zeros((len(nodes), 4 * (1 + RANK)), np.float32)
    q = np.zeros((n_frames, frames.shape[1], RANK))
    first = first_triangles(nodes)
    triangles, count = tree.arrays["triangles"], tree.node_triangles
    for region in range(1, frames.shape[1]):
        own = np.flatnonzero(nodes[:, REGION] == region)
        root = own[0]
        vertices = np.unique(triangles[first[root] : first[root] + count[root]])
        place = frames[:, region].reshape(n_frames, 3, 4)
        local = np.einsum("fji,fvj->fvi", place[..., :3], posed[:, vertices] - place[:, None, :, 3], optimize=True)
        mean = local.mean(axis=0)
        columns, numbers = _columns(local - mean)
        q[:, region] = numbers
        rest = local - np.einsum("fr,rvi->fvi", numbers, columns)
        for node in own:
            inside = np.searchsorted(vertices, np.unique(triangles[first[node] : first[node] + count[node]]))
            spheres[node] = _spheres(mean[inside], rest[:, inside], columns[:, inside])
    top = np.ascontiguousarray(boxes[:, :n_top])
    return {"deformed": spheres, "local_q": q, "top_boxes": top}


def first_triangles(nodes: Int32) -> Int32:
    """(n,) the first triangle of each node's subtree."""
    first = nodes[:, FIRST].copy()
    for node in np.flatnonzero((nodes[:, COUNT] == 0) & (nodes[:, ENTRY] == 0))[::-1]:
        first[node] = min(first[nodes[node, CHILD]], first[nodes[node, CHILD] + 1])
    return first


def _columns(moved: Float64) -> tuple[Float64, Float64]:
    """The columns (r,v,3) and numbers (f,r) of displacements (f,v,3), by their largest singular values."""
    flat = moved.reshape(len(moved), -1)
    values, vectors = np.linalg.eigh(flat @ flat.T)
    kept = np.arange(len(values))[::-1][:RANK]
    kept = kept[values[kept] > 1e-14 * max(values[-1], 1e-300)]
    numbers, columns = np.zeros((len(flat), RANK)), np.zeros((RANK, flat.shape[1]))
    numbers[:, : len(kept)] = vectors[:, kept]
    columns[: len(kept)] = vectors[:, kept].T @ flat
    return columns.reshape(RANK, -1, 3), numbers


def _spheres(mean: Float64, rest: Float64, columns: Float64) -> Float32:
    """c0, R0, and W_i0, dR_i of every column, for vertices (v,3), what columns (r,v,3) leave of them (f,v,3)."""
    center = 0.5 * (mean.min(axis=0) + mean.max(axis=0))
    middle = columns.mean(axis=1)
    radius = np.sqrt(np.square(rest - center).sum(axis=2).max())
    spread = np.sqrt(np.square(columns - middle[:, None]).sum(axis=2).max(axis=1))
    out = np.concatenate([np.append(center, radius)[None], np.concatenate([middle, spread[:, None]], axis=1)])
    size = np.abs(out).max()
    out[:, 3] = out[:, 3] * (1 + ROUNDED) + ROUNDED * size
    return np.asarray(out.reshape(-1), np.float32)


@fused_call
def sphere_node(tree: Tree, node: int) -> None:
    """Store the box of a node's sphere, in the axes of its region."""
    at = 4 * (1 + tree.local_rank) * node
    q = tree.local_rank * tree.nodes[WIDTH * node + REGION]
    x, y, z, r = tree.deformed[at], tree.deformed[at + 1], tree.deformed[at + 2], tree.deformed[at + 3]
    x, y, z, r = float(x), float(y), float(z), float(r)
    for i in range(tree.local_rank):
        n, column = tree.local_q[q + i], at + 4 * (1 + i)
        x += n * tree.deformed[column]
        y += n * tree.deformed[column + 1]
        z += n * tree.deformed[column + 2]
        r += abs(n) * tree.deformed[column + 3]
    store_box(tree, node, (x - r, y - r, z - r), (x + r, y + r, z + r), tree.scratch[0])


@lean
def begin_frame(tree: Tree) -> None:
    """Take the boxes of the top of the tree, and compute those of the roots of all regions."""
    for n in range(6 * tree.n_top):
        tree.boxes[n] = tree.top_boxes[n]
    for node in range(tree.n_top):
        tree.box_stamps[node] = tree.serial
        if tree.nodes[WIDTH * node + ENTRY]:
            root = tree.nodes[WIDTH * node + CHILD]
            sphere_node(tree, root)
            tree.box_stamps[root] = tree.serial
            tree.counts[1] += 1
