"""Boxes of the nodes that a query reaches: stored for the frame, or computed now."""

from __future__ import annotations

from osteon.apply.collide.deformation_bounds import begin_frame, sphere_node
from osteon.apply.collide.pose_bounds import begin_pose, bound_group, place_region, spread_group
from osteon.apply.collide.tree_table import BOUND, CHILD, DEFORMED, LAZY, REGION, STORED, WIDTH, Tree
from osteon.core.kernels import inlined, lean


@inlined
def begin(tree: Tree) -> None:
    """Make the box of the root valid."""
    if tree.bounds_by != STORED and tree.box_stamps[0] != tree.serial:
        if tree.bounds_by == LAZY:
            begin_pose(tree)
        else:
            begin_frame(tree)


@inlined
def enter_region(tree: Tree, entry: int) -> int:
    """The root of an entry's region, whose frame is valid then."""
    root = tree.nodes[WIDTH * entry + CHILD]
    if tree.bounds_by == LAZY:
        place_region(tree, root)
    return root


@inlined
def reach_group(tree: Tree, head: int) -> int:
    """The number of the group below its head, whose boxes are valid then."""
    group = tree.nodes[WIDTH * head + BOUND]
    if tree.group_stamps[group] != tree.serial:
        bound_group(tree, group, tree.nodes[WIDTH * head + REGION])
    return group


@inlined
def reach_children(tree: Tree, node: int) -> None:
    """Make the boxes of both children of an inner node valid."""
    if tree.bounds_by == LAZY:
        group = tree.nodes[WIDTH * node + BOUND]
        if group >= 0 and tree.spread_stamps[group] != tree.serial:
            reach_group(tree, node)
            spread_group(tree, group)
    elif tree.bounds_by == DEFORMED:
        one = tree.nodes[WIDTH * node + CHILD]
        if tree.box_stamps[one] != tree.serial:
            _compute_spheres(tree, one)


@lean
def _compute_spheres(tree: Tree, one: int) -> None:
    """Compute the boxes of a node and its sibling."""
    sphere_node(tree, one)
    sphere_node(tree, one + 1)
    tree.box_stamps[one] = tree.box_stamps[one + 1] = tree.serial
    tree.counts[1] += 2


@inlined
def work_of(tree: Tree) -> int:
    """The number of boxes computed so far."""
    return tree.counts[1]
