"""A tree of bounding boxes, built top-down.

Each node is split where the surface area heuristic, the sum over both parts of (count x surface), is least among 16
bins along its longest axis. Nodes are stored depth-first, each with the number of the node that follows its subtree, so
that a query needs no stack. The second child of node i is after[i + 1].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.kernels import compiled_by, exact, inlined

LEAF = 4  # items in a leaf
BINS = 16  # candidate positions of a split
#: The larger part waits while the smaller one is split, so 64 entries suffice for 2**63 items.
DEEPEST = 64


class BoxTree(NamedTuple):
    """Boxes for kernels, which accept named tuples but no data classes."""

    bounds: Float64  # (n,6) lowest and highest corner of every node
    after: Int32  # (n,) the node that follows the subtree of each
    first: Int32  # (n,) first item of a leaf
    held: Int32  # (n,) items of a leaf, 0 inside
    order: Int32  # (t,) items, leaf by leaf


def build_boxes(around: Float64) -> BoxTree:
    """The tree of items with the given boxes (t,6); there may be none."""
    order = np.arange(len(around), dtype=np.int32)
    n = max(1, 2 * len(around))
    bounds, after, first, count = np.empty((n, 6)), *(np.zeros(n, np.int32) for _ in range(3))
    used = _build(around, order, bounds, after, first, count)
    return BoxTree(bounds[:used].copy(), after[:used].copy(), first[:used].copy(), count[:used].copy(), order)


@compiled_by({}, "f8.2r i4.1 f8.2 i4.1 i4.1 i4.1")
def _build(around: Float64, order: Int32, bounds: Float64, after: Int32, first: Int32, count: Int32) -> int:
    """Fill the nodes depth-first and sort `order` leaf by leaf. Returns the number of nodes."""
    parts = np.empty((DEEPEST, 2), np.int64)  # still to do; the next is on top
    parts[0, 0], parts[0, 1] = 0, order.size
    waiting, node = 1, 0
    while waiting:
        waiting -= 1
        start, stop = parts[waiting, 0], parts[waiting, 1]
        _bound(around, order, start, stop, bounds[node])
        if stop - start <= LEAF:
            first[node], count[node] = start, stop - start
        else:
            cut = _cut(around, order, start, stop)
            top = 1 if cut - start <= stop - cut else 0  # the smaller part first: see DEEPEST
            parts[waiting + top, 0], parts[waiting + top, 1] = start, cut
            parts[waiting + 1 - top, 0], parts[waiting + 1 - top, 1] = cut, stop
            waiting += 2
        node += 1
    for i in range(node - 1, -1, -1):
        after[i] = i + 1 if count[i] or order.size == 0 else after[after[i + 1]]
    return node


@exact
def _bound(around: Float64, order: Int32, start: int, stop: int, box: Float64) -> None:
    """The box around some items."""
    box[:3], box[3:] = 1e300, -1e300
    for i in range(start, stop):
        item = order[i]
        for k in range(3):
            box[k], box[3 + k] = min(box[k], around[item, k]), max(box[3 + k], around[item, 3 + k])


@inlined
def _middle(around: Float64, item: int, axis: int) -> float:
    """Middle of an item's box."""
    middle: float = 0.5 * (around[item, axis] + around[item, 3 + axis])
    return middle


@exact
def _cut(around: Float64, order: Int32, start: int, stop: int) -> int:
    """Partition the items of a node by their centres; returns where the second part begins."""
    low, high = np.full(3, 1e300), np.full(3, -1e300)
    for i in range(start, stop):
        for k in range(3):
            middle = _middle(around, order[i], k)
            low[k], high[k] = min(low[k], middle), max(high[k], middle)
    axis = int(np.argmax(high - low))
    if high[axis] - low[axis] <= 1e-300:
        return (start + stop) // 2  # all centres coincide
    scale = BINS * (1 - 1e-9) / (high[axis] - low[axis])
    best = _best_bin(around, order[start:stop], axis, low[axis], scale)
    i, j = start, stop - 1
    while i <= j:
        if (_middle(around, order[i], axis) - low[axis]) * scale < best:
            i += 1
        else:
            order[i], order[j] = order[j], order[i]
            j -= 1
    return i if start < i < stop else (start + stop) // 2


@exact
def _best_bin(around: Float64, order: Int32, axis: int, low: float, scale: float) -> int:
    """The first bin of the second part, where the estimate of the cost is least."""
    boxes, held = np.empty((BINS, 6)), np.zeros(BINS, np.int64)
    boxes[:, :3], boxes[:, 3:] = 1e300, -1e300
    for item in order:
        k = int((_middle(around, item, axis) - low) * scale)
        held[k] += 1
        for c in range(3):
            boxes[k, c], boxes[k, 3 + c] = min(boxes[k, c], around[item, c]), max(boxes[k, 3 + c], around[item, 3 + c])
    cost, box = np.zeros(BINS), np.empty(6)
    for side in range(2):  # sweep the first part upwards, then the second downwards
        box[:3], box[3:], n = 1e300, -1e300, 0
        for step in range(BINS - 1):
            k = step if side == 0 else BINS - 1 - step
            n += held[k]
            for c in range(3):
                box[c], box[3 + c] = min(box[c], boxes[k, c]), max(box[3 + c], boxes[k, 3 + c])
            x, y, z = max(box[3] - box[0], 0.0), max(box[4] - box[1], 0.0), max(box[5] - box[2], 0.0)
            cost[k + 1 if side == 0 else k] += n * (x * y + y * z + z * x)
    return 1 + int(np.argmin(cost[1:]))
