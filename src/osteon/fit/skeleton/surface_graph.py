"""Distances along the surface of a body, and what they cost a weight.

    cost of weight w_vb per frame = (LENIENT max(0, g_vb - reach))^2,   g_vb: distance of v from the core of bone b

The graph has the edges of the mesh, and bridges between shells (an eye and its head, a shoe and its foot): to the
nearest vertex of another shell where it is closer than CLOSE of the diagonal and stays so. Shells that are still apart
are connected by their shortest bridge. The core of a bone is the heaviest connected piece of the vertices with at least
half of its largest weight. Beyond FORBIDDEN of the diagonal the cost is that of the whole distance.

The cost is linear in w, so that the selection of influences stays exact (`fit/skin/influences.py`). It is soft: hard
masks exclude the bones that a poor first guess of the cores puts too far away.

Based on: Dijkstra, A note on two problems in connexion with graphs, 1959.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from osteon.core.arrays import Float64, Int32, Int64, IntArray
from osteon.core.topology import bounding_diagonal
from osteon.fit.problem import FitProblem

#: Bridges are shorter than this, of the diagonal, and change by less, in at most this number of frames.
CLOSE, FRAMES = 0.02, 24
#: Weights within this distance, of the diagonal, or this number of median edges, are free.
REACH, EDGES = 0.1, 2.5
#: Factor of the distance beyond the reach, in the units of an error, and distance from which the factor is one.
LENIENT, FORBIDDEN = 0.05, 0.4
#: Weight of a vertex in the core of a bone, of the largest one.
CORE_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class SurfaceGraph:
    """Edges along a surface with their lengths in the rest pose."""

    lengths: csr_array  # (v,v) symmetric
    diagonal: float
    edge: float  # median length

    @property
    def n_vertices(self) -> int:
        return int(self.lengths.shape[0])

    @property
    def reach(self) -> float:
        """Distance within which weights are free."""
        return max(REACH * self.diagonal, EDGES * self.edge)

    def reduced(self, chosen: IntArray | None) -> SurfaceGraph:
        """The graph of chosen vertices: two are connected where their regions of nearest vertices meet."""
        if chosen is None:
            return self
        far, _, source = dijkstra(self.lengths, directed=False, indices=chosen, min_only=True, return_predecessors=True)
        number = np.full(self.n_vertices, -1)
        number[chosen] = np.arange(len(chosen))
        owner = np.where(source >= 0, number[source], -1)
        edges = self.lengths.tocoo()
        a, b = owner[edges.row], owner[edges.col]
        across = (a != b) & (a >= 0) & (b >= 0)
        lengths = (edges.data + far[edges.row] + far[edges.col])[across]
        return SurfaceGraph(_shortest(a[across], b[across], lengths, len(chosen)), self.diagonal, self.edge)

    def pieces(self, vertices: np.ndarray) -> list[Int64]:
        """The connected pieces of a mask of vertices (v,), each as vertex numbers."""
        chosen = np.flatnonzero(vertices)
        count, label = connected_components(self.lengths[chosen][:, chosen], directed=False)
        order = np.argsort(label, kind="stable")
        return np.split(chosen[order], np.cumsum(np.bincount(label, minlength=count))[:-1]) if count else []

    def core(self, weights: Float64) -> Int64:
        """Vertices of the core of a bone with weights (v,)."""
        most = float(weights.max(initial=0.0))
        if most <= 0:
            return np.zeros(0, np.int64)
        return max(self.pieces(weights >= CORE_WEIGHT * most), key=lambda piece: float(weights[piece].sum()))

    def distances(self, cores: list[Int64]) -> Float64:
        """(v,b) distance of every vertex from each core, at most slightly more than FORBIDDEN of the diagonal."""
        limit = FORBIDDEN * self.diagonal
        out = np.full((self.n_vertices, len(cores)), 1.25 * limit)
        for b, core in enumerate(cores):
            if len(core):
                found = dijkstra(self.lengths, directed=False, indices=core, min_only=True, limit=limit)
                out[:, b] = np.minimum(found, out[:, b])
        return out

    def costs(self, distances: Float64, n_frames: int) -> Float64:
        """(v,b) cost of each weight, summed over frames."""
        factor = np.where(distances > FORBIDDEN * self.diagonal, 1.0, LENIENT)
        return n_frames * (factor * np.maximum(distances - self.reach, 0)) ** 2

    def bone_costs(self, weights: Float64, n_frames: int) -> Float64:
        """(v,b) costs for the cores of bones with weights (v,b). Bones without vertices are free."""
        out = self.costs(self.distances([self.core(column) for column in weights.T]), n_frames)
        out[:, weights.max(axis=0) <= 0] = 0
        return out


def surface_graph(problem: FitProblem, faces: Int32) -> SurfaceGraph:
    """The graph of the vertices of a problem with faces (t,3)."""
    points = problem.points[:, :3]
    rows = np.concatenate([faces[:, 0], faces[:, 1], faces[:, 2]]).astype(np.int64)
    columns = np.concatenate([faces[:, 1], faces[:, 2], faces[:, 0]]).astype(np.int64)
    real = rows != columns
    rows, columns = rows[real], columns[real]
    lengths = np.linalg.norm(points[rows] - points[columns], axis=1)
    diagonal, edge = bounding_diagonal(points), float(np.median(lengths)) if len(lengths) else 0.0
    graph = _shortest(rows, columns, lengths, len(points))
    count, shell = connected_components(graph, directed=False)
    if count > 1:
        bridges = [np.array(list(_bridges(problem, shell, count, CLOSE * diagonal)), np.float64).reshape(-1, 3)]
        graph = _with_edges(graph, bridges[0])
        graph = _connected(graph, points)
    return SurfaceGraph(graph, diagonal, edge)


def _shortest(rows: IntArray, columns: IntArray, lengths: Float64, count: int) -> csr_array:
    """The symmetric matrix of the shortest of all edges between each two vertices; never zero."""
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    order = np.lexsort((lengths, high, low))
    low, high, lengths = low[order], high[order], np.maximum(lengths[order], 1e-9)
    first = np.ones(len(low), np.bool_)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    low, high, lengths = low[first], high[first], lengths[first]
    both = np.r_[low, high], np.r_[high, low]
    return coo_array((np.r_[lengths, lengths], both), shape=(count, count)).tocsr()


def _with_edges(graph: csr_array, edges: Float64) -> csr_array:
    """The graph with more edges (n,3): two vertices and a length."""
    known = graph.tocoo()
    rows, columns = edges[:, 0].astype(np.int64), edges[:, 1].astype(np.int64)
    return _shortest(np.r_[known.row, rows], np.r_[known.col, columns], np.r_[known.data, edges[:, 2]], graph.shape[0])


def _bridges(problem: FitProblem, shell: IntArray, count: int, close: float) -> Iterator[tuple[float, float, float]]:
    """Bridges from the vertices near each shell to its nearest vertex, if they stay short."""
    points = problem.points[:, :3]
    frames = np.unique(np.linspace(0, problem.n_frames - 1, FRAMES).astype(np.int64))
    posed = problem.targets.reshape(len(points), -1, 3)
    for number in range(count):
        own = np.flatnonzero(shell == number)
        low, high = points[own].min(axis=0) - close, points[own].max(axis=0) + close
        others = np.flatnonzero((shell != number) & (points >= low).all(axis=1) & (points <= high).all(axis=1))
        if not len(others):
            continue
        far, nearest = cKDTree(points[own]).query(points[others], distance_upper_bound=close)
        a, b = others[far < close], own[nearest[far < close]]
        apart = np.linalg.norm(posed[a][:, frames].astype(np.float64) - posed[b][:, frames], axis=2)
        stays = (np.abs(apart - far[far < close][:, None]) <= close).all(axis=1)
        yield from zip(a[stays], b[stays], far[far < close][stays], strict=True)


def _connected(graph: csr_array, points: Float64) -> csr_array:
    """The graph with the shortest bridges that make it one piece."""
    while True:
        count, piece = connected_components(graph, directed=False)
        if count == 1:
            return graph
        sizes = np.bincount(piece)
        largest = int(sizes.argmax())
        tree = cKDTree(points[piece == largest])
        inside, outside = np.flatnonzero(piece == largest), np.flatnonzero(piece != largest)
        far, nearest = tree.query(points[outside])
        best: dict[int, int] = {}
        for n in np.argsort(far, kind="stable")[::-1].tolist():
            best[int(piece[outside[n]])] = n
        # Every piece gets its bridge to the largest: a star, with lengths that are true distances.
        chosen = np.array(sorted(best.values()))
        graph = _with_edges(graph, np.stack([outside[chosen], inside[nearest[chosen]], far[chosen]], axis=1))
