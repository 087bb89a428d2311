"""Which vertex of an edited mesh is which of the model, where a program wrote the vertices in another order.

Programs merge or split vertices at seams of textures, and reorder them. Vertices in one position count as one point.

1. Seeds: points that the edit did not move are in the same position in both meshes. A seed counts if most of its
   neighbours that are seeds too are its neighbours in the edited mesh.
2. Growth: an unmatched point i and an unmatched point j of the edited mesh belong together if more of their matched
   neighbours correspond than those of any other pair of i or of j,

    c_ij = sum_(k,l) N_ik M_kl N'_jl,   N, N' who is a neighbour of whom, M the points matched so far,

   by at least two. Of equal pairs the one with the shorter move counts, as long as it is much shorter than the next.
   New pairs are added round by round, from the border of an edit to its middle.

A match is complete or refused: every used vertex has a partner, and the neighbours of nearly all stay neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from osteon.core.arrays import Bool, Float64, FloatArray, Int32, Int64
from osteon.core.errors import GeometryError
from osteon.core.mesh import Mesh
from osteon.core.topology import bounding_diagonal, vertex_graph, weld_points

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Points closer than this, of the diagonal, are in the same position: text files round.
SAME_PLACE = 2e-6
#: Part of the edges that a match keeps: diagonals of quads may be others.
KEPT_EDGES = 0.6
#: Of two equal candidates, the nearer one counts if the other is this much farther.
NEARER = 0.5


def match_vertices(mesh: Mesh, base: FloatArray, edited: Mesh) -> Int32:
    """(v,) the vertex of the edited mesh for each of the model, whose positions before the edit are base (v,3)."""
    if edited.n_vertices == mesh.n_vertices and _same_order(mesh.faces, edited.faces, mesh.n_vertices):
        return np.arange(mesh.n_vertices, dtype=np.int32)
    near = SAME_PLACE * bounding_diagonal(base)
    ours, theirs = _Points.of(base, mesh.faces), _Points.of(edited.rest, edited.faces)
    if not len(mesh.faces) or not len(edited.faces):
        raise _refused(mesh, edited, "one has no triangles")
    partner = _grow(ours, theirs, _seeds(ours, theirs, near))
    missing = int((ours.used & (partner < 0)).sum())
    if missing:
        raise _refused(mesh, edited, f"{missing:,} of {int(ours.used.sum()):,} positions have no partner")
    kept = _kept_edges(ours, theirs, partner)
    if kept < KEPT_EDGES:
        raise _refused(mesh, edited, f"only {kept:.0%} of the edges are the same")
    first = np.zeros(len(theirs.places), np.int32)
    first[theirs.of_vertex[::-1]] = np.arange(edited.n_vertices, dtype=np.int32)[::-1]
    found = first[np.where(partner < 0, 0, partner)][ours.of_vertex]
    return np.where(partner[ours.of_vertex] < 0, -1, found).astype(np.int32)


def _refused(mesh: Mesh, edited: Mesh, why: str) -> GeometryError:
    return GeometryError(
        f"edited: its {edited.n_vertices:,} vertices do not match the {mesh.n_vertices:,} of the model ({why}); "
        "export the model's own mesh, edit it, and keep its triangles"
    )


def _same_order(ours: Int32, theirs: Int32, n_vertices: int) -> bool:
    """Whether two meshes of as many vertices number them alike; a mesh without triangles does."""
    if not len(theirs) or np.array_equal(ours, theirs):
        return True
    return _common_part(_edge_keys(ours, n_vertices), _edge_keys(theirs, n_vertices)) >= KEPT_EDGES


def _edge_keys(faces: Int32, n_vertices: int) -> Int64:
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1).astype(np.int64)
    return np.unique(edges[:, 0] * n_vertices + edges[:, 1])


def _common_part(first: Int64, second: Int64) -> float:
    return len(np.intersect1d(first, second, assume_unique=True)) / max(1, len(first), len(second))


class _Points:
    """The positions of a mesh, and which are neighbours."""

    def __init__(self, places: Float64, of_vertex: Int32, faces: Int32) -> None:
        self.places, self.of_vertex, self.faces = places, of_vertex, faces
        self.graph: csr_array = vertex_graph(faces, len(places))
        self.used: Bool = np.zeros(len(places), bool)
        self.used[faces] = True

    @staticmethod
    def of(points: FloatArray, faces: Int32) -> _Points:
        first, of_vertex = weld_points(points.astype(np.float32))
        return _Points(points[first].astype(np.float64), of_vertex.astype(np.int32), of_vertex[faces])


def _seeds(ours: _Points, theirs: _Points, near: float) -> Int64:
    """(n,) the point of the edited mesh in the same position, with the same neighbours; -1 without one."""
    from scipy.spatial import cKDTree

    distance, found = cKDTree(theirs.places).query(ours.places)
    back = cKDTree(ours.places).query(theirs.places)[1]
    mutual = (distance <= near) & (back[found] == np.arange(len(ours.places))) & ours.used & theirs.used[found]
    partner = np.where(mutual, found, -1).astype(np.int64)
    corresponding = _moved_graph(ours, theirs, partner)
    agree = np.asarray(corresponding.multiply(theirs.graph).sum(axis=1)).reshape(-1)
    known = np.asarray(corresponding.sum(axis=1)).reshape(-1)
    holds = np.ones(len(partner), bool)
    matched = partner >= 0
    holds[matched] = 2 * agree[partner[matched]] >= known[partner[matched]]
    return np.where(holds, partner, -1)


def _moved_graph(ours: _Points, theirs: _Points, partner: Int64) -> csr_array:
    """(m,m) our neighbours among matched points, numbered as theirs."""
    from scipy.sparse import csr_array

    graph = ours.graph.tocoo()
    first, second = partner[graph.row], partner[graph.col]
    both = (first >= 0) & (second >= 0)
    count = len(theirs.places)
    return csr_array((np.ones(int(both.sum())), (first[both], second[both])), shape=(count, count))


def _grow(ours: _Points, theirs: _Points, partner: Int64) -> Int64:
    """The seeds and all pairs that follow from them."""
    from scipy.sparse import csr_array

    partner = partner.copy()
    while True:
        free, taken = np.flatnonzero(ours.used & (partner < 0)), partner[partner >= 0]
        open_ = np.setdiff1d(np.flatnonzero(theirs.used), taken)
        if not len(free) or not len(open_) or not len(taken):
            return partner
        matched = np.flatnonzero(partner >= 0)
        shape = (len(partner), len(theirs.places))
        match = csr_array((np.ones(len(matched)), (matched, partner[matched])), shape=shape)
        common = (ours.graph[free] @ match @ theirs.graph[:, open_]).tocoo()
        added = _best_pairs(common, ours.places[free], theirs.places[open_])
        if not len(added[0]):
            return partner
        partner[free[added[0]]] = open_[added[1]]


def _best_pairs(common: csr_array, ours: Float64, theirs: Float64) -> tuple[Int64, Int64]:
    """Rows and columns that are each other's best, by common neighbours and then by distance."""
    row, column, count = (np.asarray(a) for a in (common.row, common.col, common.data))
    enough = count >= 2
    row, column, count = row[enough], column[enough], count[enough]
    if not len(row):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    distance = np.linalg.norm(ours[row] - theirs[column], axis=1)
    mine, rival = _leaders(row, count, distance)
    yours, other = _leaders(column, count, distance)
    clear = _clear(count, distance, mine, rival) & _clear(count, distance, yours, other)
    if not clear.any():  # every choice is a close one: the best of them, so that the work goes on
        both = np.flatnonzero((mine == np.arange(len(row))) & (yours == np.arange(len(row))))
        best = both[np.lexsort((distance[both], -count[both]))[:1]]
        return row[best].astype(np.int64), column[best].astype(np.int64)
    return row[clear].astype(np.int64), column[clear].astype(np.int64)


