"""stub"""

from __future__ import annotations

from osteon.apply.collide.tree_table import Tree
from osteon.core.kernels import lean


@lean
def bound_node(tree: Tree, node: int) -> None:
    """tbd"""
