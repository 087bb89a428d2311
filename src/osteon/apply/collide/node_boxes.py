"""Boxes of the nodes that a query reaches: stored for the frame, or computed now.

- STORED: a box per node and frame. Nothing to do.
- LAZY: a conservative bound (`pose_bounds.py`) for nodes of many triangles. Where a query reaches a cluster, its
  vertices are skinned and its nodes fitted to them: for a few dozen triangles that costs less than bounding them.
- DEFORMED: spheres of a Bounded Deformation Tree (`deformation_bounds.py`).

Notes, Soldier and horse, one ray in a new pose, microseconds by the triangles of a cluster: see
`osteon bench collide`, "cluster".
"""

from __future__ import annotations

from osteon.apply.collide.leaf_vertices import fit_nodes
from osteon.apply.collide.pose_bounds import begin_pose, bound_node
from osteon.apply.collide.tree_table import BOUND, CLUSTER, LAZY, SECOND, STORED, VERTEX, WIDTH, Tree
from osteon.core.kernels import inlined, lean

#: The cost of a cluster over that of a bound.
CLUSTER_WORK = 4


@inlined
def begin(tree: Tree) -> None:
    """Make the box of the root valid."""
    if tree.bounds_by == LAZY and tree.box_stamps[0] != tree.serial:
        begin_pose(tree)


@inlined
def reach_children(tree: Tree, node: int) -> None:
    """Make the boxes of both children of an inner node valid."""
    if tree.bounds_by != STORED:
        _compute_children(tree, node)


@lean
def _compute_children(tree: Tree, node: int) -> None:
    """Compute the boxes of both children, unless they are known in this pose."""
    one, other = node + 1, tree.nodes[WIDTH * node + SECOND]
    if tree.bounds_by == LAZY and tree.box_stamps[one] != tree.serial:
        if tree.nodes[WIDTH * one + BOUND] == CLUSTER:
            _fit_cluster(tree, node)
        else:
            bound_node(tree, one)
            bound_node(tree, other)
            tree.box_stamps[one] = tree.box_stamps[other] = tree.serial
            tree.counts[1] += 2


@lean
def _fit_cluster(tree: Tree, node: int) -> None:
    """Skin the vertices of a cluster and fit its nodes to them."""
    stop = tree.nodes[WIDTH * node + VERTEX]
    fit_nodes(tree, node + 1, stop, tree.scratch[0])
    for inside in range(node + 1, stop):
        tree.box_stamps[inside] = tree.serial
    tree.counts[2] += 1


@inlined
def work_of(tree: Tree) -> int:
    """The cost of all boxes computed so far, in units of one bound."""
    return tree.counts[1] + CLUSTER_WORK * tree.counts[2]
