"""Corrections: a basis of rest-frame displacements whose coefficients are stored with the animation.

    p_v + sum_r q_r^f U_rv

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6, eq. 12 and 13.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Animation
from osteon.core.arrays import Float32, Int32, checked
from osteon.core.corrections import kept_columns, position_rank
from osteon.core.deformer import Arrays
from osteon.core.errors import GeometryError

__all__ = ["StoredDisplacement"]


@dataclass(frozen=True, slots=True)
class StoredDisplacement:
    """The basis of progressive corrections, the most useful column first."""

    kind: ClassVar[str] = "corrections"

    basis: Float32  # (r,v,3)
    normal_basis: Float32 | None = None  # (r,n,3) moves the rest normals by the same coefficients

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", checked("basis", self.basis, (None, None, 3)))
        if self.normal_basis is not None:
            shape = (self.basis.shape[0], None, 3)
            object.__setattr__(self, "normal_basis", checked("normal_basis", self.normal_basis, shape))

    def coefficients(self, animation: Animation) -> Float32:
        """(f,r) as the animation has stored them."""
        if animation.coefficients is None:
            raise GeometryError("coefficients: the animation stores none for the corrections of this character")
        return animation.coefficients

    def position_coefficients(self, animation: Animation) -> Float32:
        """(f,p) of the columns that move positions, which come first."""
        return self.coefficients(animation)[:, : position_rank(self.basis)]

    def by_vertex(self) -> None:
        """None: its columns move all vertices."""
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

    def cut(self, rank: int) -> Self:
        kept = kept_columns(self.basis, rank)
        return type(self)(self.basis[kept], None if self.normal_basis is None else self.normal_basis[kept])

    def without_normals(self, rank: int) -> Self:
        """The first `rank` columns, which move positions and no normals."""
        return type(self)(self.basis[:rank])

    def on_mesh(self, basis: Float32, normal_basis: Float32 | None) -> Self:
        """The same columns of another mesh."""
        return type(self)(basis, normal_basis)
