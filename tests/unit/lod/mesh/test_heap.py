"""The heap of edges: cheapest first, and edges whose ends changed are passed over."""

from __future__ import annotations

import numpy as np

from osteon.lod.mesh.heap import pop_edge, push_edge, throw_out_stale
from osteon.lod.mesh.state import HEAP, VERSION
from tests.small_meshes import grid, start, still


def pops(room, heads):
    found = []
    while (at := pop_edge(room.keys, room.edges, room.counters, heads)) >= 0:
        found.append((float(room.keys[at]), *room.edges[at, :2].tolist()))
    return found


def test_cheapest_first():
    started = start(still(grid(2)))
    room, heads = started.room, started.tables.heads
    rng = np.random.default_rng(0)
    prices = rng.permutation(40) / 8
    for key in prices:
        push_edge(room.keys, room.edges, room.counters, heads, key, 0, 1, 0)
    assert [key for key, _, _ in pops(room, heads)] == sorted(prices.tolist())
    assert room.counters[HEAP] == 0
    assert pops(room, heads) == []  # empty stays empty


def test_stale_edges_are_passed_over():
    started = start(still(grid(2)))
    room, heads = started.room, started.tables.heads
    for key, (i, j) in enumerate([(0, 1), (1, 2), (3, 4), (4, 5)]):
        push_edge(room.keys, room.edges, room.counters, heads, float(key), i, j, 0)
    heads[1, VERSION] += 1
    assert pops(room, heads) == [(2.0, 3, 4), (3.0, 4, 5)]


def test_room_is_made_of_stale_edges():
    started = start(still(grid(2)))
    room, heads = started.room, started.tables.heads
    for key in range(10, 0, -1):
        push_edge(room.keys, room.edges, room.counters, heads, float(key), key % 3, 3 + key % 2, 0)
    heads[0, VERSION] += 1
    throw_out_stale(room, heads)
    assert room.counters[HEAP] == sum(key % 3 != 0 for key in range(1, 11))
    assert [key for key, _, _ in pops(room, heads)] == [float(key) for key in range(1, 11) if key % 3 != 0]
