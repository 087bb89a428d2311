"""Columns of corrections and the skin they go with, in the problem's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64
from osteon.fit.problem import FitProblem

__all__ = [
    "VERTICES_A_BLOCK",
    "ColumnFit",
    "SkinState",
    "add_columns",
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
