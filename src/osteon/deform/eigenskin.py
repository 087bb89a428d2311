"""EigenSkin: rest-frame displacements whose coefficients follow the rotations of the joints, in unseen poses too.

    x_v = A_v(bones) [p_v + sum_j sum_k a_jk U_jkv; 1],   a_jk = a_jk(rotation of joint j)              (eq. 2)
    n_v ~ F_v(bones) (n~_v + sum_j sum_k b_jk N_jkv),     b_jk = b_jk(rotation of joint j)

A column U_jk, an eigendisplacement, moves positions on the support of its joint, or of its pair of joints. A column
N_jk, an eigennormal, moves normals only; such columns come last, and their part of `basis` is zero. In files of older
versions one coefficient moves positions and normals.

Based on: Kry, James and Pai, EigenSkin, 2002, sections 2 and 2.3 to 2.5.
Differs from the paper: columns of pairs of joints too.

`PackedColumns` stores columns in bytes, three per vertex that a column moves and a scale:

    U_rv = n_rv peak_r 2^(-s_rv / 16) / 127

n is -127 … 127, and s is one byte per vertex that the column moves. Displacements fade out over a support; with one
scale for a whole column their small parts would be lost.

Notes on packing, elastic hand, 24 columns, error in unseen poses over that of single precision: one scale per column
1.072, one per axis 1.037, numbers to the power of 1.5 1.013, a scale for 64, 16, 8, 4 vertices 1.025, 1.014, 1.010,
1.008. With columns that leave half of the error, four vertices per scale result in 1.015, and one in 1.007: a third of
the bytes of single precision for the same vertices, and 6 % of those of columns that hold all vertices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Animation
from osteon.core.arrays import Bool, Float32, Float64, FloatArray, Int32, Int64, checked
from osteon.core.character import Arrays, kept_columns, position_rank
from osteon.core.errors import GeometryError
from osteon.deform.joint_rbf import JointRbf

if TYPE_CHECKING:
    from osteon.deform.column_rows import ColumnRows


#: Vertices that share a scale in files of older versions.
OLD_GROUP = 4
#: The largest quantised number, and scales per factor of two.
MOST, SCALES = 127, 16


@dataclass(frozen=True, slots=True)
class PackedColumns:
    """A basis (r,v,3) in bytes."""

    n_vertices: int
    moved: NDArray[np.uint8]  # (r,bytes) a bit for each vertex, set where the column moves it
    numbers: NDArray[np.int8]  # (n,3) n of these vertices, column after column
    scales: NDArray[np.uint8]  # (n,) s of these
    peaks: Float32  # (r,)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "moved", checked("moved", self.moved, (None, -(-self.n_vertices // 8)), np.uint8))
        put(self, "peaks", checked("peaks", self.peaks, (len(self.moved),)))
        n_moved = int(self._counts().sum())
        put(self, "numbers", checked("numbers", self.numbers, (n_moved, 3), np.int8))
        put(self, "scales", checked("scales", self.scales, (n_moved,), np.uint8))
        if not (self.peaks >= 0).all():
            raise GeometryError("peaks: expected no negative numbers")

    @staticmethod
    def of(columns: FloatArray) -> PackedColumns:
        """Columns (r,v,3), rounded."""
        bits = np.any(columns, axis=2)
        peaks = np.abs(columns).max(axis=(1, 2), initial=0.0).astype(np.float32)
        vectors = columns[bits].astype(np.float64)
        peak = np.repeat(peaks.astype(np.float64), bits.sum(axis=1))
        with np.errstate(divide="ignore"):
            parts = np.abs(vectors).max(axis=1, initial=0.0) / np.where(peak > 0, peak, 1.0)
            fine = np.floor(-SCALES * np.log2(np.minimum(parts, 1.0)))
        scales = np.clip(fine, 0, 255).astype(np.uint8)
        numbers = np.rint(vectors / _steps(peak, scales)[:, None]).clip(-MOST, MOST).astype(np.int8)
        return PackedColumns(columns.shape[1], np.packbits(bits, axis=1), numbers, scales, peaks)

    def columns(self) -> Float32:
        """(r,v,3)"""
        bits = self._bits()
        peak = np.repeat(self.peaks.astype(np.float64), self._counts())
        out = np.zeros((*bits.shape, 3), np.float32)
        out[bits] = self.numbers * _steps(peak, self.scales)[:, None]
        return out

    def arrays(self, name: str) -> Arrays:
        """All arrays; their names begin with `name`."""
        found: Arrays = {"vertices": np.array(self.n_vertices), "moved": self.moved, "numbers": self.numbers}
        found |= {"scales": self.scales, "peaks": self.peaks}
        return {f"{name}_{key}": array for key, array in found.items()}

    @classmethod
    def from_arrays(cls, name: str, arrays: Mapping[str, NDArray[Any]]) -> Self:
        moved, numbers, scales, peaks = (arrays[f"{name}_{key}"] for key in ("moved", "numbers", "scales", "peaks"))
        n_vertices = int(arrays[f"{name}_vertices"])
        moved = checked("moved", moved, (None, -(-n_vertices // 8)), np.uint8)
        if len(scales) < len(numbers):
            scales = _per_vertex(scales, np.unpackbits(moved, axis=1, count=n_vertices).sum(axis=1, dtype=np.int64))
        return cls(n_vertices, moved, numbers, scales, peaks)

    @property
    def n_bytes(self) -> int:
        return sum(int(array.nbytes) for array in self.arrays("").values())

    def _bits(self) -> Bool:
        return np.unpackbits(self.moved, axis=1, count=self.n_vertices).astype(bool)

    def _counts(self) -> Int64:
        """(r,) vertices that each column moves."""
        return np.asarray(self._bits().sum(axis=1), np.int64)


def _per_vertex(scales: NDArray[np.uint8], counts: Int64) -> NDArray[np.uint8]:
    """(n,) scales per vertex, from files of older versions in which groups of vertices in a column share one."""
    shared = -(-counts // OLD_GROUP)
    if len(scales) != int(shared.sum()):
        return scales
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(scales[np.repeat(np.cumsum(shared) - shared, counts) + within // OLD_GROUP])


def _steps(peak: Float64, scales: NDArray[np.uint8]) -> Float64:
    """(n,) the quantisation steps."""
    steps: Float64 = np.where(peak > 0, peak, 1.0) * 2.0 ** (-scales.astype(np.float64) / SCALES) / MOST
    return steps


#: Arrays of columns.
BASES = ("basis", "normal_basis")


@dataclass(frozen=True)
class EigenSkin:
    """Eigendisplacements, then eigennormals, the first of all joints first, and the RBF of their coefficients."""

    kind: ClassVar[str] = "eigenskin"

    basis: Float32  # (r,v,3) zero off the supports, and in columns that move normals only, which come last
    rbf: JointRbf  # one column per column of the basis
    normal_basis: Float32 | None = None  # (r,n,3) moves the rest normals by the same coefficients
    packed: tuple[PackedColumns, ...] = ()  # basis and normal basis in 8 bits; (): 32 bits

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", checked("basis", self.basis, (self.rbf.n_columns, None, 3)))
        if self.normal_basis is not None:
            shape = (self.basis.shape[0], None, 3)
            object.__setattr__(self, "normal_basis", checked("normal_basis", self.normal_basis, shape))

    @property
    def bits(self) -> int:
        """Bits per number of the stored basis."""
        return 8 if self.packed else 32

    def coefficients(self, animation: Animation) -> Float32:
        """(f,r) computed from the bones."""
        rigid = animation.track.bone_type == "rigid"
        return self.rbf.values(animation.transforms, rigid=rigid).astype(np.float32)

    @cached_property
    def rank(self) -> int:
        """Columns that move positions."""
        return position_rank(self.basis)

    @property
    def n_normals(self) -> int:
        """Columns that move normals only."""
        return len(self.basis) - self.rank

    def position_coefficients(self, animation: Animation) -> Float32:
        """(f,rank) of the columns that move positions; nothing is computed for the others."""
        rigid = animation.track.bone_type == "rigid"
        return self._position_rbf.values(animation.transforms, rigid=rigid).astype(np.float32)

    @cached_property
    def _position_rbf(self) -> JointRbf:
        return self.rbf.take(np.arange(self.rank)) if self.n_normals else self.rbf

    def by_vertex(self) -> ColumnRows:
        """The columns that move positions, per vertex."""
        return self._rows

    @cached_property
    def _rows(self) -> ColumnRows:
        from osteon.deform.column_rows import ColumnRows  # compiled

        return ColumnRows.of(self.basis[: self.rank])

    @property
    def columns_per_vertex(self) -> Int32:
        """(v,) the number of columns that move each vertex, which vertex shaders have limits for."""
        return np.asarray(np.any(self.basis, axis=2).sum(axis=0), np.int32)

    @property
    def columns_per_normal(self) -> Int32:
        """(n,) the number of columns that move each normal."""
        if self.normal_basis is None:
            return np.zeros(self.basis.shape[1], np.int32)
        return np.asarray(np.any(self.normal_basis, axis=2).sum(axis=0), np.int32)

    def arrays(self) -> Arrays:
        """`basis`, perhaps `normal_basis`, packed or not, and the arrays of the RBF."""
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

    def truncate(self, rank: int) -> Self:
        """Only the first `rank` columns that move positions, and all that move normals only."""
        return self.take_columns(kept_columns(self.basis, rank))

    def take_columns(self, columns: Int64) -> Self:
        """Only the given columns, in that order."""
        return self._changed(lambda whole: np.ascontiguousarray(whole[columns]), self.rbf.take(columns))

    def without_normals(self, rank: int) -> Self:
        """The first `rank` columns, which move positions and no normals."""
        return self._with(self.basis[:rank], self.rbf.take(np.arange(rank)), None)

    def on_mesh(self, basis: Float32, normal_basis: Float32 | None) -> Self:
        """The same columns on another mesh, packed if these are."""
        return self._with(basis, self.rbf, normal_basis)

    def in_8_bits(self) -> Self:
        """The same with a packed basis."""
        whole = [columns for columns in (self.basis, self.normal_basis) if columns is not None]
        packed = tuple(PackedColumns.of(columns) for columns in whole)
        rounded = [columns.columns() for columns in packed]
        return type(self)(rounded[0], self.rbf, rounded[1] if len(rounded) > 1 else None, packed)

    @property
    def basis_bytes(self) -> int:
        """Stored bytes of all columns; in single precision, columns of zeros count nothing."""
        whole = [self.basis] if self.normal_basis is None else [self.basis, self.normal_basis]
        return sum(columns.n_bytes for columns in self.packed) or sum(
            int(column.nbytes) for columns in whole for column in columns if column.any()
        )

    def _changed(self, change: Callable[[Float32], Float32], rbf: JointRbf) -> Self:
        normals = None if self.normal_basis is None else change(self.normal_basis)
        return self._with(change(self.basis), rbf, normals)

    def _with(self, basis: Float32, rbf: JointRbf, normal_basis: Float32 | None) -> Self:
        """Other columns, packed if these are."""
        changed = type(self)(basis, rbf, normal_basis)
        return changed.in_8_bits() if self.packed else changed
