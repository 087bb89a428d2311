"""Lit colours as products of non-negative factors: C = W H, both without negative numbers.

    minimise over W >= 0, H >= 0   || C - W H ||_F^2,      C (f, n): the colours of every frame as one row

Columns of W and rows of H are updated one after another, each to its optimum with all others fixed:

    W_r <- max(0, W_r + (C H_r' - W H H_r') / (H_r H_r')),     H likewise with W' in place of H

Non-negative rows are colours themselves: they need no sign in a file, and every partial sum is a valid picture. The
start is built from the singular vectors of C: of each, the larger of its positive and negative parts, with zeros
replaced by a small share of the mean, so that the updates can change them.

Factors of a rank are not those of a smaller rank with more rows. Progressive factors have one list of rows, of which
the first k are good factors of rank k, with weights of their own (`progressive_factors`):

    minimise over H >= 0, W_k >= 0   sum_k || C - W_k H_1..k ||_F^2 / e_k^2,      e_k: the same for the best factors
                                                                                   of rank k of any sign
Every row is again updated to its optimum with all others fixed: the sums over k of W_k' C / e_k^2 and W_k' W_k / e_k^2
take the place of W' C and W' W. The start are the rows of the largest rank, in the order in which each next one reduces
the error most.

Based on: Lee and Seung, Learning the Parts of Objects by Non-Negative Matrix Factorization, 1999; Cichocki and Phan,
Fast Local Algorithms for Large Scale Nonnegative Matrix and Tensor Factorizations, 2009, algorithm 2 (HALS);
Boutsidis and Gallopoulos, SVD Based Initialization, 2008 (NNDSVDa).

Notes, horse, 24 frames, three skies, RGB or luminance: error over that of the singular value decomposition 1.02 … 1.09
at rank 5, 1.19 … 1.32 at rank 10. With 400 rounds instead of 200 and a tenth of the tolerance 1.01 … 1.04 and 1.15 …
1.18, in 3 to 6 times the time. Being progressive costs the most at rank 1, 1.27 … 1.34 instead of 1; at rank 2 … 4 it
is 1.10 … 1.35 instead of 1.00 … 1.03, at rank 5 1.10 … 1.19, at rank 10 1.21 … 1.28. What else was tried: rows of rank
10 only sorted have 2.3 to 3 times the error of own factors at rank 5. Rows that are added one by one to those before,
which stay: 1.00, 1.18, 1.6, 1.3, 1.3 … 1.6 at rank 10; the same as the start of the joint fit ends within 2 %. Larger
ranks weighted by k: rank 10 0.04 lower, rank 1 to 3 0.1 to 0.4 higher. One sweep over the weights per round instead of
five: 0.03 to 0.05 higher after as many rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, FloatArray
from osteon.core.errors import GeometryError

#: Rounds of updates, and the relative decrease of the error below which they end.
ROUNDS, ENOUGH = 200, 1e-4
#: Rounds between two tests of the error.
_TESTED_EVERY = 10


@dataclass(frozen=True, slots=True)
class Factors:
    """Non-negative factors of a matrix."""

    weights: Float64  # (f,r) W
    rows: Float64  # (r,n) H
    rounds: int

    def error(self, matrix: FloatArray) -> float:
        """|| C - W H || / || C ||"""
        return relative_error(matrix, self.weights, self.rows)


def relative_error(matrix: FloatArray, weights: Float64, rows: Float64) -> float:
    """|| C - W H || / || C ||, from products of the small factors."""
    total = float(np.einsum("fn,fn->", matrix, matrix, dtype=np.float64))
    cross = float(np.einsum("fr,fr->", weights, matrix @ rows.T))
    square = float(np.einsum("rs,rs->", weights.T @ weights, rows @ rows.T))
    return float(np.sqrt(max(0.0, total - 2 * cross + square) / (total or 1.0)))


def first_factors(matrix: Float64, rank: int) -> tuple[Float64, Float64]:
    """W (f,r) and H (r,n) from the singular vectors of C."""
    values, vectors = np.linalg.eigh(matrix @ matrix.T)
    values, left = np.sqrt(np.maximum(0, values[::-1]))[:rank], vectors[:, ::-1][:, :rank]
    right = left.T @ matrix / np.where(values > 0, values, 1)[:, None]
    weights, rows = np.zeros((len(matrix), rank)), np.zeros((rank, matrix.shape[1]))
    weights[:, 0], rows[0] = np.sqrt(values[0]) * np.abs(left[:, 0]), np.sqrt(values[0]) * np.abs(right[0])
    for r in range(1, rank):
        parts = [(np.maximum(0, side * left[:, r]), np.maximum(0, side * right[r])) for side in (1.0, -1.0)]
        sizes = [float(np.linalg.norm(u) * np.linalg.norm(v)) for u, v in parts]
        (u, v), size = parts[int(sizes[1] > sizes[0])], max(sizes)
        if size > 0:
            scale = np.sqrt(values[r] * size)
            weights[:, r], rows[r] = scale * u / np.linalg.norm(u), scale * v / np.linalg.norm(v)
    mean = float(matrix.mean())
    weights[weights < 1e-6 * mean], rows[rows < 1e-6 * mean] = mean, mean
    return weights, rows


def update_factors(matrix: Float64, weights: Float64, rows: Float64) -> None:
    """One round: all columns of W, then all rows of H, in place."""
    columns = np.ascontiguousarray(weights.T)
    _update(columns, rows @ matrix.T, rows @ rows.T)
    weights[:] = columns.T
    _update(rows, columns @ matrix, columns @ columns.T)


def _update(factor: Float64, towards: Float64, products: Float64) -> None:
    """Every row of a factor (r,m) to its optimum >= 0, one after another; towards (r,m), products (r,r)."""
    for r in range(len(factor)):
        if products[r, r] > 0:
            step = (towards[r] - products[r] @ factor) / products[r, r]
            np.maximum(0, factor[r] + step, out=factor[r])


def factor_nonnegative(matrix: FloatArray, rank: int, *, rounds: int = ROUNDS, enough: float = ENOUGH) -> Factors:
    """Non-negative factors of C (f,n) of a rank; fewer if it has fewer rows."""
    values = np.asarray(matrix, np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise GeometryError("colours: expected finite non-negative numbers")
    rank = min(rank, *values.shape)
    weights, rows = first_factors(values, rank)
    last, done = np.inf, 0
    for done in range(1, rounds + 1):
        update_factors(values, weights, rows)
        if enough and done % _TESTED_EVERY == 0:
            error = relative_error(values, weights, rows)
            if last - error <= enough * max(error, 1e-12):
                break
            last = error
    return Factors(weights, rows, done)


@dataclass(frozen=True, slots=True)
class Ladder:
    """Sorted rows, and the weights and errors of the first 1 … r of them."""

    rows: Float64  # (r,n)
    weights: Float64  # (r,f,r) for the first i + 1 rows, zero for the others
    errors: tuple[float, ...]  # (r,) relative


#: Rounds in which the weights of fixed rows are fitted.
_WEIGHT_ROUNDS = 200


def fit_weights_to_rows(
    towards: Float64, products: Float64, start: Float64 | None = None, sweeps: int = _WEIGHT_ROUNDS
) -> Float64:
    """(f,r) the best W >= 0 of fixed rows, from towards (r,f) = H C' and products (r,r) = H H'."""
    if start is None:
        columns = np.maximum(0, towards / np.maximum(np.diag(products), 1e-300)[:, None] / max(1, len(towards)))
    else:
        columns = np.ascontiguousarray(start.T)
    for _ in range(sweeps):
        _update(columns, towards, products)
    return np.ascontiguousarray(columns.T)


#: Rounds of the joint fit, and sweeps over the weights in each.
_JOINT_ROUNDS, _SWEEPS = 800, 5
#: Errors of the best factors of any sign count as this part of their norm at least.
_LEAST_ERROR = 1e-4


def progressive_factors(
    matrix: FloatArray, rank: int, *, rounds: int = _JOINT_ROUNDS, enough: float = ENOUGH
) -> Ladder:
    """Rows of which the first 1 … rank are good factors each, with weights and errors for every number of them."""
    values = np.asarray(matrix, np.float64)
    start = sort_rows(values, factor_nonnegative(values, rank))
    rows, weights = start.rows.copy(), start.weights.copy()
    shares = 1 / best_errors(values, len(rows)) ** 2
    last = np.inf
    for done in range(1, rounds + 1):
        _fit_all_weights(values, weights, rows, _SWEEPS)
        towards = np.einsum("k,kfr->rf", shares, weights) @ values
        _update(rows, towards, np.einsum("k,kfr,kfs->rs", shares, weights, weights))
        if enough and done % _TESTED_EVERY == 0:
            error = float(shares @ np.square(_errors(values, weights, rows)))
            if last - error <= enough * error:
                break
            last = error
    _fit_all_weights(values, weights, rows, _WEIGHT_ROUNDS)
    return Ladder(rows, weights, tuple(_errors(values, weights, rows)))


def _fit_all_weights(values: Float64, weights: Float64, rows: Float64, sweeps: int) -> None:
    """The weights (r,f,r) of every number of first rows, in place."""
    towards, products = rows @ values.T, rows @ rows.T
    for k, own in enumerate(weights, 1):
        own[:, :k] = fit_weights_to_rows(towards[:k], products[:k, :k], own[:, :k], sweeps)


def _errors(values: Float64, weights: Float64, rows: Float64) -> list[float]:
    return [relative_error(values, own, rows) for own in weights]


def best_errors(matrix: Float64, rank: int) -> Float64:
    """(rank,) relative errors of the best factors of any sign at rank 1 …, but never zero."""
    values = np.maximum(0, np.linalg.eigvalsh(matrix @ matrix.T)[::-1])
    left = np.maximum(0, values.sum() - np.cumsum(values)[:rank])
    return np.asarray(np.maximum(np.sqrt(left / (values.sum() or 1.0)), _LEAST_ERROR))


def sort_rows(matrix: FloatArray, factors: Factors) -> Ladder:
    """The rows in the order in which they reduce the error most, with weights for every number of them."""
    rows, values = factors.rows, np.asarray(matrix, np.float64)
    towards, products = rows @ values.T, rows @ rows.T
    total = float(np.einsum("fn,fn->", values, values))
    rank, order = len(rows), list[int]()
    weights, errors = np.zeros((rank, len(values), rank)), list[float]()
    for count in range(1, rank + 1):
        tried = []
        for r in (r for r in range(rank) if r not in order):
            own = [*order, r]
            found = fit_weights_to_rows(towards[own], products[np.ix_(own, own)])
            if count == rank:
                found = factors.weights[:, own]
            fits = 2 * np.einsum("fr,rf->", found, towards[own])
            square = total - float(fits) + float(np.einsum("fr,fs,rs->", found, found, products[np.ix_(own, own)]))
            tried.append((square, r, found))
        square, best, found = min(tried, key=lambda one: one[0])
        order.append(best)
        weights[count - 1, :, :count] = found
        errors.append(float(np.sqrt(max(0.0, square) / (total or 1.0))))
    return Ladder(rows[order], weights, tuple(errors))
