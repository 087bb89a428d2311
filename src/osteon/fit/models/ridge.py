"""Ridge regression of many small systems at once, for every strength, with exact residuals of held-out rows.

    for each system:   minimise over c   || Phi c - y ||^2 + lambda || c ||^2

One eigendecomposition per system, of Phi Phi' or Phi' Phi, whichever is smaller, serves all lambdas and all held-out
rows. With H = Phi (Phi'Phi + lambda)^-1 Phi' the deviation of rows g from a fit without them is

    e_g = (1 - H_gg)^-1 r_g,    r = y - H y

without a new fit. With Phi Phi' = U s U' this is e_g = (G_gg)^-1 (G y)_g, G = U (s + lambda)^-1 U'. With
Phi'Phi = V s V' and Q = Phi V it is H_gg = Q_g (s + lambda)^-1 Q_g'; where g has more rows than there are unknowns, by
Woodbury, e_g = r_g + Q_g (s + lambda - Q_g'Q_g)^-1 Q_g' r_g.

| symbol | name |
| --- | --- |
| Phi    | features (n,m,p): n systems of m equations with p unknowns |
| y      | targets (n,m) |
| lambda | strength |
| s, U or V | values (n,q), vectors (n,·,q), q = min(m, p) |

Based on: the exact leave-one-out residuals of linear smoothers (Allen's PRESS, 1974), for blocks of rows.
Reid and Jacka, Mesh Approximation for Animated Characters, section 4 and figure 3, choose lambda by trying several.

Notes, 1,000 systems of 30 equations with 32 unknowns, one core: eigendecompositions 0.15 s, then 1.2 ms for each
lambda and block of three rows; a fit without the block takes 18 ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from osteon.core.arrays import Float64, Int64


def solve_ridge(features: Float64, targets: Float64, strength: float) -> Float64:
    """(n,p) the solutions of systems (n,m,p) for one lambda; zero for an infinite one."""
    n_rows, n_unknowns = features.shape[1:]
    if np.isinf(strength):
        return np.zeros((len(features), n_unknowns))
    transposed = features.swapaxes(1, 2)
    if n_rows <= n_unknowns:
        return _times(transposed, _solve(features @ transposed + strength * np.eye(n_rows), targets))
    return _solve(transposed @ features + strength * np.eye(n_unknowns), _times(transposed, targets))


@dataclass(frozen=True, slots=True)
class RidgePath:
    """Systems with their eigendecomposition, which makes solutions for many lambdas cheap."""

    features: Float64  # (n,m,p)
    values: Float64  # (n,q) eigenvalues, none below zero
    vectors: Float64  # (n,m,q) or (n,p,q)
    rows: Float64  # (n,m,q) U, or Q = Phi V
    is_dual: bool  # Phi Phi' was the smaller matrix

    @classmethod
    def of(cls, features: Float64) -> Self:
        """The decomposition of systems (n,m,p)."""
        transposed = features.swapaxes(1, 2)
        is_dual = features.shape[1] <= features.shape[2]
        values, vectors = np.linalg.eigh(features @ transposed if is_dual else transposed @ features)
        return cls(features, np.maximum(values, 0), vectors, vectors if is_dual else features @ vectors, is_dual)

    def solution(self, targets: Float64, strength: float) -> Float64:
        """(n,p) c for one lambda."""
        inner = self._rotated(targets) / (self.values + strength)
        if self.is_dual:
            return _times(self.features.swapaxes(1, 2), _times(self.rows, inner))
        return _times(self.vectors, inner)

    def residuals(self, targets: Float64, strength: float) -> Float64:
        """(n,m) r = y - Phi c."""
        kept = _times(self.rows, self._rotated(targets) / (self.values + strength))
        return strength * kept if self.is_dual else targets - kept

    def held_out_residuals(self, targets: Float64, rows: Int64, strengths: Sequence[float]) -> Iterator[Float64]:
        """(n,g) y - Phi c of some rows for every lambda, with c fitted without them."""
        some, rotated = self.rows[:, rows], self._rotated(targets)
        for strength in strengths:
            weights = 1 / (self.values + strength)
            kept = _times(some, weights * rotated)
            yield self._without_rows(some, weights, kept if self.is_dual else targets[:, rows] - kept)

    def _without_rows(self, some: Float64, weights: Float64, left: Float64) -> Float64:
        """(n,g) e_g from (G y)_g or r_g."""
        across = some.swapaxes(1, 2)
        if self.is_dual:
            return _solve((some * weights[:, None]) @ across, left)
        if some.shape[1] <= some.shape[2]:
            return _solve(np.eye(some.shape[1]) - (some * weights[:, None]) @ across, left)
        inner = np.eye(some.shape[2]) * (1 / weights)[:, None] - across @ some
        return left + _times(some, _solve(inner, _times(across, left)))

    def _rotated(self, targets: Float64) -> Float64:
        """(n,q) the targets in the axes of the decomposition."""
        return _times(self.rows.swapaxes(1, 2), targets)


def _times(matrices: Float64, vectors: Float64) -> Float64:
    """(n,a) of matrices (n,a,b) and vectors (n,b)."""
    return np.asarray(np.matmul(matrices, vectors[..., None])[..., 0])


def _solve(matrices: Float64, vectors: Float64) -> Float64:
    """(n,a) of matrices (n,a,a) and right sides (n,a)."""
    return np.asarray(np.linalg.solve(matrices, vectors[..., None])[..., 0], np.float64)
