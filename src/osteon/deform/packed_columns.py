"""Columns of displacements in bytes: only vertices that a column moves, three bytes each and a scale.

    U_rv = n_rv peak_r 2^(-s_rv / 16) / 127

n is -127 … 127 and s a byte of every vertex that the column moves. Displacements fade out over a support; with one
scale for all of a column their small parts would be lost.

Notes, elastic hand, 24 columns, error in poses unseen over that of single precision: one scale a column 1.072, one an
axis 1.037, numbers to the power of 1.5 1.013, a scale for 64, 16, 8, 4 vertices 1.025, 1.014, 1.010, 1.008. With
columns that leave half as much four give 1.015, and one 1.007: a third of single precision for the same vertices, and
6 % of columns that hold all vertices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Bool, Float32, Float64, FloatArray, Int64, checked
from osteon.core.deformer import Arrays
from osteon.core.errors import GeometryError

__all__ = ["PackedColumns"]

#: Vertices that shared a scale in files of before.
ONCE_TOGETHER = 4
#: The largest number of steps, and how many scales there are from one to twice as much.
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
        """All of it, by names that begin with `name`."""
        found: Arrays = {"vertices": np.array(self.n_vertices), "moved": self.moved, "numbers": self.numbers}
        found |= {"scales": self.scales, "peaks": self.peaks}
        return {f"{name}_{key}": array for key, array in found.items()}

    @classmethod
    def from_arrays(cls, name: str, arrays: Mapping[str, NDArray[Any]]) -> Self:
        moved, numbers, scales, peaks = (arrays[f"{name}_{key}"] for key in ("moved", "numbers", "scales", "peaks"))
        n_vertices = int(arrays[f"{name}_vertices"])
        moved = checked("moved", moved, (None, -(-n_vertices // 8)), np.uint8)
        if len(scales) < len(numbers):
            scales = _each(scales, np.unpackbits(moved, axis=1, count=n_vertices).sum(axis=1, dtype=np.int64))
        return cls(n_vertices, moved, numbers, scales, peaks)

    @property
    def n_bytes(self) -> int:
        return sum(int(array.nbytes) for array in self.arrays("").values())

    def _bits(self) -> Bool:
        return np.unpackbits(self.moved, axis=1, count=self.n_vertices).astype(bool)

    def _counts(self) -> Int64:
        """(r,) vertices that each column moves."""
        return np.asarray(self._bits().sum(axis=1), np.int64)


def _each(scales: NDArray[np.uint8], counts: Int64) -> NDArray[np.uint8]:
    """(n,) the scale of each vertex, where some that follow each other in a column share one; as they are if not so."""
    shared = -(-counts // ONCE_TOGETHER)
    if len(scales) != int(shared.sum()):
        return scales
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(scales[np.repeat(np.cumsum(shared) - shared, counts) + within // ONCE_TOGETHER])


def _steps(peak: Float64, scales: NDArray[np.uint8]) -> Float64:
    """(n,) what a number counts."""
    steps: Float64 = np.where(peak > 0, peak, 1.0) * 2.0 ** (-scales.astype(np.float64) / SCALES) / MOST
    return steps
