"""The stiffness of a solid as a sparse matrix: its pattern, found once, and its factor, found again in every step.

Only nodes that are free are unknowns; the others are held. Unknowns are numbered in the order in which they are
eliminated (minimum degree on the graph of the nodes, found once), so that SuperLU has nothing left to order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import splu

from osteon.core.arrays import Bool, Float64, Int32, Int64
from osteon.core.errors import GeometryError
from osteon.elastic.elements import TetElements
from osteon.elastic.material import Material

__all__ = ["StiffnessSystem", "factor_symmetric", "node_graph"]


@dataclass(frozen=True, slots=True)
class StiffnessSystem:
    """Elements whose free nodes are unknowns."""

    elements: TetElements
    free: Int32  # (m,) nodes in the order of elimination
    start: Int32  # (3m+1,) columns of the matrix
    rows: Int32  # (z,)
    blocks: Int64  # (e,4,4,2) where each pair of corners adds to, and from column to column; below zero: nowhere

    @staticmethod
    def of(elements: TetElements, held: Bool) -> StiffnessSystem:
        """`held` (n,) are the nodes that are no unknowns."""
        graph = node_graph(elements.tets, len(held))
        apart = np.flatnonzero(~held)
        free: Int32 = np.asarray(apart[_elimination_order(csr_array(graph[apart][:, apart]))], np.int32)
        ordered = csc_array(graph[free][:, free])
        ordered.sort_indices()
        count = np.diff(ordered.indptr)
        start = np.concatenate([[0], np.cumsum(np.repeat(3 * count, 3))]).astype(np.int32)
        return StiffnessSystem(
            elements, free, start, _rows(ordered, count), _blocks(elements.tets, free, ordered, len(held))
        )

    @property
    def n_unknowns(self) -> int:
        return 3 * len(self.free)

    def stiffness(self, places: Float64, material: Material, *, clamped: bool = True) -> csc_array:
        """(3m,3m) the second derivative of the energy, without negative eigenvalues of elements if `clamped`."""
        data = np.zeros(len(self.rows))
        self.elements.add_stiffness(places, material, self.blocks, data, clamped=clamped)
        matrix = csc_array((data, self.rows, self.start), shape=(self.n_unknowns, self.n_unknowns))
        matrix.has_sorted_indices = True
        return matrix

    def factor(self, matrix: csc_array) -> Any:
        """SuperLU's factor; its method `solve` takes right-hand sides in the order of the unknowns."""
        try:
            return factor_symmetric(matrix, "NATURAL")
        except RuntimeError as error:  # "Factor is exactly singular"
            raise GeometryError("solid: a part of it hangs on nothing; join it, or give it a bone") from error


def factor_symmetric(matrix: csc_array, order: str = "MMD_AT_PLUS_A") -> Any:
    """SuperLU's factor of a symmetric matrix, eliminated along its diagonal."""
    return splu(matrix, permc_spec=order, diag_pivot_thresh=0.0, options={"SymmetricMode": True})


def node_graph(tets: Int32, n_nodes: int) -> csr_array:
    """(n,n) ones where two nodes share an element, and on the diagonal."""
    i, j = np.repeat(tets, 4, axis=1).ravel(), np.tile(tets, (1, 4)).ravel()
    graph = csr_array((np.ones(len(i)), (i, j)), shape=(n_nodes, n_nodes))
    graph.sum_duplicates()
    graph.data[:] = 1
    return graph


def _elimination_order(graph: csr_array) -> Int64:
    """(m,) nodes, the one that goes first first: by SuperLU, of a matrix with this pattern."""
    dominant = csc_array(graph, copy=True)
    dominant.data[:] = -1
    dominant.setdiag(1 + np.diff(graph.indptr))
    found = splu(
        csc_array(dominant), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    return np.argsort(found.perm_c)


def _rows(ordered: csc_array, count: Int64) -> Int32:
    """Rows of all entries: three for each block, in each of three columns."""
    column = np.repeat(np.arange(3 * len(count)), np.repeat(count, 3))  # of each block, thrice
    first = np.repeat(np.cumsum(np.repeat(count, 3)) - np.repeat(count, 3), np.repeat(count, 3))
    block = ordered.indptr[column // 3] + np.arange(len(column)) - first
    return np.asarray((3 * ordered.indices[block][:, None] + np.arange(3)).ravel(), np.int32)


def _blocks(tets: Int32, free: Int32, ordered: csc_array, n_nodes: int) -> Int64:
    """(e,4,4,2) for corners a (row) and b (column)."""
    number = np.full(n_nodes, -1, np.int64)
    number[free] = np.arange(len(free))
    row, column = (np.broadcast_to(c, (len(tets), 4, 4)) for c in (number[tets][:, :, None], number[tets][:, None, :]))
    m = len(free)
    keys = np.repeat(np.arange(m), np.diff(ordered.indptr)).astype(np.int64) * m + ordered.indices
    used = (row >= 0) & (column >= 0)
    at = np.searchsorted(keys, np.where(used, column * m + row, 0))
    begin = ordered.indptr[column.clip(0)].astype(np.int64)
    stride = 3 * np.diff(ordered.indptr).astype(np.int64)[column.clip(0)]
    return np.stack([np.where(used, 9 * begin + 3 * (at - begin), -1), stride], axis=-1)
