"""Vertices that no triangle with an area holds: inside of tetrahedra, left-over points, corners of flat triangles.

They go along with the nearest vertices of the surface: with q_i the posed place of neighbour i, p_i its rest place and
M_i the transform of its group, p goes to  sum_i w_i (q_i + M_i (p - p_i)),  w_i ~ (1/d_i - 1/d_last)^2 (Shepard,
local). The farthest neighbour has no weight, so that nothing jumps where neighbours are equally far, and one motion of
all is that motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from osteon.core.arrays import Float64, Int32

__all__ = ["IsolatedVertices", "find_isolated_vertices"]

#: Neighbours that carry a vertex.
NEIGHBORS = 8


@dataclass(frozen=True, slots=True)
class IsolatedVertices:
    """The vertices and what carries them."""

    vertices: Int32  # (l,)
    carriers: Int32  # (l,k) unknowns of the solver
    groups: Int32  # (l,k) that they belong to: of the caller's choice, here single simplices as bones may be twisted
    weights: Float64  # (l,k)
    offsets: Float64  # (l,k,3) from each carrier at rest

    def place(self, solved: Float64, transforms: Float64) -> Float64:
        """(l,3) from the solved places (m,3) and the transforms (g,3,4) of the groups."""
        turned = np.einsum("lkij,lkj->lki", transforms[self.groups, :, :3], self.offsets)
        out: Float64 = np.einsum("lk,lki->li", self.weights, solved[self.carriers] + turned)
        return out


def find_isolated_vertices(points: Float64, held: Int32, group: Int32) -> IsolatedVertices:
    """The points that are not among the ascending `held` ones, with the nearest of those and their groups."""
    isolated = np.setdiff1d(np.arange(len(points), dtype=np.int32), held)
    k = min(NEIGHBORS, len(held))
    if not len(isolated):
        none = np.zeros((0, k), np.int32)
        return IsolatedVertices(isolated, none, none, np.zeros((0, k)), np.zeros((0, k, 3)))
    distance, carrier = (
        array.reshape(len(isolated), k) for array in cKDTree(points[held]).query(points[isolated], k=k)
    )
    nearness = 1 / np.maximum(distance, 1e-12 * max(float(distance.max()), 1e-300))
    weights = (nearness - nearness[:, -1:]) ** 2
    weights[weights.sum(axis=1) == 0] = 1.0  # all equally far, or only one
    weights /= weights.sum(axis=1, keepdims=True)
    offsets = points[isolated][:, None] - points[held][carrier]
    return IsolatedVertices(isolated, carrier.astype(np.int32), group[carrier], weights, offsets)
