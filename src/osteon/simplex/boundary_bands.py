"""The band on both sides of a boundary, and the cheapest cut through it.

A band is made of free triangles; what surrounds it keeps its side and is one source and one sink. Nothing is as deep
from the boundary as `keep` of its segment and still free, so no segment can be swallowed, however thin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, dijkstra, maximum_flow

from osteon.core.arrays import Float64, Int32
from osteon.simplex.boundary_graph import DualGraph, graph_pieces

__all__ = ["Band", "border_curves", "find_band", "minimum_cut", "nearest_labels"]

#: The capacities of a graph add up to this, so that no flow leaves 32 bits.
LARGEST_SUM = 2.0**30


@dataclass(frozen=True, slots=True)
class Band:
    """The surroundings of one boundary curve; triangles and links are numbered within it."""

    triangles: Int32  # (n,) of the mesh
    links: Int32  # (e,) of the dual graph
    pairs: Int32  # (e,2) the triangles of the links, numbered in the band
    depth: Float64  # (n,) along the surface from the curve; infinite beyond two widths
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
    _, ends = np.unique(graph.ends[links], return_inverse=True)
    ends = ends.reshape(-1, 2).astype(np.int32)
    curve = graph_pieces(ends, int(ends.max()) + 1)[ends[:, 0]]
    length = np.bincount(curve, graph.lengths[links])
    return [links[curve == c] for c in np.argsort(-length, kind="stable")]


def find_band(graph: DualGraph, curve: Int32, labels: Int32, within: np.ndarray, limits: tuple[float, float]) -> Band:
    """The band around a curve of links among the triangles `within`; `limits` are the options width and keep.

    The width is a part of the curve's own size: the largest distance of its points from its middle, which is the
    radius of a loop around a limb and half of a straight path across a sheet.
    """
    length = np.maximum(graph.lengths[curve], 1e-300)
    middle = np.average(graph.middles[curve], axis=0, weights=length)
    radius = float(np.hypot(np.linalg.norm(graph.middles[curve] - middle, axis=1), length / 2).max())
    width, reach = limits[0] * radius, (1 + 2 * limits[0]) * radius
    away = graph.centers - middle
    near = within & (np.einsum("ti,ti->t", away, away) <= reach**2)  # paths are longer than straight lines
    near[graph.pairs[curve]] = True
    triangles, links, pairs = _numbered(graph.pairs, near)
    depth = _depth(graph, curve, triangles, _length_graph(graph, links, pairs, len(triangles)), 2 * width)
    deepest = _deepest(labels, triangles, depth)
    free = depth < np.minimum(width, limits[1] * deepest[labels[triangles]])
    kept, inner, pairs = _numbered(pairs, np.isfinite(depth))
    return Band(triangles[kept], links[inner], pairs, depth[kept], free[kept], width)


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
    scale = LARGEST_SUM / max(2 * float(capacity.sum()) + 2 * len(capacity), 1e-300)
    whole = np.maximum(np.rint(capacity * min(scale, 1e300)), 1).astype(np.int32)  # 1: nothing is cut off for free
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


def nearest_labels(graph: DualGraph, band: Band, side: np.ndarray, known: Int32) -> Int32:
    """(n,) `known` labels, and in place of -1 that of the nearest known triangle along the surface of the same side.

    A label spreads along paths, so it stays in one piece. -1 remains where no path leads.
    """
    same = side[band.pairs[:, 0]] == side[band.pairs[:, 1]]
    lengths = _length_graph(graph, band.links[same], band.pairs[same], len(known))
    _, _, origin = dijkstra(
        lengths, directed=False, indices=np.flatnonzero(known >= 0), return_predecessors=True, min_only=True
    )
    out: Int32 = np.where(origin >= 0, known[np.maximum(origin, 0)], -1).astype(np.int32)
    return out


def _numbered(pairs: Int32, chosen: np.ndarray) -> tuple[Int32, Int32, Int32]:
    """The chosen nodes, the links between them, and these links by the places of their nodes among the chosen."""
    number = np.where(chosen, np.cumsum(chosen) - 1, -1).astype(np.int32)
    placed = number[pairs]
    links = np.flatnonzero((placed[:, 0] >= 0) & (placed[:, 1] >= 0)).astype(np.int32)
    return np.flatnonzero(chosen).astype(np.int32), links, placed[links]


def _length_graph(graph: DualGraph, links: Int32, pairs: Int32, n: int) -> csr_array:
    """Links as lengths of the path from centre to centre over the middle of the edge."""
    single = graph.single[links]
    links, pairs = links[single], pairs[single]
    through = graph.hops[links, 0] + graph.hops[links, 1]
    return csr_array((through, (pairs[:, 0], pairs[:, 1])), shape=(n, n))


def _depth(graph: DualGraph, curve: Int32, triangles: Int32, lengths: csr_array, limit: float) -> Float64:
    """(n,) distances along the surface from the curve, by a node that stands for it; infinite beyond the limit."""
    n = len(triangles)
    start = np.full(n, np.inf)
    np.minimum.at(start, np.searchsorted(triangles, graph.pairs[curve].ravel()), graph.hops[curve].ravel())
    first = np.flatnonzero(np.isfinite(start))
    links = lengths.tocoo()
    rows, columns = np.r_[links.row, np.full(len(first), n)], np.r_[links.col, first]
    whole = csr_array((np.r_[links.data, start[first]], (rows, columns)), shape=(n + 1, n + 1))
    depth: Float64 = dijkstra(whole, directed=False, indices=n, limit=limit)[:n]
    return depth


def _deepest(labels: Int32, triangles: Int32, depth: Float64) -> Float64:
    """(b,) the depth of the deepest triangle of each label, infinite if some were not reached."""
    reached = np.isfinite(depth)
    inside = labels[triangles[reached]]
    n = int(labels.max(initial=0)) + 1
    deepest = np.zeros(n)
    np.maximum.at(deepest, inside, depth[reached])
    missing = np.bincount(inside, minlength=n) < np.bincount(labels, minlength=n)
    return np.where(missing, np.inf, deepest)
