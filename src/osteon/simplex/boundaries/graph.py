"""The dual graph of a mesh with the creases between its triangles, for cuts along edges.

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
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from osteon.core.arrays import Float64, Int32
from osteon.core.topology import degenerate_triangles, weld_points

__all__ = ["DualGraph", "count_pieces", "graph_pieces"]

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
