"""The band on both sides of a boundary, and the cheapest cut through it.

A band is made of free triangles; what surrounds it keeps its side and is one source and one sink. A part of the area
of every segment is never free, so none can be swallowed, however thin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, dijkstra, maximum_flow

from osteon.core.arrays import Float64, Int32
from osteon.simplex.boundaries.graph import DualGraph, graph_pieces

__all__ = ["Band", "Subgraph", "border_curves", "find_band", "minimum_cut", "nearest_labels"]

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
