"""Progressive corrections: low-rank displacements of the rest pose, fitted where they are seen, in posed space.

    minimise over U, q:   sum_v sum_f || A_v^f (p_v + U_v q^f) + t_v^f - x_v^f ||^2

| symbol | name |
| --- | --- |
| A, t   | the blended bones of a vertex in a frame |
| U_v    | basis (v,r,3): how each column moves a vertex of the rest pose |
| q^f    | coefficients (f,r) |

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 12: the truncated SVD of the rest-frame
displacements A^-1 (x - t) - p (displacements.py).

Differs from the paper: that SVD measures the error before the skin, and multiplies what a nearly singular A loses.
`fit_corrections` alternates two exact minimisers of the posed error (solve_columns.py). It starts from
the SVD of displacements with a little Tikhonov damping, and one or two rounds suffice. More than BLOCK_RANK columns are
fitted in blocks, each on what the ones before have left, so that the cost grows with the square of BLOCK_RANK and not
of the rank. As many columns as frames are exact: see `exact_corrections`.

The columns come out of an SVD of U q, the most useful first: cutting the last ones leaves a good model of lower rank.

Notes, rank 10 on the skin of rank 0, E % by rank 0, 1, 5, 10; rounds 1 to 3 differ by less than 1 %.
horse 0.994 0.928 0.645 0.390, chicken 0.100 0.094 0.065 0.047, elasticcow 0.544 0.528 0.464 0.396,
clothhorse 3.93 3.17 1.26 0.418. Together with bones and weights they become better: see corrected_skin.py.
"""

from __future__ import annotations

from osteon.fit.corrections.columns import ColumnFit, SkinState, add_columns, no_columns, order_columns
from osteon.fit.corrections.displacements import START, exact_corrections, start_coefficients
from osteon.fit.corrections.progressive import never_rising
from osteon.fit.corrections.solve_columns import solve_basis, solve_coefficients
from osteon.fit.problem import FitProblem

__all__ = ["BLOCK_RANK", "fit_corrections"]

#: Columns that are fitted together.
BLOCK_RANK = 16
ROUNDS = 2


def fit_corrections(
    problem: FitProblem, skin: SkinState, rank: int, *, fixed: ColumnFit | None = None, threads: int = 1
) -> ColumnFit:
    """Corrections of a skin that stays as it is, `rank` columns besides the fixed ones."""
    columns = no_columns(problem) if fixed is None else fixed
    total = columns.rank + rank
    if total >= problem.n_frames:
        return exact_corrections(problem, skin, threads)
    while columns.rank < total:
        count = min(BLOCK_RANK, total - columns.rank)
        q = start_coefficients(problem, skin, count, columns, START, threads)
        for _ in range(ROUNDS):
            basis, _ = solve_basis(problem, skin, q, columns, threads)
            q = solve_coefficients(problem, skin, basis, columns, threads)
        added = never_rising(problem, skin, order_columns(ColumnFit(basis, q)), columns, threads)
        columns = add_columns(columns, added)
    return columns
