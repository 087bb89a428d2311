"""Boxes of the nodes that a query reaches: stored for the frame, or computed now.

- STORED: a box per node and frame. Nothing to do.
- LAZY: a conservative bound (`pose_bounds.py`) for nodes of many triangles. Where a query reaches a cluster, its
  vertices are skinned and its nodes fitted to them: for a few dozen triangles that costs less than bounding them.
- DEFORMED: spheres of a Bounded Deformation Tree (`deformation_bounds.py`).

Notes, horse in new poses, closest point, clusters of 24, 48, 64, 96 triangles: 200, 150, 134, 110 bounds of 0.19 us
and 32, 26, 24, 21 clusters of 0.20, 0.37, 0.50, 0.81 us. Soldier, 24, 48, 64: 234, 167, 153 bounds of 0.05 us and 40,
31, 29 clusters of 0.22, 0.46, 0.60 us.
"""

from __future__ import annotations

from osteon.apply.collide.deformation_bounds import begin_frame, sphere_node
from osteon.apply.collide.leaf_vertices import fit_nodes
from osteon.apply.collide.pose_bounds import begin_pose, bound_node
from osteon.apply.collide.tree_table import BOUND, CHILD, CLUSTER, DEFORMED, LAZY, STORED, VERTEX, WIDTH, Tree
from osteon.core.kernels import inlined, lean

#: The cost of a cluster over that of a bound.
CLUSTER_WORK = 4


@inlined
def begin(tree: Tree) -> None:
    """Make the box of the root valid."""
    if tree.bounds_by != STORED and tree.box_stamps[0] != tree.serial:
        if tree.bounds_by == LAZY:
            begin_pose(tree)
        else:
            begin_frame(tree)


@inlined
def reach_children(tree: Tree, node: int) -> None:
    """Make the boxes of both children of an inner node valid."""
    if tree.bounds_by != STORED:
        _compute_children(tree, node)


@lean
def _compute_children(tree: Tree, node: int) -> None:
    """Compute the boxes of both children, unless they are known in this pose."""
    one = tree.nodes[WIDTH * node + CHILD]
    other = one + 1
    if tree.box_stamps[one] == tree.serial:
        return
    if tree.bounds_by == DEFORMED:
        sphere_node(tree, one)
        sphere_node(tree, other)
        tree.box_stamps[one] = tree.box_stamps[other] = tree.serial
        tree.counts[1] += 2
    else:
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
    start, stop = tree.nodes[WIDTH * node + CHILD], tree.nodes[WIDTH * node + VERTEX]
    fit_nodes(tree, start, stop, tree.scratch[0])
    for inside in range(start, stop):
        tree.box_stamps[inside] = tree.serial
    tree.counts[2] += 1


@inlined
def work_of(tree: Tree) -> int:
    """The cost of all boxes computed so far, in units of one bound."""
    return tree.counts[1] + CLUSTER_WORK * tree.counts[2]
