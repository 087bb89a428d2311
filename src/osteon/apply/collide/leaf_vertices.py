"""Positions of single vertices, computed when a query reaches them, and boxes around the vertices of leaves.

    x_v = sum_k w_vk T_bone(v,k) [p_v + sum_r q_r U_rv; 1] + sum_k L_bone(v,k) delta_vk

delta is the offset of Animation Space, L the 3x3 part of T. Families whose blend is not of this form are read from
positions that were stored for the pose. A vertex is computed once per pose: `stamps` says for which.
"""

from __future__ import annotations

from osteon.apply.collide.tree_table import (
    CHILD,
    COUNT,
    ENTRY,
    HELD,
    READ,
    REGION,
    VERTEX,
    WIDTH,
    Tree,
    open_tree,
)
from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.kernels import compiled_by, inlined

#: Fused and reordered sums, in functions that are inlined and in such that are called.
_FUSED = {"fastmath": {"reassoc", "contract", "nsz", "arcp"}, "_nrt": False}
fused, fused_call = compiled_by({**_FUSED, "forceinline": True}), compiled_by(_FUSED)
#: Share of a coordinate, and of the size of the model, by which boxes are larger than their content: twice the
#: rounding of float32, and far more than that of a query in float64.
OUTWARD, PAD = 1.2e-7, 1e-9


@fused
def _blend(tree: Tree, v: int) -> None:
    """Compute a vertex."""
    x, y, z = float(tree.rest[3 * v]), float(tree.rest[3 * v + 1]), float(tree.rest[3 * v + 2])
    for r in range(tree.rank):
        q = tree.coefficients[r]
        at = 3 * (v * tree.rank + r)
        x += q * tree.basis[at]
        y += q * tree.basis[at + 1]
        z += q * tree.basis[at + 2]
    px = py = pz = 0.0
    for k in range(tree.n_slots):
        slot = v * tree.n_slots + k
        w = float(tree.weights[slot])
        if w == 0 and not tree.n_offsets:
            continue
        sx, sy, sz = w * x, w * y, w * z
        if tree.n_offsets:
            sx += tree.offsets[3 * slot]
            sy += tree.offsets[3 * slot + 1]
            sz += tree.offsets[3 * slot + 2]
        t = 12 * tree.bones[slot]
        px += tree.transforms[t] * sx + tree.transforms[t + 1] * sy + tree.transforms[t + 2] * sz
        px += tree.transforms[t + 3] * w
        py += tree.transforms[t + 4] * sx + tree.transforms[t + 5] * sy + tree.transforms[t + 6] * sz
        py += tree.transforms[t + 7] * w
        pz += tree.transforms[t + 8] * sx + tree.transforms[t + 9] * sy + tree.transforms[t + 10] * sz
        pz += tree.transforms[t + 11] * w
    tree.posed[3 * v], tree.posed[3 * v + 1], tree.posed[3 * v + 2] = px, py, pz


@inlined
def skin_vertex(tree: Tree, v: int) -> None:
    """Compute a vertex unless it is known in this pose."""
    if tree.stamps[v] == tree.serial:
        return
    tree.stamps[v] = tree.serial
    if tree.vertices_by == READ:
        for i in range(3):
            tree.posed[3 * v + i] = tree.stored[3 * v + i]
    else:
        _blend(tree, v)


@inlined
def skin_leaf(tree: Tree, node: int) -> None:
    """Compute the vertices of a leaf."""
    first = tree.nodes[WIDTH * node + VERTEX]
    for n in range(first, first + tree.nodes[WIDTH * node + HELD]):
        skin_vertex(tree, tree.leaf_vertices[n])


@inlined
def corner(tree: Tree, t: int, i: int) -> tuple[float, float, float]:
    """The position of a corner of triangle t of the tree; its vertex must have been computed."""
    v = 3 * tree.triangles[3 * t + i]
    return tree.posed[v], tree.posed[v + 1], tree.posed[v + 2]


@inlined
def store_box(
    tree: Tree, node: int, low: tuple[float, float, float], high: tuple[float, float, float], pad: float
) -> None:
    """Store a box, rounded outwards."""
    for i in range(3):
        tree.boxes[6 * node + i] = low[i] - OUTWARD * abs(low[i]) - pad
        tree.boxes[6 * node + 3 + i] = high[i] + OUTWARD * abs(high[i]) + pad


