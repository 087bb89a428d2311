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
from osteon.deform.joint_rbf import JointRbf
from osteon.deform.packed_columns import PackedColumns

if TYPE_CHECKING:  # compiled
    from osteon.deform.column_rows import ColumnRows

__all__ = ["EigenSkin"]

#: Arrays of columns.
BASES = ("basis", "normal_basis")


@dataclass(frozen=True)
class EigenSkin:
    """Eigendisplacements, the first of all joints first, and what tells how much of each a pose has."""

    kind: ClassVar[str] = "eigenskin"

    basis: Float32  # (r,v,3) zero off the supports
    rbf: JointRbf  # a column for each of these
    normal_basis: Float32 | None = None  # (r,v,3) moves the rest normals by the same coefficients
    packed: tuple[PackedColumns, ...] = ()  # the basis, and its normals if it has any, in bytes; (): of 32 bits

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", checked("basis", self.basis, (self.rbf.n_columns, None, 3)))
        if self.normal_basis is not None:
            shape = (self.basis.shape[0], None, 3)
            object.__setattr__(self, "normal_basis", checked("normal_basis", self.normal_basis, shape))

    @property
    def bits(self) -> int:
        """Of a number of the basis where it is stored."""
        return 8 if self.packed else 32

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
        """`basis`, perhaps `normal_basis`, in bytes where it is packed, and the tables of the coefficients."""
        found = self.rbf.arrays()
        for name, columns in zip(BASES, self.packed, strict=False):
            found |= columns.arrays(name)
        if not self.packed:
            found["basis"] = self.basis
            found |= {} if self.normal_basis is None else {"normal_basis": self.normal_basis}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`."""
        packed = tuple(PackedColumns.from_arrays(name, arrays) for name in BASES if f"{name}_numbers" in arrays)
        found = [columns.columns() for columns in packed] or [arrays[name] for name in BASES if name in arrays]
        if not found:
            raise KeyError(BASES[0])
        return cls(found[0], JointRbf.from_arrays(arrays), found[1] if len(found) > 1 else None, packed)

    def take(self, vertices: Int32) -> Self:
        """The columns of some vertices, in that order."""
        return self._changed(lambda columns: np.ascontiguousarray(columns[:, vertices]), self.rbf)

    def cut(self, rank: int) -> Self:
        """The first columns alone."""
        return self._changed(lambda columns: columns[:rank], self.rbf.cut(rank))

    def on_mesh(self, basis: Float32, normal_basis: Float32 | None) -> Self:
        """The same columns of another mesh, in bytes if these are."""
        return self._with(basis, self.rbf, normal_basis)

    def in_8_bits(self) -> Self:
        """The same with a basis of bytes."""
        whole = [columns for columns in (self.basis, self.normal_basis) if columns is not None]
        packed = tuple(PackedColumns.of(columns) for columns in whole)
        rounded = [columns.columns() for columns in packed]
        return type(self)(rounded[0], self.rbf, rounded[1] if len(rounded) > 1 else None, packed)

    @property
    def basis_bytes(self) -> int:
        """Of all columns where they are stored."""
        whole = [self.basis] if self.normal_basis is None else [self.basis, self.normal_basis]
        return sum(columns.n_bytes for columns in self.packed) or sum(int(columns.nbytes) for columns in whole)

    def _changed(self, change: Callable[[Float32], Float32], rbf: JointRbf) -> Self:
        normals = None if self.normal_basis is None else change(self.normal_basis)
        return self._with(change(self.basis), rbf, normals)

    def _with(self, basis: Float32, rbf: JointRbf, normal_basis: Float32 | None) -> Self:
        """Other columns, in bytes if these are."""
        changed = type(self)(basis, rbf, normal_basis)
        return changed.in_8_bits() if self.packed else changed
