"""Checks of closed surfaces, and the creature, which is made once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from osteon.core.arrays import FloatArray, Int32
from osteon.core.sequence import MeshSequence
from osteon.synth.creature import make_creature


@dataclass(frozen=True)
class Topology:
    """What the faces alone say about a mesh."""

    triangles_at_edge: set[int]
    consistent: bool  # every edge is walked once in each direction
    n_shells: int
    euler: int
    fans: bool  # the triangles around each vertex form one fan


def topology_of(n_vertices: int, faces: Int32) -> Topology:
    directed = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).astype(np.int64)
    edges, counts = np.unique(np.sort(directed, axis=1), axis=0, return_counts=True)
    once = len(np.unique(directed, axis=0)) == len(directed)
    links = sparse.coo_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n_vertices, n_vertices))
    n_shells, _ = sparse.csgraph.connected_components(links, directed=False)
    # In a closed mesh with one fan at a vertex, following b -> c over its triangles (v, b, c) is a single cycle.
    fans = True
    around: dict[int, dict[int, int]] = {}
    for a, b, c in faces.tolist():
        for v, start, end in ((a, b, c), (b, c, a), (c, a, b)):
            around.setdefault(v, {})[start] = end
    for ring in around.values():
        first = at = next(iter(ring))
        steps = 0
        while at in ring and steps <= len(ring):
            at, steps = ring[at], steps + 1
            if at == first:
                break
        fans &= steps == len(ring)
    return Topology(set(counts.tolist()), once, int(n_shells), n_vertices - len(edges) + len(faces), fans)


def triangle_areas(points: FloatArray, faces: Int32) -> FloatArray:
    a, b, c = (points[..., faces[:, k], :].astype(np.float64) for k in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=-1) / 2


def smallest_angles(points: FloatArray, faces: Int32) -> FloatArray:
    """(t,) degrees."""
    p = points[faces].astype(np.float64)
    sides = np.roll(p, -1, axis=1) - p
    sides /= np.linalg.norm(sides, axis=2, keepdims=True)
    cosines = -(sides * np.roll(sides, -1, axis=1)).sum(axis=2)
    return np.degrees(np.arccos(np.clip(cosines, -1, 1))).min(axis=1)


@pytest.fixture(scope="session")
def creature() -> MeshSequence:
    return make_creature()