def _leaders(group: Int64, count: Float64, distance: Float64) -> tuple[Int64, Int64]:
    """For every pair the best and the second best pair of its group; -1 where there is no second."""
    order = np.lexsort((distance, -count, group))
    begins = np.ones(len(order), bool)
    begins[1:] = group[order[1:]] != group[order[:-1]]
    starts = np.flatnonzero(begins)
    sizes = np.diff(np.append(starts, len(order)))
    number = np.cumsum(begins) - 1
    first, second = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    first[order] = order[starts][number]
    after = np.where(sizes > 1, order[np.minimum(starts + 1, len(order) - 1)], -1)
    second[order] = after[number]
    return first, second


def _clear(count: Float64, distance: Float64, best: Int64, second: Int64) -> Bool:
    """Whether a pair is the best of its group by more neighbours, or as many and a much shorter move."""
    ahead = count > count[second]
    nearer = (count == count[second]) & (distance < NEARER * distance[second])
    out: Bool = (best == np.arange(len(count))) & ((second < 0) | ahead | nearer)
    return out


def _kept_edges(ours: _Points, theirs: _Points, partner: Int64) -> float:
    """The part of the edges that both meshes have."""
    whole = np.where(partner < 0, 0, partner)
    return _common_part(
        _edge_keys(whole[ours.faces].astype(np.int32), len(theirs.places)), _edge_keys(theirs.faces, len(theirs.places))
    )
