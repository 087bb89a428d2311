"""EigenSkin: rest-frame displacements whose coefficients follow the turns of the joints, in poses nobody sampled.

    x_v = A_v(bones) [p_v + sum_j sum_k a_jk U_jkv; 1],   a_jk = a_jk(turn of joint j)              (eq. 2)

A column U_jk moves the support of its joint, or of its pair of joints, and nothing else.

Based on: Kry, James and Pai, EigenSkin, 2002, sections 2.3 to 2.5.
Differs from the paper: columns of pairs of joints too; normals share the coefficients of the displacements, because
files and players move both by one weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Animation
from osteon.core.arrays import Float32, Int32, checked
from osteon.core.deformer import Arrays
from osteon.core.errors import GeometryError
from osteon.deform.joint_rbf import JointRbf

if TYPE_CHECKING:  # compiled
    from osteon.deform.column_rows import ColumnRows

__all__ = ["EigenSkin"]

#: The largest number of a basis in 8 bits.
MOST = 127
#: Arrays of columns.
BASES = ("basis", "normal_basis")


@dataclass(frozen=True)
class EigenSkin:
    """Eigendisplacements, the first of all joints first, and what tells how much of each a pose has."""

    kind: ClassVar[str] = "eigenskin"

    basis: Float32  # (r,v,3) zero off the supports
    rbf: JointRbf  # a column for each of these
    normal_basis: Float32 | None = None  # (r,v,3) moves the rest normals by the same coefficients
    steps: Float32 | None = None  # (2,r) of basis and normals: columns are -127 … 127 times these, or of any number

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", checked("basis", self.basis, (self.rbf.n_columns, None, 3)))
        if self.normal_basis is not None:
            object.__setattr__(self, "normal_basis", checked("normal_basis", self.normal_basis, self.basis.shape))
        if self.steps is not None:
            object.__setattr__(self, "steps", checked("steps", self.steps, (2, self.rbf.n_columns)))
            if not (self.steps > 0).all():
                raise GeometryError("steps: expected positive numbers")

    @property
    def bits(self) -> int:
        """Of a number of the basis where it is stored."""
        return 32 if self.steps is None else 8

    def coefficients(self, animation: Animation) -> Float32:
        """(f,r) found from where the bones are."""
        rigid = animation.track.bone_type == "rigid"
        return self.rbf.values(animation.transforms, rigid=rigid).astype(np.float32)

    def by_vertex(self) -> ColumnRows:
        """The columns as posing reads them."""
        return self._rows

    @cached_property
    def _rows(self) -> ColumnRows:
        from osteon.deform.column_rows import ColumnRows  # compiled

        return ColumnRows.of(self.basis)

    @property
    def columns_a_vertex(self) -> Int32:
        """(v,) how many columns move each vertex: what a vertex shader must hold."""
        return np.asarray(np.any(self.basis, axis=2).sum(axis=0), np.int32)

    def arrays(self) -> Arrays:
        """`basis`, perhaps `normal_basis`, and the tables of the coefficients; `steps` where columns are bytes."""
        found: Arrays = {"basis": self.basis} | self.rbf.arrays()
        if self.normal_basis is not None:
            found["normal_basis"] = self.normal_basis
        if self.steps is not None:
            found["steps"] = self.steps
            for name, steps in zip(BASES, self.steps, strict=True):
                if name in found:
                    found[name] = _whole(found[name], steps).astype(np.int8)
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`; a basis with steps may also come as the numbers that it stands for."""
        steps = arrays.get("steps")
        found = [arrays.get(name) for name in BASES]
        if steps is not None:
            found = [
                None if b is None else _snapped(b, s) for b, s in zip(found, steps.astype(np.float32), strict=True)
            ]
        if found[0] is None:
            raise KeyError("basis")
        return cls(found[0], JointRbf.from_arrays(arrays), found[1], steps)

    def take(self, vertices: Int32) -> Self:
        """The columns of some vertices, in that order."""
        return self._changed(lambda columns: np.ascontiguousarray(columns[:, vertices]), self.rbf, self.steps)

    def cut(self, rank: int) -> Self:
        """The first columns alone."""
        steps = None if self.steps is None else self.steps[:, :rank]
        return self._changed(lambda columns: columns[:rank], self.rbf.cut(rank), steps)

    def in_8_bits(self) -> Self:
        """The same with every column in whole multiples of a 127th of its largest number."""
        both = (self.basis, self.basis if self.normal_basis is None else self.normal_basis)
        largest = np.stack([np.abs(columns).max(axis=(1, 2), initial=0.0) for columns in both])
        steps = np.where(largest > 0, largest / MOST, 1.0).astype(np.float32)
        normals = None if self.normal_basis is None else _snapped(self.normal_basis, steps[1])
        return type(self)(_snapped(self.basis, steps[0]), self.rbf, normals, steps)

    def _changed(self, change: Callable[[Float32], Float32], rbf: JointRbf, steps: Float32 | None) -> Self:
        normals = None if self.normal_basis is None else change(self.normal_basis)
        return type(self)(change(self.basis), rbf, normals, steps)


def _whole(columns: NDArray[Any], steps: Float32) -> NDArray[Any]:
    """(r,v,3) how many steps; whole numbers are that already."""
    if columns.dtype.kind == "i":
        return columns
    return np.rint(columns / steps[:, None, None]).clip(-MOST, MOST)


def _snapped(columns: NDArray[Any], steps: Float32) -> Float32:
    """(r,v,3) whole numbers of steps."""
    return np.asarray(_whole(columns, steps).astype(np.float32) * steps[:, None, None], np.float32)
