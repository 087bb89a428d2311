"""The tree of sections that costs least, and its root.

    cost of a joint = residual + OFFSET (distance to boundary) + GAP gap (in diagonals) + APART if no vertex is shared

The residual says whether both sections turn about one point, the others whether they are neighbours at all. The least
spanning tree of these costs is the skeleton; a root only says from where it is told.

Based on: Reid, Jacka, Gain and Merry, Mesh Approximation for Animated Characters, figure 2 (the skeleton from the rigid
sections); Kruskal, On the shortest spanning subtree of a graph, 1956.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from osteon.core.arrays import Float64, Int64
from osteon.fit.skeleton.pair_joints import PairJoints

__all__ = ["JointTree", "find_tree"]

#: Cost of a diagonal between joint and boundary, and of one between sections that share no vertex.
OFFSET, GAP = 0.1, 0.3
#: Cost of sharing no vertex, in diagonals, and of sharing few: that of half a vertex.
APART, FEW = 0.05, 0.01


@dataclass(frozen=True, slots=True)
class JointTree:
    """Sections as a tree, parents before children; joint b is where section b hangs on its parent."""

    order: Int64  # (b,) the section at each place
    parents: Int64  # (b,) -1 at the root, which is first
    places: Float64  # (b,3) of the joints in the rest pose; of the root the middle of the joints on it
    boundaries: Float64  # (b,3) where sections meet; of the root its place
    turns: Float64  # (b,) degrees of the widest turn; 0 at the root
    slack: Float64  # (b,) how far a turn of a radian takes each joint apart, in diagonals; 0 at the root


def find_tree(pairs: PairJoints, centers: Float64, masses: Float64, diagonal: float, root: int = -1) -> JointTree:
    """The tree of sections with centers (b,3) and masses (b,), from `root` or from the middle of the body."""
    n_sections = len(masses)
    costs = joint_costs(pairs, diagonal)
    a, b = pairs.pairs.T
    graph = coo_array((costs, (a, b)), shape=(n_sections, n_sections)).tocsr()
    spanning = minimum_spanning_tree(graph)
    if root < 0:
        root = _middle(spanning, masses)
    order, above = breadth_first_order(spanning, root, directed=False)
    place_of = np.empty(n_sections, np.int64)
    place_of[order] = np.arange(n_sections)
    number = {(int(x), int(y)): n for n, (x, y) in enumerate(pairs.pairs)}
    chosen = [number[min(s, above[s]), max(s, above[s])] for s in order[1:].tolist()]
    places, boundaries = np.zeros((n_sections, 3)), np.zeros((n_sections, 3))
    turns, slack = np.zeros(n_sections), np.zeros(n_sections)
    places[1:], boundaries[1:] = pairs.places[chosen], pairs.boundaries[chosen]
    turns[1:], slack[1:] = pairs.turns[chosen], pairs.slack()[chosen] / diagonal
    parents = np.full(n_sections, -1, np.int64)
    parents[1:] = place_of[above[order[1:]]]
    on_root = np.flatnonzero(parents == 0)
    places[0] = boundaries[0] = places[on_root].mean(axis=0) if len(on_root) > 1 else centers[root]
    return JointTree(order.astype(np.int64), parents, places, boundaries, turns, slack)


def joint_costs(pairs: PairJoints, diagonal: float) -> Float64:
    """(n,) what each pair would cost as a joint, in diagonals."""
    lengths = pairs.residuals + OFFSET * pairs.offsets() + GAP * pairs.gaps
    together = np.where(pairs.shared > 0, FEW / (1 + 2 * pairs.shared), APART)
    out: Float64 = lengths / diagonal + together
    return out


def _middle(spanning: coo_array, masses: Float64) -> int:
    """The section of which no side of the tree is heavy: where bodies are carried. Ties go to the heavier section."""
    n_sections = len(masses)
    order, above = breadth_first_order(spanning, 0, directed=False)
    below = masses.astype(np.float64).copy()
    heaviest = np.zeros(n_sections)
    for section in order[:0:-1].tolist():
        below[above[section]] += below[section]
        heaviest[above[section]] = max(heaviest[above[section]], below[section])
    total = masses.sum()
    sides = np.maximum(heaviest, total - below)
    return int(np.lexsort((-masses, sides))[0])
