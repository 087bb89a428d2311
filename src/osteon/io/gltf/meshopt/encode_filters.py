"""Numbers in few bits before they are encoded: unit vectors, rotations, real numbers. `filters` is the way back.

A real number is stored as a whole number of steps, and a step is a power of two, so nothing but that rounding is lost.
Of a unit vector the best of the four nearest points of the grid is taken, not the nearest in the folded square.

Based on: the glTF extension EXT_meshopt_compression, appendix B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, FloatArray
from osteon.io.gltf.meshopt.filters import apply_filter

__all__ = ["Packing", "decode_packed", "encode_packed", "rounded"]

Bytes = NDArray[np.uint8]

#: A mantissa has 24 bits, one of them a sign.
MOST_STEPS = (1 << 23) - 1
_STORED = {"OCTAHEDRAL": "<i1", "QUATERNION": "<i2", "EXPONENTIAL": "<f4"}


@dataclass(frozen=True, slots=True)
class Packing:
    """A filter and how fine it is."""

    filter: Literal["OCTAHEDRAL", "QUATERNION", "EXPONENTIAL"]
    bits: int = 8  # OCTAHEDRAL always 8; QUATERNION 4 … 16 a number; EXPONENTIAL: a step is 2^-bits
    together: int = 1  # rows of values that make one element of the stream

    @property
    def stored(self) -> np.dtype[np.generic]:
        """What the numbers are once they are read."""
        return np.dtype(_STORED[self.filter])


def encode_packed(values: FloatArray, packing: Packing) -> Bytes:
    """(n,stride) the bytes that the filter makes of values (n,width)."""
    exact = np.asarray(values, np.float64)
    if packing.filter == "OCTAHEDRAL":
        return _unit_vectors(exact)
    if packing.filter == "QUATERNION":
        return _rotations(exact, packing.bits)
    return _real_numbers(exact, packing.bits)


def decode_packed(elements: Bytes, packing: Packing, width: int) -> NDArray[np.generic]:
    """(n,width) what a player makes of them."""
    found = elements.copy()
    apply_filter(packing.filter, found)
    return np.asarray(found.view(packing.stored)[:, :width])


def rounded(values: FloatArray, packing: Packing) -> NDArray[np.generic]:
    """(n,width) values as a player has them, normalised integers of rotations as integers."""
    return decode_packed(encode_packed(values, packing), packing, values.shape[1])


def _unit_vectors(vectors: Float64) -> Bytes:
    """(n,4) x and y folded onto a square, what 1 is, and the fourth number of a tangent."""
    one = 127.0
    x, y, z = vectors[:, :3].T / np.maximum(np.abs(vectors[:, :3]).sum(axis=1), np.finfo(np.float64).tiny)
    side_x, side_y = np.where(x < 0, -1.0, 1.0), np.where(y < 0, -1.0, 1.0)
    below = z < 0
    folded = np.where(below, [(1 - np.abs(y)) * side_x, (1 - np.abs(x)) * side_y], [x, y]).T * one
    out = np.zeros((len(vectors), 4), np.int8)
    out[:, 2] = int(one)
    if vectors.shape[1] == 4:
        out[:, 3] = np.rint(np.clip(vectors[:, 3], -1, 1) * one)
    best = np.full(len(vectors), -np.inf)
    for corner in np.array([[0, 0], [0, 1], [1, 0], [1, 1]]):
        tried = out.copy()
        tried[:, :2] = np.clip(np.floor(folded) + corner, -one, one)
        shown = decode_packed(tried.view(np.uint8), Packing("OCTAHEDRAL"), 3).astype(np.float64)
        near = (shown * vectors[:, :3]).sum(axis=1) / np.maximum(np.linalg.norm(shown, axis=1), 1)
        out[near > best] = tried[near > best]
        best = np.maximum(best, near)
    return out.view(np.uint8)


def _rotations(turns: Float64, bits: int) -> Bytes:
    """(n,8) three numbers of a quaternion, and which is missing, the largest, made positive, with what 1 is."""
    one = (1 << (bits - 1)) - 1
    largest = np.abs(turns).argmax(axis=1)
    sign = np.where(np.take_along_axis(turns, largest[:, None], axis=1) < 0, -1.0, 1.0)
    others = (largest[:, None] + [1, 2, 3]) & 3
    scaled = np.take_along_axis(turns, others, axis=1) * sign * (np.sqrt(2.0) * one)
    out = np.empty((len(turns), 4), "<i2")
    out[:, :3] = np.rint(np.clip(scaled, -one, one))
    out[:, 3] = (one & ~3) | largest
    return out.view(np.uint8)


def _real_numbers(values: Float64, bits: int) -> Bytes:
    """(n,4 width) the exponent in the highest byte and whole steps below."""
    steps = np.clip(np.rint(np.ldexp(values, bits)), -MOST_STEPS, MOST_STEPS).astype(np.int64)
    stored = (steps & 0xFFFFFF) | ((-bits & 255) << 24)
    return np.ascontiguousarray(stored.astype("<u4")).view(np.uint8).reshape(len(values), -1)
