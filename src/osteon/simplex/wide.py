"""A tree of boxes with up to eight boxes in a node, to find quickly all leaves that a box meets.

The eight boxes lie side by side in single precision, so that one instruction compares all of them. They are a little
larger than what they hold: a box that is met in vain costs time, nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from osteon.core.arrays import Float32, Int32
from osteon.simplex.compiled import exact, inlined, lean
from osteon.simplex.tree import SurfaceTree

__all__ = ["DEEPEST", "WideTree", "gather_leaves", "widen"]

WIDTH = 8
#: More than rounding to float32 moves a box or a line in a mesh of size 1.
ROUNDED = 1e-6
#: Nodes that may wait at the same time: depth times width, with room for a badly shaped tree; more: no answer.
DEEPEST = 512


class WideTree(NamedTuple):
    """Nodes as kernels take them."""

    bounds: Float32  # (n,6,8) lowest and highest corners; empty boxes meet nothing
    child: Int32  # (n,8) a node, or -1 - leaf of the binary tree


def widen(tree: SurfaceTree) -> WideTree:
    """The same boxes with eight to a node."""
    n = len(tree.after)
    bounds, child = np.empty((n, 6, WIDTH), np.float32), np.zeros((n, WIDTH), np.int32)
    used: int = _widen(tree, bounds, child)
    return WideTree(bounds[:used], child[:used])


@exact
def _widen(tree, bounds, child):
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
def _surface(boxes, i):
    x, y, z = boxes[i, 3] - boxes[i, 0], boxes[i, 4] - boxes[i, 1], boxes[i, 5] - boxes[i, 2]
    return x * y + y * z + z * x


@lean
def gather_leaves(wide, box, waiting, leaves, bounds):
    """The leaves that a box (x y z x y z) meets, and their bounds (6,n); returns how many, -1: too many to hold."""
    boxes, child = wide
    x0, y0, z0 = np.float32(box[0]), np.float32(box[1]), np.float32(box[2])
    x1, y1, z1 = np.float32(box[3]), np.float32(box[4]), np.float32(box[5])
    waiting[0], n_waiting, n = 0, 1, 0
    while n_waiting:
        n_waiting -= 1
        node = waiting[n_waiting]
        met = 0
        for k in range(WIDTH):
            x = boxes[node, 0, k] <= x1 and boxes[node, 3, k] >= x0
            y = boxes[node, 1, k] <= y1 and boxes[node, 4, k] >= y0
            z = boxes[node, 2, k] <= z1 and boxes[node, 5, k] >= z0
            met |= (x & y & z) << k
        if n_waiting + WIDTH > waiting.size or n + WIDTH > leaves.size:
            return -1
        for k in range(WIDTH):
            if not met >> k & 1:
                continue
            if child[node, k] > 0:
                waiting[n_waiting] = child[node, k]
                n_waiting += 1
            else:
                leaves[n] = -1 - child[node, k]
                for c in range(6):
                    bounds[c, n] = boxes[node, c, k]
                n += 1
    return n
