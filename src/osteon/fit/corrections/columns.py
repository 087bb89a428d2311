"""Columns of corrections and the skin they go with, in the problem's units, and small steps that kernels share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.kernels import kernel
from osteon.fit.problem import FitProblem

__all__ = [
    "VERTICES_A_BLOCK",
    "ColumnFit",
    "SkinState",
    "add_columns",
    "cholesky_solve",
    "moved_point",
    "no_columns",
    "order_columns",
    "scaled_columns",
]

#: Vertices whose small systems are solved at a time.
VERTICES_A_BLOCK = 256


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


def order_columns(columns: ColumnFit) -> ColumnFit:
    """The same product U q from orthogonal columns, the largest first, with coefficients of at most 1."""
    rank = columns.rank
    if rank == 0:
        return columns
    flat = columns.basis.transpose(0, 2, 1).reshape(-1, rank)
    left, upper = np.linalg.qr(flat)
    right, lower = np.linalg.qr(columns.coefficients)
    u, s, vt = np.linalg.svd(upper @ lower.T, full_matrices=False)
    count = len(s)  # fewer than the rank if there are not that many coordinates: the other columns are empty
    basis, q = np.zeros((len(columns.basis), rank, 3)), np.zeros((len(columns.coefficients), rank))
    basis[:, :count] = (left @ (u * s)).reshape(-1, 3, count).transpose(0, 2, 1)
    q[:, :count] = right @ vt.T
    return scaled_columns(ColumnFit(basis, q))


def scaled_columns(columns: ColumnFit) -> ColumnFit:
    """The largest coefficient of every column becomes 1: its basis then reads as a displacement."""
    q = columns.coefficients
    peak = q[np.abs(q).argmax(axis=0), np.arange(columns.rank)]
    peak = np.where(peak == 0, 1.0, peak)
    return ColumnFit(columns.basis * peak[:, None], q / peak)


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
