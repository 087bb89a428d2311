"""Segments in one piece: small islands of a bone go to the segment around them.

In every component of the mesh a bone keeps its largest piece (by area). Its other pieces there go to the kept piece
with which they share the longest border; what only borders on other islands waits for the next round. Each round joins
something to a kept piece, so this ends, and then every bone is in one piece in every component.

Differs from Yan, Hu, Martin, Yang, 2008, who do not speak of islands: a range plane that cuts through a bulge, or a
line that slips through a gap, leaves triangles among those of another bone, and a pose tears at their borders.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from osteon.core.arrays import Float64, Int32

__all__ = ["connect_triangles", "join_islands"]


def connect_triangles(neighbors: Int32, bone: Int32 | None = None) -> Int32:
    """(t,) which connected piece each triangle is in; with bones, pieces of equal bone."""
    n = len(neighbors)
    t, e = np.nonzero(neighbors >= 0 if bone is None else (neighbors >= 0) & (bone[neighbors] == bone[:, None]))
    graph = csr_array((np.ones(len(t), np.int8), (t, neighbors[t, e])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], np.int32)


def join_islands(bone: Int32, component: Int32, areas: Float64, neighbors: Int32, borders: Float64) -> Int32:
    """Bones with islands joined to the segments around them; borders (t,3) are the lengths of edges."""
    out = bone.copy()
    while True:
        piece = connect_triangles(neighbors, out)
        kept = _kept_pieces(piece, out, component, areas)
        if kept.all():
            return out
        t, e = np.nonzero((neighbors >= 0) & ~kept[piece][:, None])
        t, e = t[kept[piece[neighbors[t, e]]]], e[kept[piece[neighbors[t, e]]]]
        if not len(t):
            return out
        target = _longest_border(piece[t], out[neighbors[t, e]], borders[t, e])
        new = np.full(len(kept), -1, np.int32)
        new[target[0]] = target[1]
        out = np.where(new[piece] >= 0, new[piece], out)


def _kept_pieces(piece: Int32, bone: Int32, component: Int32, areas: Float64) -> np.ndarray:
    """(p,) whether a piece is the largest of its bone in its component; of equal ones the first is."""
    _, first = np.unique(piece, return_index=True)
    size = np.bincount(piece, areas)
    order = np.lexsort((np.arange(len(first)), -size, bone[first], component[first]))
    group = np.stack([component[first], bone[first]], axis=1)[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (group[1:] != group[:-1]).any(axis=1)
    kept = np.zeros(len(first), bool)
    kept[order[begins]] = True
    return kept


def _longest_border(piece: Int32, other: Int32, length: Float64) -> tuple[Int32, Int32]:
    """For every piece the bone with which it shares the longest border; of equal ones the lowest."""
    pairs, inverse = np.unique(np.stack([piece, other], axis=1), axis=0, return_inverse=True)
    total = np.bincount(inverse.reshape(-1), length)
    order = np.lexsort((pairs[:, 1], -total, pairs[:, 0]))
    _, first = np.unique(pairs[order, 0], return_index=True)
    best = pairs[order[first]]
    return best[:, 0], best[:, 1]
