"""Factor a symmetric positive definite sparse matrix, P K P' = L D L', and solve for many right-hand sides.

SciPy's SuperLU (symmetric mode, minimum degree on K + K', no pivoting) computes L; the substitution is implemented
here. Consecutive columns of L with the same pattern form a supernode, stored as one dense panel, so that each row is
loaded once per supernode. The three coordinates of a vertex are solved together.

    symbol      name        what
    P           order       (m,) place of each unknown in the order of elimination
    L           panels      consecutive dense panels: a w x w triangle, then r rows of w numbers
    D^-1        inverse     (m,)

Notes. Armadillo, 43,243 unknowns, three right-hand sides, best of 30 runs, one core: SuperLU's own solve 8.0 ms; plain
columns, scattering forward and gathering back 5.2 ms; gathering both ways, which needs L twice, 7.1 ms; supernodes
3.1 ms, and 1.1 ms more to permute the rows and back. Relaxed supernodes, which allow explicit zeros, merged almost none
(30,149 supernodes instead of 30,180); padding to a fourth column for full vector registers took 3.4 ms. cholespy
(CHOLMOD) takes 2.7 ms. It is not used, as its wheel includes CHOLMOD's supernodal module, which is under the GPL, and
its factorisation (0.28 s) is no faster than SuperLU's (0.22 s).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, tril
from scipy.sparse.linalg import splu

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.kernels import kernel_as_met

Int64 = NDArray[np.int64]

#: Largest number of columns of a supernode; panels of this width still fit into the L1 cache.
WIDEST = 48
#: Right-hand sides that are solved together.
SIDES = 3


@dataclass(frozen=True, slots=True)
class SymmetricFactor:
    """L D L' of a matrix, ready for substitution."""

    order: Int64  # (m,)
    first: Int32  # (s+1,) first column of each supernode
    row_start: Int64  # (s+1,) into rows
    rows: Int32  # rows below the triangle of each supernode
    panel_start: Int64  # (s+1,) into panels
    panels: Float64
    inverse: Float64  # (m,) of D

    @staticmethod
    def of(matrix: csc_array) -> SymmetricFactor:
        """Factor a symmetric positive definite matrix."""
        try:
            found = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError as error:  # "Factor is exactly singular"
            raise GeometryError("mesh: its triangles do not determine a pose; look for duplicate vertices") from error
        diagonal = found.U.diagonal()
        if not (np.array_equal(found.perm_r, found.perm_c) and np.isfinite(diagonal).all() and diagonal.min() > 0):
            raise GeometryError("mesh: its triangles are too thin to determine a pose; remesh or clean it")
        lower = tril(found.L, -1, format="csc")
        lower.sort_indices()
        first = _find_supernodes(lower.indptr, lower.indices, WIDEST)
        row_start, rows, panel_start, panels = _pack(lower.indptr, lower.indices, lower.data, first)
        order = found.perm_r.astype(np.int64)
        return SymmetricFactor(order, first, row_start, rows, panel_start, panels, 1 / diagonal)

    @property
    def n_unknowns(self) -> int:
        return len(self.order)

    def solve(self, right: Float64) -> Float64:
        """x (m, any) of K x = right."""
        padded = -(-right.shape[1] // SIDES) * SIDES
        ordered = np.zeros((len(right), padded))
        ordered[self.order, : right.shape[1]] = right
        for side in range(0, padded, SIDES):
            block = np.ascontiguousarray(ordered[:, side : side + SIDES])
            self.substitute(block)
            ordered[:, side : side + SIDES] = block
        out: Float64 = ordered[self.order, : right.shape[1]]
        return out

    def substitute(self, ordered: Float64) -> None:
        """Solve in place; the rows (m,3) are in the order of elimination."""
        _substitute(self.first, self.row_start, self.rows, self.panel_start, self.panels, self.inverse, ordered)


@kernel_as_met
def _find_supernodes(start: Int32, rows: Int32, widest: int) -> Int32:
    """Runs of columns j, j+1, … where the pattern of each is the next column and the next one's pattern."""
    n = len(start) - 1
    first = np.empty(n + 1, np.int32)
    count, width = 0, 1
    first[0] = 0
    for j in range(1, n):
        a, b, c = start[j - 1], start[j], start[j + 1]
        extends = width < widest and b - a == c - b + 1 and rows[a] == j
        if extends:
            for q in range(c - b):
                if rows[a + 1 + q] != rows[b + q]:
                    extends = False
                    break
        if extends:
            width += 1
        else:
            count += 1
            first[count] = j
            width = 1
    first[count + 1] = n
    return first[: count + 2].copy()


@kernel_as_met
def _pack(start: Int32, rows: Int32, values: Float64, first: Int32) -> tuple[Int64, Int32, Int64, Float64]:
    """Panels of all supernodes: the triangle row by row, then the rows below it."""
    n = len(first) - 1
    row_start = np.zeros(n + 1, np.int64)
    panel_start = np.zeros(n + 1, np.int64)
    for s in range(n):
        last, width = first[s + 1] - 1, first[s + 1] - first[s]
        below = start[last + 1] - start[last]
        row_start[s + 1] = row_start[s] + below
        panel_start[s + 1] = panel_start[s] + width * (width + below)
    kept = np.empty(row_start[n], np.int32)
    panels = np.zeros(panel_start[n])
    for s in range(n):
        begin, last = first[s], first[s + 1] - 1
        width, below, at = last - begin + 1, start[last + 1] - start[last], panel_start[s]
        for q in range(below):
            kept[row_start[s] + q] = rows[start[last] + q]
        for k in range(width):
            column = start[begin + k]
            for i in range(k + 1, width):
                panels[at + i * width + k] = values[column + i - k - 1]
            for q in range(below):
                panels[at + (width + q) * width + k] = values[column + width - 1 - k + q]
    return row_start, kept, panel_start, panels


@kernel_as_met
def _substitute(
    first: Int32, row_start: Int64, rows: Int32, panel_start: Int64, panels: Float64, inverse: Float64, x: Float64
) -> None:
    """x = (L D L')^-1 x. Supernodes of one column, which are most of them, have separate loops."""
    n = len(first) - 1
    w = np.empty((3, 64))
    for s in range(n):
        f, width, at = first[s], first[s + 1] - first[s], panel_start[s]
        if width == 1:
            a, b, c = x[f, 0], x[f, 1], x[f, 2]
            at += 1
            for q in range(row_start[s], row_start[s + 1]):
                i, v = rows[q], panels[at]
                at += 1
                x[i, 0] -= v * a
                x[i, 1] -= v * b
                x[i, 2] -= v * c
            continue
        for k in range(width):
            a, b, c = x[f + k, 0], x[f + k, 1], x[f + k, 2]
            for i in range(k):
                v = panels[at + k * width + i]
                a -= v * w[0, i]
                b -= v * w[1, i]
                c -= v * w[2, i]
            w[0, k], w[1, k], w[2, k] = a, b, c
            x[f + k, 0], x[f + k, 1], x[f + k, 2] = a, b, c
        at += width * width
        for q in range(row_start[s], row_start[s + 1]):
            a = b = c = 0.0
            for k in range(width):
                v = panels[at + k]
                a += v * w[0, k]
                b += v * w[1, k]
                c += v * w[2, k]
            at += width
            i = rows[q]
            x[i, 0] -= a
            x[i, 1] -= b
            x[i, 2] -= c
    for s in range(n - 1, -1, -1):
        f, width, at = first[s], first[s + 1] - first[s], panel_start[s]
        if width == 1:
            v = inverse[f]
            a, b, c = x[f, 0] * v, x[f, 1] * v, x[f, 2] * v
            at += 1
            for q in range(row_start[s], row_start[s + 1]):
                i, v = rows[q], panels[at]
                at += 1
                a -= v * x[i, 0]
                b -= v * x[i, 1]
                c -= v * x[i, 2]
            x[f, 0], x[f, 1], x[f, 2] = a, b, c
            continue
        for k in range(width):
            for i in range(3):
                w[i, k] = x[f + k, i] * inverse[f + k]
        below = at + width * width
        for q in range(row_start[s], row_start[s + 1]):
            i = rows[q]
            a, b, c = x[i, 0], x[i, 1], x[i, 2]
            for k in range(width):
                v = panels[below + k]
                w[0, k] -= v * a
                w[1, k] -= v * b
                w[2, k] -= v * c
            below += width
        for k in range(width - 1, -1, -1):
            a, b, c = w[0, k], w[1, k], w[2, k]
            for i in range(k):
                v = panels[at + k * width + i]
                w[0, i] -= v * a
                w[1, i] -= v * b
                w[2, i] -= v * c
            x[f + k, 0], x[f + k, 1], x[f + k, 2] = a, b, c
