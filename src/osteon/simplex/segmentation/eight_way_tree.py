"""A tree of boxes with up to eight boxes in a node, to find quickly all leaves that a box meets.

The eight boxes lie side by side in single precision, so that one instruction compares all of them. They are a little
larger than what they hold: a box that is met in vain costs time, nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.kernels import Int64, exact, inlined, lean
from osteon.simplex.segmentation.tree import SurfaceTree, invert

__all__ = ["EightWayTree", "Search", "collapse_tree", "gather_leaves", "make_search"]

WIDTH = 8
#: More than rounding to float32 moves a box or a line in a mesh of size 1.
ROUNDED = 1e-6
#: Nodes that may wait at the same time: depth times width, with room for a badly shaped tree; more: no answer.
DEEPEST = 512


class EightWayTree(NamedTuple):
    """Nodes as kernels take them."""

    bounds: Float32  # (n,6,8) lowest and highest corners; empty boxes meet nothing
    child: Int32  # (n,8) a node, or -1 - leaf of the binary tree


class Search(NamedTuple):
    """Arrays that `gather_leaves` works in, and the leaves that it finds."""

    waiting: Int64  # (DEEPEST,) nodes to visit
    leaves: Int64  # (n,)
    bounds: Float32  # (6,n) of the leaves; one row for each face of a box
    apart: Float32  # (n,) how far a line passes by; at most 0 where it meets a box


def make_search(most: int) -> Search:
    """Room for so many leaves."""
    return Search(
        *(np.empty(DEEPEST, np.int64), np.empty(most, np.int64)),
        *(np.empty((6, most), np.float32), np.empty(max(most, WIDTH), np.float32)),
    )


def collapse_tree(tree: SurfaceTree) -> EightWayTree:
    """The same boxes with eight to a node."""
    n = len(tree.after)
    bounds, child = np.empty((n, 6, WIDTH), np.float32), np.zeros((n, WIDTH), np.int32)
    used = _collapse(tree, bounds, child)
    return EightWayTree(bounds[:used], child[:used])


@exact
def _collapse(tree: SurfaceTree, bounds: Float32, child: Int32) -> int:
    """Open the largest box of a node until it has eight; returns the number of nodes."""
    boxes, after, leaf, _, _ = tree
    source, kids = np.zeros(after.size, np.int64), np.empty(WIDTH, np.int64)
    n, node = 1, 0
    while node < n:
        kids[0], n_kids = source[node], 1
        while n_kids < WIDTH:
            largest, area = -1, -1.0
            for k in range(n_kids):
                surface = _surface(boxes, kids[k])
                if leaf[kids[k], 1] == 0 and surface > area and after.size > 1:
                    largest, area = k, surface
            if largest < 0:
                break
            opened = kids[largest]
            kids[largest], kids[n_kids] = opened + 1, after[opened + 1]
            n_kids += 1
        for k in range(WIDTH):
            for c in range(6):
                inside = boxes[kids[k], c] if k < n_kids else (1e30 if c < 3 else -1e30)
                bounds[node, c, k] = inside + (-ROUNDED if c < 3 else ROUNDED)
            if k < n_kids and (leaf[kids[k], 1] or after.size == 1):
                child[node, k] = -1 - kids[k]
            elif k < n_kids:
                child[node, k], source[n] = n, kids[k]
                n += 1
        node += 1
    return n


@inlined
def _surface(boxes: Float64, i: int) -> float:
    x, y, z = boxes[i, 3] - boxes[i, 0], boxes[i, 4] - boxes[i, 1], boxes[i, 5] - boxes[i, 2]
    area: float = x * y + y * z + z * x
    return area


@lean
def gather_leaves(tree: EightWayTree, beam: Float64, search: Search) -> int:
    """The leaves that lines between two boxes (2,6) may meet, and their bounds; returns how many, -1: too many to hold.

    At any part of their way, lines are no farther from the line between the middles of the boxes than the larger box
    is wide, in each axis. So a leaf is left out if that line passes it even when it is wider by as much.
    """
    boxes, child = tree
    waiting, leaves, bounds, apart = search
    (ox, wx, ix), (oy, wy, iy), (oz, wz, iz) = _axis(beam, 0), _axis(beam, 1), _axis(beam, 2)
    zero, one = np.float32(0), np.float32(1)
    waiting[0], n_waiting, n = 0, 1, 0
    while n_waiting:
        n_waiting -= 1
        node = waiting[n_waiting]
        for k in range(WIDTH):
            x0, x1 = (boxes[node, 0, k] - wx - ox) * ix, (boxes[node, 3, k] + wx - ox) * ix
            y0, y1 = (boxes[node, 1, k] - wy - oy) * iy, (boxes[node, 4, k] + wy - oy) * iy
            z0, z1 = (boxes[node, 2, k] - wz - oz) * iz, (boxes[node, 5, k] + wz - oz) * iz
            enter = max(max(min(x0, x1), min(y0, y1)), max(min(z0, z1), zero))
            leave = min(min(max(x0, x1), max(y0, y1)), min(max(z0, z1), one))
            apart[k] = enter - leave
        if n_waiting + WIDTH > waiting.size or n + WIDTH > leaves.size:
            return -1
        for k in range(WIDTH):
            if apart[k] > 0:
                continue
            if child[node, k] > 0:
                waiting[n_waiting] = child[node, k]
                n_waiting += 1
            elif child[node, k] < 0:
                leaves[n] = -1 - child[node, k]
                for c in range(6):
                    bounds[c, n] = boxes[node, c, k]
                n += 1
    return n


@inlined
def _axis(beam: Float64, c: int) -> tuple[np.float32, np.float32, np.float32]:
    """In one axis: where the middle line starts, how far others are from it, and one over the way it goes."""
    start, stop = 0.5 * (beam[0, c] + beam[0, 3 + c]), 0.5 * (beam[1, c] + beam[1, 3 + c])
    width = 0.5 * max(beam[0, 3 + c] - beam[0, c], beam[1, 3 + c] - beam[1, c])
    return np.float32(start), np.float32(width), np.float32(invert(stop - start))
