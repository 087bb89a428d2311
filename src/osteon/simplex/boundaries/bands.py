"""Dual graph of a mesh, bands of triangles around segment boundaries, and minimum cuts through them.

A band consists of free triangles; those around it keep their side, and form one source and one sink. A part of the area
of every segment is never free, so that no segment can vanish, however thin it is.

Nodes of the dual graph are triangles, links are the edges that two of them share. Coincident vertices are merged, as
files store them twice at hard edges, where cuts are most likely. An edge of three or more triangles links them in a
chain, so that non-manifold meshes stay connected. A triangle without area has the mean normal of its neighbours.

Symbols (Katz and Tal 2003, section 3)
    alpha       `angle`     angle between the normals of two triangles across their edge
    AngDist     `bend`      eta (1 - cos alpha)
    eta         `convex`    below 1 for a convex edge, 1 for a concave one, as parts meet in concave regions
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, dijkstra, maximum_flow

from osteon.core.arrays import Float64, Int32
from osteon.core.topology import degenerate_triangles, weld_points

#: A smaller 1 - cos alpha is rounding; that of 0.1 degree.
FLAT = 1.5e-6


@dataclass(frozen=True)  # no slots: cached properties
class DualGraph:
    """Triangles and the edges between them. Links are sorted by the vertices of their edge."""

    centers: Float64  # (t,3)
    weights: Float64  # (t,) areas
    pairs: Int32  # (e,2) the triangles of a link, the lower number first
    ends: Int32  # (e,2) the vertices of its edge, after merging
    middles: Float64  # (e,3) of the edge
    lengths: Float64  # (e,) of the edge
    cosines: Float64  # (e,) cos alpha
    concave: np.ndarray  # (e,) bool; undefined where alpha is 0

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
        second = np.where(opposed[:, None], second, -second)  # flip neighbours of opposite winding
        cosines = np.clip(np.einsum("ei,ei->e", first, second), -1, 1)
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
            np.where(known, cosines, 1.0),
            rise * outward > 0,
        )

    @property
    def n_triangles(self) -> int:
        return len(self.centers)

    @cached_property
    def angle(self) -> Float64:
        """(e,) alpha in radians."""
        out: Float64 = np.where(1 - self.cosines < FLAT, 0.0, np.arccos(self.cosines))
        return out

    @cached_property
    def hops(self) -> Float64:
        """(e,2) distances from the midpoint of the edge to both centres; never 0, which would mean no link."""
        away = np.linalg.norm(self.centers[self.pairs] - self.middles[:, None], axis=2)
        out: Float64 = np.maximum(away, 1e-12 * max(float(away.max(initial=0.0)), 1e-288))
        return out

    @cached_property
    def single(self) -> np.ndarray:
        """(e,) bool: the first link of every pair of triangles, which may share several edges."""
        out = np.zeros(len(self.pairs), bool)
        key = self.pairs[:, 0].astype(np.int64) * self.n_triangles + self.pairs[:, 1]
        out[np.unique(key, return_index=True)[1]] = True
        return out

    def bend(self, convex: float) -> Float64:
        """(e,) AngDist of Katz and Tal."""
        turned = np.where(1 - self.cosines < FLAT, 0.0, 1 - self.cosines)
        out: Float64 = np.where(self.concave, 1.0, convex) * turned
        return out

    def typical_angle(self) -> float:
        """The median of alpha, with edges weighted by the area of their triangles.

        The weights keep regions of many tiny triangles from dominating.
        """
        if not len(self.pairs):
            return 0.0
        weight = self.weights[self.pairs].sum(axis=1)
        order = np.argsort(self.angle, kind="stable")
        total = np.cumsum(weight[order])
        return float(self.angle[order[min(int(np.searchsorted(total, total[-1] / 2)), len(order) - 1)]])


def graph_pieces(pairs: Int32, n: int) -> Int32:
    """(n,) connected component of each node."""
    links = csr_array((np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    _, piece = connected_components(links, directed=False)
    return np.asarray(piece, np.int32)


def count_pieces(pairs: Int32, labels: Int32, n_labels: int) -> Int32:
    """(n_labels,) number of connected pieces of each label's triangles."""
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    piece = graph_pieces(pairs[same], len(labels))
    _, first = np.unique(piece, return_index=True)
    return np.bincount(labels[first], minlength=n_labels).astype(np.int32)


def _links(corners: Int32) -> tuple[Int32, Int32, np.ndarray]:
    """Triangles (e,2) that share an edge, its vertices (e,2), and whether they have consistent winding there."""
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
    """(t,3) unit normals; degenerate triangles have the mean of their neighbours', or 0 among degenerate ones."""
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
    """(t,) -1 in shells that are inside out, where convex and concave are exchanged; else 1."""
    area = np.linalg.norm(cross, axis=1)
    total = np.maximum(np.bincount(shell, area), 1e-300)
    middle = np.stack([np.bincount(shell, area * centers[:, i]) for i in range(3)], axis=1) / total[:, None]
    volume = np.bincount(shell, np.einsum("ti,ti->t", centers - middle[shell], cross))
    out: Float64 = np.where(volume < 0, -1.0, 1.0)[shell]
    return out


