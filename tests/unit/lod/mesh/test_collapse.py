"""The heap of edges: cheapest first, and edges whose ends changed are skipped."""

from __future__ import annotations

import numpy as np

from osteon.lod.mesh.collapse import pick_edge, push_edge, remove_stale
from tests.small_meshes import grid, start, still


def picks(surface, workspace):
    found = []
    while pick_edge(surface, workspace):
        edge = workspace.picked[0]
        found.append((float(edge.price), int(edge.first), int(edge.second)))
    return found


def test_cheapest_first():
    started = start(still(grid(2)))
    surface, workspace = started.surface, started.workspace
    rng = np.random.default_rng(0)
    prices = rng.permutation(40) / 8
    for key in prices:
        push_edge(surface, workspace, key, 0, 1, 0)
    assert [key for key, _, _ in picks(surface, workspace)] == sorted(prices.tolist())
    assert workspace.counters[0].heap_size == 0
    assert picks(surface, workspace) == []  # empty stays empty


def test_stale_edges_are_passed_over():
    started = start(still(grid(2)))
    surface, workspace = started.surface, started.workspace
    for key, (i, j) in enumerate([(0, 1), (1, 2), (3, 4), (4, 5)]):
        push_edge(surface, workspace, float(key), i, j, 0)
    surface.points[1].version += 1
    assert picks(surface, workspace) == [(2.0, 3, 4), (3.0, 4, 5)]


def test_room_is_made_of_stale_edges():
    started = start(still(grid(2)))
    surface, workspace = started.surface, started.workspace
    for key in range(10, 0, -1):
        push_edge(surface, workspace, float(key), key % 3, 3 + key % 2, 0)
    surface.points[0].version += 1
    remove_stale(surface, workspace)
    assert workspace.counters[0].heap_size == sum(key % 3 != 0 for key in range(1, 11))
    assert [key for key, _, _ in picks(surface, workspace)] == [float(key) for key in range(1, 11) if key % 3 != 0]
