"""Rest-frame displacements whose coefficients are stored for every frame, basis and coefficients in one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Int64, checked

__all__ = ["Corrections", "kept_columns", "position_rank"]


@dataclass(frozen=True, slots=True)
class Corrections:
    """Rest-frame displacements added before the skin moves the vertex (eq. 12 of Skinning Mesh Animations)."""

    basis: Float32  # (r,v,3) the most useful first; zero in columns that move normals only, which come last
    coefficients: Float32  # (f,r)
    normal_basis: Float32 | None = None  # (r,n,3) added to the rest normals by the same coefficients: n = F (n + N q)

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", checked("basis", self.basis, (None, None, 3)))
        if self.normal_basis is not None:
            shape = (self.basis.shape[0], None, 3)
            object.__setattr__(self, "normal_basis", checked("normal_basis", self.normal_basis, shape))
        object.__setattr__(
            self, "coefficients", checked("coefficients", self.coefficients, (None, self.basis.shape[0]))
        )

    @property
    def n_columns(self) -> int:
        return int(self.basis.shape[0])

    @property
    def rank(self) -> int:
        """Columns that move positions."""
        return position_rank(self.basis)

    def cut(self, rank: int) -> Corrections:
        """Only the first `rank` columns that move positions, and all that move normals only."""
        return self.take(kept_columns(self.basis, rank))

    def take(self, columns: Int64) -> Corrections:
        """Only the given columns, in that order."""
        normals = None if self.normal_basis is None else np.ascontiguousarray(self.normal_basis[columns])
        basis, q = np.ascontiguousarray(self.basis[columns]), np.ascontiguousarray(self.coefficients[:, columns])
        return Corrections(basis, q, normals)


def position_rank(basis: Float32) -> int:
    """How many columns (r,v,3) move positions; those that do not come last."""
    rank = len(basis)
    while rank and not basis[rank - 1].any():
        rank -= 1
    return rank


def kept_columns(basis: Float32, rank: int) -> Int64:
    """The first `rank` columns that move positions, and all that move normals only."""
    own = position_rank(basis)
    return np.concatenate([np.arange(min(rank, own)), np.arange(own, len(basis))])