@inlined
def fit_leaf(tree: Tree, node: int, frame: int, at: int, pad: float) -> None:
    """Store in node `at` the box of the vertices of a leaf in the axes of a region's frame (12 `frame`)."""
    m = 12 * frame
    xx, yx, zx, tx = tree.frames[m], tree.frames[m + 1], tree.frames[m + 2], tree.frames[m + 3]
    xy, yy, zy, ty = tree.frames[m + 4], tree.frames[m + 5], tree.frames[m + 6], tree.frames[m + 7]
    xz, yz, zz, tz = tree.frames[m + 8], tree.frames[m + 9], tree.frames[m + 10], tree.frames[m + 11]
    ax = ay = az = 1e300
    bx = by = bz = -1e300
    first = tree.nodes[WIDTH * node + VERTEX]
    for n in range(first, first + tree.nodes[WIDTH * node + HELD]):
        v = tree.leaf_vertices[n]
        skin_vertex(tree, v)
        px, py, pz = tree.posed[3 * v], tree.posed[3 * v + 1], tree.posed[3 * v + 2]
        if frame:
            px, py, pz = px - tx, py - ty, pz - tz
            px, py, pz = xx * px + xy * py + xz * pz, yx * px + yy * py + yz * pz, zx * px + zy * py + zz * pz
        ax, ay, az = min(ax, px), min(ay, py), min(az, pz)
        bx, by, bz = max(bx, px), max(by, py), max(bz, pz)
    store_box(tree, at, (ax, ay, az), (bx, by, bz), pad)


@inlined
def unite(tree: Tree, node: int, one: int, other: int) -> None:
    """Store the box of two nodes."""
    for i in range(3):
        tree.boxes[6 * node + i] = min(tree.boxes[6 * one + i], tree.boxes[6 * other + i])
        tree.boxes[6 * node + 3 + i] = max(tree.boxes[6 * one + 3 + i], tree.boxes[6 * other + 3 + i])


@inlined
def fit_nodes(tree: Tree, start: int, stop: int, pad: float) -> None:
    """Store the boxes of nodes start … stop - 1, last first, from the vertices of their leaves."""
    for node in range(stop - 1, start - 1, -1):
        row = WIDTH * node
        if tree.nodes[row + COUNT]:
            fit_leaf(tree, node, tree.nodes[row + REGION] if tree.local else 0, node, pad)
        elif not tree.nodes[row + ENTRY]:
            unite(tree, node, tree.nodes[row + CHILD], tree.nodes[row + CHILD] + 1)
        elif tree.local:
            _fit_entry(tree, node, tree.nodes[row + CHILD], pad)
        else:
            unite(tree, node, tree.nodes[row + CHILD], tree.nodes[row + CHILD])


@inlined
def _fit_entry(tree: Tree, node: int, root: int, pad: float) -> None:
    """Store the box in world axes of all vertices of a region."""
    stop = root + 1 if tree.nodes[WIDTH * root + COUNT] else tree.nodes[WIDTH * root + VERTEX]
    ax = ay = az = 1e300
    bx = by = bz = -1e300
    for leaf in range(root, stop):
        first = tree.nodes[WIDTH * leaf + VERTEX]
        for n in range(first, first + tree.nodes[WIDTH * leaf + HELD]):
            v = 3 * tree.leaf_vertices[n]
            ax, ay, az = min(ax, tree.posed[v]), min(ay, tree.posed[v + 1]), min(az, tree.posed[v + 2])
            bx, by, bz = max(bx, tree.posed[v]), max(by, tree.posed[v + 1]), max(bz, tree.posed[v + 2])
    store_box(tree, node, (ax, ay, az), (bx, by, bz), pad)


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8 i8 f8")
def fit_frames(table: Int64, start: int, stop: int, pad: float) -> None:
    """Store the boxes of all nodes in frames start … stop - 1."""
    for frame in range(start, stop):
        tree = open_tree(table, frame)
        fit_nodes(tree, 0, tree.n_nodes, pad)


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r f8")
def refit(table: Int64, pad: float) -> None:
    """Compute all vertices of a pose, in the order of memory, and store the boxes of all nodes in world axes."""
    tree = open_tree(table, 0)
    for v in range(tree.n_vertices):
        skin_vertex(tree, v)
    fit_nodes(tree, 0, tree.n_nodes, pad)


@compiled_by({"_nrt": False, "nogil": False}, "i8.1r i8 i4.1r f8.3")
def triangle_corners(table: Int64, frame: int, triangles: Int32, out: Float64) -> None:
    """out (n,3,3): the corners of triangles of the tree."""
    tree = open_tree(table, frame)
    for n in range(triangles.size):
        for i in range(3):
            skin_vertex(tree, tree.triangles[3 * triangles[n] + i])
            x, y, z = corner(tree, triangles[n], i)
            out[n, i, 0], out[n, i, 1], out[n, i, 2] = x, y, z