#: Largest sum of the capacities of a graph, so that flows fit into 32 bits.
LARGEST_SUM = 2.0**30
#: Radius of the neighbourhood, in widths, in which the connectivity of fixed triangles is examined.
RIM = 1.5


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Some triangles of a mesh and the links between them."""

    triangles: Int32  # (n,) of the mesh, ascending
    links: Int32  # (e,) of the dual graph
    pairs: Int32  # (e,2) the triangles of the links, as indices into `triangles`

    @staticmethod
    def of(graph: DualGraph, chosen: np.ndarray) -> Subgraph:
        """Select triangles of the whole graph by `chosen` (t,) bool."""
        all_of_them = np.arange(graph.n_triangles, dtype=np.int32)
        return Subgraph(all_of_them, np.arange(len(graph.pairs), dtype=np.int32), graph.pairs).of_these(chosen)

    def of_these(self, chosen: np.ndarray) -> Subgraph:
        """Select triangles of this subgraph by `chosen` (n,) bool."""
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
    """The neighbourhood of one boundary curve."""

    depth: Float64  # (n,) distance along the surface from the curve; infinite beyond the rim
    free: np.ndarray  # (n,) bool: may change sides
    width: float

    @property
    def open(self) -> np.ndarray:
        """(e,) bool: links with a free triangle, which a cut may use."""
        return np.asarray(self.free[self.pairs[:, 0]] | self.free[self.pairs[:, 1]])


def border_curves(graph: DualGraph, links: Int32) -> list[Int32]:
    """Group links into connected curves, the longest first."""
    if not len(links):
        return []
    _, number = np.unique(graph.ends[links], return_inverse=True)
    ends: Int32 = number.reshape(-1, 2).astype(np.int32)
    curve = graph_pieces(ends, int(ends.max()) + 1)[ends[:, 0]]
    length = np.bincount(curve, graph.lengths[links])
    return [links[curve == c] for c in np.argsort(-length, kind="stable")]


def find_band(graph: DualGraph, subgraph: Subgraph, curve: Int32, labels: Int32, limits: tuple[float, float]) -> Band:
    """Build the band around a curve of links of a subgraph; `limits` are the options width and keep.

    The width is relative to the radius of the curve: the largest distance of its points from its centre, which is the
    radius of a loop around a limb and half of the length of a straight path across a sheet.
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
    """(n,) True on the source's side of a minimum cut of undirected links.

    `source` and `sink` (n,) bool are nodes with a fixed side. Of several minimum cuts, the one nearest the source.
    """
    free = ~(source | sink)
    n = int(np.count_nonzero(free))
    node = np.where(source, n, np.where(sink, n + 1, np.cumsum(free) - 1))
    i, j = node[pairs[:, 0]], node[pairs[:, 1]]
    kept = (i != j) & (np.minimum(i, j) < n)  # a link from source to sink is always cut
    i, j, capacity = i[kept], j[kept], capacity[kept]
    scale = min((LARGEST_SUM - 2 * len(capacity)) / max(2 * float(capacity.sum()), 1e-300), 1e300)
    whole = np.maximum(np.rint(capacity * scale), 1).astype(np.int32)  # at least 1: no link is free to cut
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
    """(n,) `known` labels, with -1 replaced by the label of the nearest known triangle along the same side.

    Labels spread along paths, so that their regions stay connected. Triangles that no path reaches keep -1.
    """
    same = side[band.pairs[:, 0]] == side[band.pairs[:, 1]]
    lengths = _length_graph(graph, Subgraph(band.triangles, band.links[same], band.pairs[same]))
    _, _, origin = dijkstra(
        lengths, directed=False, indices=np.flatnonzero(known >= 0), return_predecessors=True, min_only=True
    )
    out: Int32 = np.where(origin >= 0, known[np.maximum(origin, 0)], -1).astype(np.int32)
    return out


def _length_graph(graph: DualGraph, subgraph: Subgraph) -> csr_array:
    """Adjacency matrix with path lengths from centre to centre over the midpoint of the edge."""
    single = graph.single[subgraph.links]
    hops, pairs = graph.hops[subgraph.links[single]], subgraph.pairs[single]
    n = len(subgraph.triangles)
    return csr_array((hops[:, 0] + hops[:, 1], (pairs[:, 0], pairs[:, 1])), shape=(n, n))


def _depth(graph: DualGraph, subgraph: Subgraph, curve: Int32, limit: float) -> Float64:
    """(n,) distances along the surface from the curve, represented by one more node; infinite beyond the limit."""
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
    """(n,) depth up to which the segment of each triangle may be free: at most `1 - keep` of its area.

    The limit is on area, not on depth, as a distant fragment of the segment may be deeper than the rest of it.
    """
    here, area = labels[triangles], graph.weights[triangles]
    order = np.lexsort((depth, here))
    total = np.cumsum(area[order])
    bones, first = np.unique(here[order], return_index=True)
    last = np.r_[first[1:], len(order)] - 1
    whole = np.bincount(labels, graph.weights)[bones]
    at = np.searchsorted(total, np.r_[0.0, total[last[:-1]]] + (1 - keep) * whole)
    limit = np.zeros(int(bones.max(initial=0)) + 1)
    limit[bones] = depth[order[np.minimum(at, last)]]  # that triangle is not free, so a part always remains
    return np.asarray(limit[here])
