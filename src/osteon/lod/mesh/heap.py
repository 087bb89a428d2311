"""A heap of edges, the cheapest on top. Stale edges stay until they come up, or until there is no room left."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.kernels import compiled_by
from osteon.lod.mesh.state import HEAP, VERSION, Room

__all__ = ["pop_edge", "push_edge", "throw_out_stale"]


@compiled_by({"_nrt": False}, "f8.1 i4.2 i8.1 i4.2r f8 i8 i8 i8")
def push_edge(
    keys: Float64, edges: Int32, counters: Int64, heads: Int32, key: float, i: int, j: int, final: int
) -> None:
    """Add an edge, for which there must be room."""
    at = counters[HEAP]
    counters[HEAP] += 1
    while at > 0 and key < keys[(at - 1) // 2]:
        above = (at - 1) // 2
        keys[at] = keys[above]
        for c in range(5):
            edges[at, c] = edges[above, c]
        at = above
    keys[at], edges[at, 0], edges[at, 1] = key, i, j
    edges[at, 2], edges[at, 3], edges[at, 4] = heads[i, VERSION], heads[j, VERSION], final


@compiled_by({"_nrt": False}, "f8.1 i4.2 i8.1 i4.2r")
def pop_edge(keys: Float64, edges: Int32, counters: Int64, heads: Int32) -> int:
    """Take the cheapest edge that is not stale away; returns where it was put, -1 if there is none."""
    while counters[HEAP] > 0:
        counters[HEAP] -= 1
        last, at = int(counters[HEAP]), 0
        stale = heads[edges[0, 0], VERSION] != edges[0, 2] or heads[edges[0, 1], VERSION] != edges[0, 3]
        keys[0], keys[last] = keys[last], keys[0]
        for c in range(5):
            edges[0, c], edges[last, c] = edges[last, c], edges[0, c]
        while 2 * at + 1 < last:
            least = 2 * at + 1
            least += 1 if least + 1 < last and keys[least + 1] < keys[least] else 0
            if keys[at] <= keys[least]:
                break
            keys[at], keys[least] = keys[least], keys[at]
            for c in range(5):
                edges[at, c], edges[least, c] = edges[least, c], edges[at, c]
            at = least
        if not stale:
            return last
    return -1


def throw_out_stale(room: Room, heads: Int32) -> None:
    """Make room: edges that are up to date, in order, are a heap too."""
    edges, keys = room.edges[: room.counters[HEAP]], room.keys[: room.counters[HEAP]]
    fresh = np.flatnonzero((heads[edges[:, :2], VERSION] == edges[:, 2:4]).all(axis=1))
    fresh = fresh[np.argsort(keys[fresh], kind="stable")]
    room.keys[: len(fresh)], room.edges[: len(fresh)] = keys[fresh], edges[fresh]
    room.counters[HEAP] = len(fresh)
