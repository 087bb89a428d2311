"""The band on both sides of a boundary, and the cheapest cut through it.

A band is made of free triangles; what surrounds it keeps its side and is one source and one sink. A part of the area
of every segment is never free, so none can be swallowed, however thin.

The dual graph of a mesh with the creases between its triangles, for cuts along edges.

Nodes are triangles, links are the edges that two of them share. Vertices that coincide count as one: files store them
twice at hard edges, which is where cuts belong. An edge of three or more triangles links them in a row, so a mesh that
is not a manifold stays connected. A triangle without area takes the normal of what surrounds it.

Symbols (Katz and Tal 2003, section 3)
    alpha       `angle`     how far the normals of two triangles turn across their edge
    AngDist     `bend`      eta (1 - cos alpha)
    eta         `convex`    below 1 for a convex edge, 1 for a concave one: parts meet in valleys
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, dijkstra, maximum_flow

from osteon.core.arrays import Float64, Int32
from osteon.core.topology import degenerate_triangles, weld_points

#: A turn of less than this is rounding, 1 - cos of 0.1 degree.
FLAT = 1.5e-6


@dataclass(frozen=True)  # no slots: parts are computed once and kept
class DualGraph:
    """Triangles and the edges between them. Links are sorted by the vertices of their edge."""

    centers: Float64  # (t,3)
    weights: Float64  # (t,) areas
    pairs: Int32  # (e,2) the triangles of a link, the lower number first
    ends: Int32  # (e,2) the vertices of its edge, numbered anew
    middles: Float64  # (e,3) of the edge
    lengths: Float64  # (e,) of the edge
    turns: Float64  # (e,) cos alpha
    concave: np.ndarray  # (e,) bool; without a meaning where alpha is 0

    @staticmethod
    def of(vertices: Float64, faces: Int32) -> DualGraph:
        unique, number = weld_points(vertices)
        points, corners = vertices[unique], number[faces]
        a, b, c = (points[corners[:, i]] for i in range(3))
        cross = np.cross(b - a, c - a)
        centers, areas = (a + b + c) / 3, 0.5 * np.linalg.norm(cross, axis=1)
        pairs, ends, opposed = _links(corners)
        flat = degenerate_triangles(points, corners)
        normals = _normals(cross, flat, pairs, opposed)
        first, second = (normals[pairs[:, i]] for i in range(2))
        second = np.where(opposed[:, None], second, -second)  # a neighbour that is wound the other way is turned over
        turns = np.clip(np.einsum("ei,ei->e", first, second), -1, 1)
        known = (first.any(axis=1) & second.any(axis=1)) if len(pairs) else np.zeros(0, bool)
        rise = np.einsum("ei,ei->e", centers[pairs[:, 1]] - centers[pairs[:, 0]], first - second)
        outward = _outward(centers, cross, graph_pieces(pairs, len(faces)))[pairs[:, 0]]
        return DualGraph(
            centers,
            areas,
            pairs,
            ends,
            points[ends].mean(axis=1),
            np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1),
            np.where(known, turns, 1.0),
            rise * outward > 0,
        )

    @property
    def n_triangles(self) -> int:
        return len(self.centers)

    @cached_property
    def angle(self) -> Float64:
        """(e,) alpha in radians."""
        out: Float64 = np.where(1 - self.turns < FLAT, 0.0, np.arccos(self.turns))
        return out

    @cached_property
    def hops(self) -> Float64:
        """(e,2) from the middle of the edge to the centre of either triangle; never 0, which would mean no link."""
        away = np.linalg.norm(self.centers[self.pairs] - self.middles[:, None], axis=2)
        out: Float64 = np.maximum(away, 1e-12 * max(float(away.max(initial=0.0)), 1e-288))
        return out

    @cached_property
    def single(self) -> np.ndarray:
        """(e,) bool: all links but the second and third ones between the same two triangles."""
        out = np.zeros(len(self.pairs), bool)
        key = self.pairs[:, 0].astype(np.int64) * self.n_triangles + self.pairs[:, 1]
        out[np.unique(key, return_index=True)[1]] = True
        return out

    def bend(self, convex: float) -> Float64:
        """(e,) AngDist of Katz and Tal."""
        turned = np.where(1 - self.turns < FLAT, 0.0, 1 - self.turns)
        out: Float64 = np.where(self.concave, 1.0, convex) * turned
        return out

    def typical_angle(self) -> float:
        """The alpha that half of the surface stays below: every edge counts by the area on its sides.

        Counted by area, a region of many tiny triangles weighs no more than it covers.
        """
        if not len(self.pairs):
            return 0.0
        weight = self.weights[self.pairs].sum(axis=1)
        order = np.argsort(self.angle, kind="stable")
        total = np.cumsum(weight[order])
        return float(self.angle[order[min(int(np.searchsorted(total, total[-1] / 2)), len(order) - 1)]])


def graph_pieces(pairs: Int32, n: int) -> Int32:
    """(n,) which connected piece each node is in."""
    links = csr_array((np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    _, piece = connected_components(links, directed=False)
    return np.asarray(piece, np.int32)


def count_pieces(pairs: Int32, labels: Int32, n_labels: int) -> Int32:
    """(n_labels,) how many connected pieces the triangles of each label form."""
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    piece = graph_pieces(pairs[same], len(labels))
    _, first = np.unique(piece, return_index=True)
    return np.bincount(labels[first], minlength=n_labels).astype(np.int32)


def _links(corners: Int32) -> tuple[Int32, Int32, np.ndarray]:
    """Triangles (e,2) that share an edge, its vertices (e,2), and whether they run along it in opposite directions."""
    n = len(corners)
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]).astype(np.int64)
    low, high = sides.min(axis=1), sides.max(axis=1)
    key = low * (int(corners.max(initial=0)) + 1) + high
    order = np.argsort(key, kind="stable")
    first, second = order[:-1], order[1:]
    kept = (key[first] == key[second]) & (first % n != second % n if n else True) & (low[first] != high[first])
    first, second = first[kept], second[kept]
    opposed = (sides[first, 0] < sides[first, 1]) != (sides[second, 0] < sides[second, 1])
    t, u = (first % n, second % n) if n else (first, second)
    pairs = np.stack([np.minimum(t, u), np.maximum(t, u)], axis=1).astype(np.int32)
    return pairs, np.stack([low[first], high[first]], axis=1).astype(np.int32), opposed


def _normals(cross: Float64, flat: np.ndarray, pairs: Int32, opposed: np.ndarray) -> Float64:
    """(t,3) unit normals; a flat triangle has the mean of its neighbours', or none among flat ones."""
    cross = np.where(flat[:, None], 0.0, cross)
    if flat.any():
        sign = np.where(opposed, 1.0, -1.0)[:, None]
        around = np.zeros_like(cross)
        np.add.at(around, pairs[:, 0], sign * cross[pairs[:, 1]])
        np.add.at(around, pairs[:, 1], sign * cross[pairs[:, 0]])
        cross = np.where(flat[:, None], around, cross)
    length = np.linalg.norm(cross, axis=1, keepdims=True)
    out: Float64 = np.divide(cross, length, out=np.zeros_like(cross), where=length > 0)
    return out


