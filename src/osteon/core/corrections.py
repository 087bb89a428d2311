"""Corrections: a basis of rest-frame displacements whose coefficients are stored with the animation.

    p_v + sum_r q_r^f U_rv

`Corrections` holds basis and coefficients together, as fits return them and files store them. In a model the basis is
a displacement of the character (`StoredDisplacement`) and the coefficients belong to the animation.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 12 and 13.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Animation
from osteon.core.arrays import Float32, Int32, Int64, checked
from osteon.core.character import Arrays
from osteon.core.errors import GeometryError

__all__ = ["Corrections", "StoredDisplacement", "kept_columns", "position_rank"]


@dataclass(frozen=True, slots=True)
class StoredDisplacement:
    """The basis of the corrections, the most useful column first."""

    kind: ClassVar[str] = "corrections"

    basis: Float32  # (r,v,3) zero in columns that move normals only, which come last
    normal_basis: Float32 | None = None  # (r,n,3) added to the rest normals by the same coefficients: n = F (n + N q)

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", checked("basis", self.basis, (None, None, 3)))
        if self.normal_basis is not None:
            shape = (self.basis.shape[0], None, 3)
            object.__setattr__(self, "normal_basis", checked("normal_basis", self.normal_basis, shape))

    def coefficients(self, animation: Animation) -> Float32:
        """(f,r) the coefficients that the animation stores."""
        if animation.coefficients is None:
            raise GeometryError("coefficients: the animation stores none for the corrections of this character")
        return animation.coefficients

    def position_coefficients(self, animation: Animation) -> Float32:
        """(f,p) of the columns that move positions, which come first."""
        return self.coefficients(animation)[:, : position_rank(self.basis)]

    def by_vertex(self) -> None:
        """None: every column moves all vertices."""
        return None

    def arrays(self) -> Arrays:
        """(r,v,3) `basis`, and `normal_basis` if there is one."""
        normals = {} if self.normal_basis is None else {"normal_basis": self.normal_basis}
        return {"basis": self.basis, **normals}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(arrays["basis"], arrays.get("normal_basis"))

    def take(self, vertices: Int32) -> Self:
        """The columns of some vertices, in that order."""
        normals = None if self.normal_basis is None else np.ascontiguousarray(self.normal_basis[:, vertices])
        return type(self)(np.ascontiguousarray(self.basis[:, vertices]), normals)

    def truncate(self, rank: int) -> Self:
        kept = kept_columns(self.basis, rank)
        return type(self)(self.basis[kept], None if self.normal_basis is None else self.normal_basis[kept])

    def without_normals(self, rank: int) -> Self:
        """The first `rank` columns, which move positions and no normals."""
        return type(self)(self.basis[:rank])

    def on_mesh(self, basis: Float32, normal_basis: Float32 | None) -> Self:
        """The same columns of another mesh."""
        return type(self)(basis, normal_basis)


@dataclass(frozen=True, slots=True)
class Corrections:
    """Rest-frame displacements and their coefficients (eq. 12)."""

    basis: Float32  # (r,v,3) as in StoredDisplacement
    coefficients: Float32  # (f,r)
    normal_basis: Float32 | None = None  # (r,n,3)

    def __post_init__(self) -> None:
        stored = StoredDisplacement(self.basis, self.normal_basis)
        object.__setattr__(self, "basis", stored.basis)
        object.__setattr__(self, "normal_basis", stored.normal_basis)
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

    def truncate(self, rank: int) -> Corrections:
        """The first `rank` columns that move positions, and all that move normals only."""
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
    n_moving = position_rank(basis)
    return np.concatenate([np.arange(min(rank, n_moving)), np.arange(n_moving, len(basis))])
