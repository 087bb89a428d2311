"""Columns of corrections and the skin they go with, in the problem's units, and small steps that kernels share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.kernels import kernel
from osteon.fit.problem import FitProblem

__all__ = ["ColumnFit", "SkinState", "add_columns", "cholesky_solve", "moved_point", "no_columns"]


@dataclass(frozen=True, slots=True)
class SkinState:
    """A skin in the problem's units."""

    transforms: Float64  # (f,b,3,4)
    bones: np.ndarray  # (v,k)
    weights: Float64  # (v,k)


@dataclass(frozen=True, slots=True)
class ColumnFit:
    """Corrections in the problem's units."""

    basis: Float64  # (v,r,3)
    coefficients: Float64  # (f,r)

    @property
    def rank(self) -> int:
        return int(self.coefficients.shape[1])


def no_columns(problem: FitProblem) -> ColumnFit:
    """Corrections of rank 0."""
    return ColumnFit(np.zeros((problem.n_vertices, 0, 3)), np.zeros((problem.n_frames, 0)))


def add_columns(first: ColumnFit, more: ColumnFit) -> ColumnFit:
    """The columns of both."""
    basis = np.concatenate([first.basis, more.basis], axis=1)
    return ColumnFit(basis, np.concatenate([first.coefficients, more.coefficients], axis=1))


@kernel
def moved_point(point: Float64, basis: Float64, coefficients: Float64, P: Float64) -> None:
    """P (3): the rest point with its corrections, p + U q."""
    for i in range(3):
        total = point[i]
        for r in range(basis.shape[0]):
            total += basis[r, i] * coefficients[r]
        P[i] = total


@kernel
def cholesky_solve(N: Float64, b: Float64, n: int) -> None:
    """b becomes the solution of N u = b on the leading n unknowns; N (lower half) becomes its factor."""
    for j in range(n):
        pivot = N[j, j]
        for k in range(j):
            pivot -= N[j, k] * N[j, k]
        pivot = np.sqrt(max(pivot, 1e-300))
        N[j, j] = pivot
        for i in range(j + 1, n):
            value = N[i, j]
            for k in range(j):
                value -= N[i, k] * N[j, k]
            N[i, j] = value / pivot
    for i in range(n):
        value = b[i]
        for k in range(i):
            value -= N[i, k] * b[k]
        b[i] = value / N[i, i]
    for i in range(n - 1, -1, -1):
        value = b[i]
        for k in range(i + 1, n):
            value -= N[k, i] * b[k]
        b[i] = value / N[i, i]
