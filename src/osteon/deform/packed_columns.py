"""Columns of displacements in bytes: only vertices that a column moves, three bytes each and a scale.

    U_rv = n_rv scale_r / 127,     scale = peak_r 2^(-s / 16) for every `TOGETHER` vertices that follow each other

n is -127 … 127 and s a byte. Displacements fade out over a support; with one scale for all of a column their small
parts would be lost.

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

TOGETHER = 1
#: The largest number of steps, and how many scales there are from one to twice as much.
MOST, SCALES = 127, 16


@dataclass(frozen=True, slots=True)
class PackedColumns:
    """A basis (r,v,3) in bytes."""

    n_vertices: int
    moved: NDArray[np.uint8]  # (r,bytes) a bit for each vertex, set where the column moves it
    numbers: NDArray[np.int8]  # (n,3) n of these vertices, column after column
    scales: NDArray[np.uint8]  # (m,) s of every TOGETHER of them, beginning anew with each column
    peaks: Float32  # (r,)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "moved", checked("moved", self.moved, (None, -(-self.n_vertices // 8)), np.uint8))
        put(self, "peaks", checked("peaks", self.peaks, (len(self.moved),)))
        counts = self._bits().sum(axis=1)
        put(self, "numbers", checked("numbers", self.numbers, (int(counts.sum()), 3), np.int8))
        put(self, "scales", checked("scales", self.scales, (int((-(-counts // TOGETHER)).sum()),), np.uint8))
        if not (self.peaks >= 0).all():
            raise GeometryError("peaks: expected no negative numbers")

    @staticmethod
    def of(columns: FloatArray) -> PackedColumns:
        """Columns (r,v,3), rounded."""
        bits = np.any(columns, axis=2)
        peaks = np.abs(columns).max(axis=(1, 2), initial=0.0).astype(np.float32)
        counts = bits.sum(axis=1)
        block = _blocks(counts)
        vectors = columns[bits].astype(np.float64)
        largest = np.zeros(int(block.max(initial=-1)) + 1)
        np.maximum.at(largest, block, np.abs(vectors).max(axis=1, initial=0.0))
        peak = np.repeat(peaks.astype(np.float64), -(-counts // TOGETHER))
        with np.errstate(divide="ignore"):
            fine = np.floor(-SCALES * np.log2(np.minimum(largest / np.where(peak > 0, peak, 1.0), 1.0)))
        scales = np.clip(fine, 0, 255).astype(np.uint8)
        steps = _steps(peak, scales)[block]
        numbers = np.rint(vectors / steps[:, None]).clip(-MOST, MOST).astype(np.int8)
        return PackedColumns(columns.shape[1], np.packbits(bits, axis=1), numbers, scales, peaks)

    def columns(self) -> Float32:
        """(r,v,3)"""
        bits = self._bits()
        counts = bits.sum(axis=1)
        peak = np.repeat(self.peaks.astype(np.float64), -(-counts // TOGETHER))
        out = np.zeros((*bits.shape, 3), np.float32)
        out[bits] = self.numbers * _steps(peak, self.scales)[_blocks(counts)][:, None]
        return out

    def arrays(self, name: str) -> Arrays:
        """All of it, by names that begin with `name`."""
        found: Arrays = {"vertices": np.array(self.n_vertices), "moved": self.moved, "numbers": self.numbers}
        found |= {"scales": self.scales, "peaks": self.peaks}
        return {f"{name}_{key}": array for key, array in found.items()}

    @classmethod
    def from_arrays(cls, name: str, arrays: Mapping[str, NDArray[Any]]) -> Self:
        parts = [arrays[f"{name}_{key}"] for key in ("moved", "numbers", "scales", "peaks")]
        return cls(int(arrays[f"{name}_vertices"]), *parts)

    @property
    def n_bytes(self) -> int:
        return sum(int(array.nbytes) for array in self.arrays("").values())

    def _bits(self) -> Bool:
        return np.unpackbits(self.moved, axis=1, count=self.n_vertices).astype(bool)


def _blocks(counts: Int64) -> Int64:
    """(n,) the scale of each vertex, for columns that move so many."""
    blocks = -(-counts // TOGETHER)
    first = np.cumsum(blocks) - blocks
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(first, counts) + within // TOGETHER, np.int64)


def _steps(peak: Float64, scales: NDArray[np.uint8]) -> Float64:
    """(m,) what a number counts."""
    steps: Float64 = np.where(peak > 0, peak, 1.0) * 2.0 ** (-scales.astype(np.float64) / SCALES) / MOST
    return steps