def _outward(centers: Float64, cross: Float64, shell: Int32) -> Float64:
    """(t,) -1 in shells that are inside out, where convex and concave change places; else 1."""
    area = np.linalg.norm(cross, axis=1)
    total = np.maximum(np.bincount(shell, area), 1e-300)
    middle = np.stack([np.bincount(shell, area * centers[:, i]) for i in range(3)], axis=1) / total[:, None]
    volume = np.bincount(shell, np.einsum("ti,ti->t", centers - middle[shell], cross))
    out: Float64 = np.where(volume < 0, -1.0, 1.0)[shell]
    return out


#: The capacities of a graph add up to this, so that no flow leaves 32 bits.
LARGEST_SUM = 2.0**30
#: Surroundings are known up to this many widths, to see how what is not free hangs together.
RIM = 1.5


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Some triangles of a mesh and the links between them."""

    triangles: Int32  # (n,) of the mesh, ascending
    links: Int32  # (e,) of the dual graph
    pairs: Int32  # (e,2) the triangles of the links, by their places in this subgraph

    @staticmethod
    def of(graph: DualGraph, chosen: np.ndarray) -> Subgraph:
        """The triangles that are chosen (t,) bool."""
        all_of_them = np.arange(graph.n_triangles, dtype=np.int32)
        return Subgraph(all_of_them, np.arange(len(graph.pairs), dtype=np.int32), graph.pairs).of_these(chosen)

    def of_these(self, chosen: np.ndarray) -> Subgraph:
        """The triangles of this subgraph that are chosen (n,) bool."""
        place = np.where(chosen, np.cumsum(chosen) - 1, -1).astype(np.int32)
        pairs = place[self.pairs]
        inside = np.flatnonzero((pairs[:, 0] >= 0) & (pairs[:, 1] >= 0))
        return Subgraph(self.triangles[chosen], self.links[inside], pairs[inside])

    def widened(self, chosen: np.ndarray) -> np.ndarray:
        """(n,) bool: the chosen triangles and their neighbours."""
        out = chosen.copy()
        out[self.pairs[chosen[self.pairs[:, 0]] | chosen[self.pairs[:, 1]]]] = True
        return out


@dataclass(frozen=True, slots=True)
class Band(Subgraph):
    """The surroundings of one boundary curve."""

    depth: Float64  # (n,) along the surface from the curve; infinite beyond the rim
    free: np.ndarray  # (n,) bool: may change sides
    width: float

    @property
    def open(self) -> np.ndarray:
        """(e,) bool: links that a cut may use, with a free triangle."""
        return np.asarray(self.free[self.pairs[:, 0]] | self.free[self.pairs[:, 1]])


def border_curves(graph: DualGraph, links: Int32) -> list[Int32]:
    """Links sorted into curves that hang together, the longest first."""
    if not len(links):
        return []
    _, number = np.unique(graph.ends[links], return_inverse=True)
    ends: Int32 = number.reshape(-1, 2).astype(np.int32)
    curve = graph_pieces(ends, int(ends.max()) + 1)[ends[:, 0]]
    length = np.bincount(curve, graph.lengths[links])
    return [links[curve == c] for c in np.argsort(-length, kind="stable")]


def find_band(graph: DualGraph, subgraph: Subgraph, curve: Int32, labels: Int32, limits: tuple[float, float]) -> Band:
    """The band around a curve of links of a subgraph; `limits` are the options width and keep.

    The width is a part of the curve's own size: the largest distance of its points from its middle, which is the
    radius of a loop around a limb and half of a straight path across a sheet.
    """
    length = np.maximum(graph.lengths[curve], 1e-300)
    middle = np.average(graph.middles[curve], axis=0, weights=length)
    radius = float(np.hypot(np.linalg.norm(graph.middles[curve] - middle, axis=1), length / 2).max())
    width = limits[0] * radius
    away = graph.centers[subgraph.triangles] - middle
    near = np.einsum("ti,ti->t", away, away) <= (radius + RIM * width) ** 2  # paths are longer than straight lines
    near[np.searchsorted(subgraph.triangles, graph.pairs[curve])] = True
    ball = subgraph.of_these(subgraph.widened(near))
    depth = _depth(graph, ball, curve, RIM * width)
    free = depth < np.minimum(width, _deepest_free(graph, labels, ball.triangles, depth, limits[1]))
    kept = np.isfinite(depth) | ball.widened(free)
    inner = ball.of_these(kept)
    return Band(inner.triangles, inner.links, inner.pairs, depth[kept], free[kept], width)


def minimum_cut(pairs: Int32, capacity: Float64, source: np.ndarray, sink: np.ndarray) -> np.ndarray:
    """(n,) True on the source's side of a cut of undirected links whose total capacity is least.

    `source` and `sink` (n,) bool are nodes whose side is given. Of several least cuts it is the one nearest the source.
    """
    free = ~(source | sink)
    n = int(np.count_nonzero(free))
    node = np.where(source, n, np.where(sink, n + 1, np.cumsum(free) - 1))
    i, j = node[pairs[:, 0]], node[pairs[:, 1]]
    kept = (i != j) & (np.minimum(i, j) < n)  # a link from source to sink is cut whatever happens
    i, j, capacity = i[kept], j[kept], capacity[kept]
    scale = min((LARGEST_SUM - 2 * len(capacity)) / max(2 * float(capacity.sum()), 1e-300), 1e300)
    whole = np.maximum(np.rint(capacity * scale), 1).astype(np.int32)  # 1: nothing is cut off for free
    arcs = coo_array((np.r_[whole, whole], (np.r_[i, j], np.r_[j, i])), shape=(n + 2, n + 2)).tocsr()
    arcs.sum_duplicates()
    arcs.sort_indices()
    flow = maximum_flow(arcs, n, n + 1).flow
    left = (arcs - flow).tocsr()
    left.data = np.maximum(left.data, 0)
    left.eliminate_zeros()
    reached = np.zeros(n + 2, bool)
    reached[breadth_first_order(left, n, return_predecessors=False)] = True
    return np.asarray(reached[node])


def nearest_labels(graph: DualGraph, band: Subgraph, side: np.ndarray, known: Int32) -> Int32:
    """(n,) `known` labels, and in place of -1 that of the nearest known triangle along the surface of the same side.

    A label spreads along paths, so it stays in one piece. -1 remains where no path leads.
    """
    same = side[band.pairs[:, 0]] == side[band.pairs[:, 1]]
    lengths = _length_graph(graph, Subgraph(band.triangles, band.links[same], band.pairs[same]))
    _, _, origin = dijkstra(
        lengths, directed=False, indices=np.flatnonzero(known >= 0), return_predecessors=True, min_only=True
    )
    out: Int32 = np.where(origin >= 0, known[np.maximum(origin, 0)], -1).astype(np.int32)
    return out


def _length_graph(graph: DualGraph, subgraph: Subgraph) -> csr_array:
    """Links as lengths of the path from centre to centre over the middle of the edge."""
    single = graph.single[subgraph.links]
    hops, pairs = graph.hops[subgraph.links[single]], subgraph.pairs[single]
    n = len(subgraph.triangles)
    return csr_array((hops[:, 0] + hops[:, 1], (pairs[:, 0], pairs[:, 1])), shape=(n, n))


def _depth(graph: DualGraph, subgraph: Subgraph, curve: Int32, limit: float) -> Float64:
    """(n,) distances along the surface from the curve, by a node that stands for it; infinite beyond the limit."""
    n = len(subgraph.triangles)
    start = np.full(n, np.inf)
    np.minimum.at(start, np.searchsorted(subgraph.triangles, graph.pairs[curve].ravel()), graph.hops[curve].ravel())
    first = np.flatnonzero(np.isfinite(start))
    links = _length_graph(graph, subgraph).tocoo()
    rows, columns = np.r_[links.row, np.full(len(first), n)], np.r_[links.col, first]
    whole = csr_array((np.r_[links.data, start[first]], (rows, columns)), shape=(n + 1, n + 1))
    depth: Float64 = dijkstra(whole, directed=False, indices=n, limit=limit)[:n]
    return depth


def _deepest_free(graph: DualGraph, labels: Int32, triangles: Int32, depth: Float64, keep: float) -> Float64:
    """(n,) the depth up to which the segment of each triangle may be free: `1 - keep` of its area at most.

    Area and not depth is shared out, because a scrap of the segment that lies elsewhere may be deeper than all of it.
    """
    here, area = labels[triangles], graph.weights[triangles]
    order = np.lexsort((depth, here))
    total = np.cumsum(area[order])
    bones, first = np.unique(here[order], return_index=True)
    last = np.r_[first[1:], len(order)] - 1
    whole = np.bincount(labels, graph.weights)[bones]
    at = np.searchsorted(total, np.r_[0.0, total[last[:-1]]] + (1 - keep) * whole)
    limit = np.zeros(int(bones.max(initial=0)) + 1)
    limit[bones] = depth[order[np.minimum(at, last)]]  # that one is not free, so something always stays
    return np.asarray(limit[here])
