"""Filters of elements: unit vectors, rotations, real numbers or colours in few bits.

Decoding uses float32 and the order of operations of meshoptimizer, so that both return the same bits. NumPy does that
exactly; compiled loops may fuse and reorder sums.

Encoding stores a real number as an integer count of steps, and a step is a power of two, so only that rounding is lost.
For a unit vector the best of the four nearest grid points is taken, not the nearest in the folded square.

Based on: the glTF extensions EXT_meshopt_compression and KHR_meshopt_compression, appendix B.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, FloatArray

Bytes = NDArray[np.uint8]
Numbers = NDArray[Any]

#: Elements that are processed at once, so that intermediate values stay in the cache.
BLOCK = 1 << 13
#: Added to a float below 2^22 in size, it leaves the rounded integer in the lowest bits.
_SNAP = np.float32(3 << 22)
#: The scale of quaternions without their largest component in 16 bits: the others are at most the root of a half.
_LARGEST = np.float32(32767) / np.sqrt(np.float32(2))


def apply_filter(name: str, elements: Bytes) -> None:
    """Undo a filter in place, for `elements (count,stride)`."""
    with np.errstate(all="ignore"):  # elements that no encoder writes decode to arbitrary numbers
        for start in range(0, len(elements), BLOCK):
            block = elements[start : start + BLOCK]
            block[:] = FILTERS[name](block).view(np.uint8)


def _decode_unit_vectors(elements: Bytes) -> Numbers:
    """Octahedral: x and y of a vector folded onto a square, and the value of 1; the fourth component is unchanged."""
    kind = np.dtype("<i1" if elements.shape[1] == 4 else "<i2")
    stored = elements.view(kind)
    x, y, one = (stored[:, k].astype(np.float32) for k in range(3))
    z = one - np.abs(x) - np.abs(y)
    fold = np.minimum(z, np.float32(0))
    x, y = x - np.copysign(fold, x), y - np.copysign(fold, y)
    size = np.float32(np.iinfo(kind).max) / np.sqrt(x * x + (y * y + z * z))
    out = stored.copy()
    for k, values in enumerate((x, y, z)):
        out[:, k] = _to_integers(values * size, kind)
    return out


def _decode_rotations(elements: Bytes) -> Numbers:
    """Quaternions without their largest component; the fourth number is its index, and the value of 1."""
    stored = elements.view("<i2")
    one = (stored[:, 3] | 3).astype(np.float32)
    x, y, z = (stored[:, k].astype(np.float32) for k in range(3))
    w = np.sqrt(np.maximum(one * one * np.float32(2) - (x * x + (y * y + z * z)), np.float32(0)))
    scale = _LARGEST / one
    first_largest = np.empty(stored.shape, "<i2")
    for k, values in enumerate((w, x, y, z)):
        first_largest[:, k] = _to_integers(values * scale, first_largest.dtype)
    shift = (stored[:, 3:] & 3).astype(np.uint64) * np.uint64(16)
    whole = first_largest.view("<u8")
    return np.asarray(whole << shift | whole >> (np.uint64(64) - shift & np.uint64(63)))


def _decode_reals(elements: Bytes) -> Numbers:
    """Exponential: 8 bits of exponent and 24 of mantissa, both with a sign."""
    stored = elements.view("<i4")
    power = ((stored >> 24) + 127 << 23).view("<f4")
    mantissa = ((stored << 8) >> 8).astype("<f4")
    return np.asarray(power * mantissa)


def _decode_colors(elements: Bytes) -> Numbers:
    """Luma, orange and green (YCoCg); the highest bit of alpha determines the number of bits."""
    kind = np.dtype("<u1" if elements.shape[1] == 4 else "<u2")
    brightness = elements.view(kind)[:, 0].astype(np.int32)
    orange, green = (elements.view(f"<i{kind.itemsize}")[:, k].astype(np.int32) for k in (1, 2))
    alpha = elements.view(kind)[:, 3].astype(np.int32)
    most = (1 << np.frexp(alpha)[1]) - 1
    alpha = alpha & (most >> 1)
    red, blue = brightness + orange - green, brightness - orange - green
    scale = np.float32(np.iinfo(kind).max) / most.astype(np.float32)
    out = np.empty(elements.view(kind).shape, kind)
    for k, values in enumerate((red, brightness + green, blue, alpha << 1 | alpha & 1)):
        out[:, k] = _to_integers(values.astype(np.float32) * scale, kind)
    return out


def _to_integers(values: NDArray[np.float32], kind: np.dtype[Any]) -> Numbers:
    """Integers, halves rounded to even; a number that does not fit keeps its lowest bits."""
    return (values + _SNAP).view(np.int32).astype(kind)


#: Decoders by the name of the filter in files.
FILTERS: dict[str, Callable[[Bytes], Numbers]] = {
    "OCTAHEDRAL": _decode_unit_vectors,
    "QUATERNION": _decode_rotations,
    "EXPONENTIAL": _decode_reals,
    "COLOR": _decode_colors,
}


#: A mantissa has 24 bits, one of them a sign.
MOST_STEPS = (1 << 23) - 1
_STORED = {"OCTAHEDRAL": "<i1", "QUATERNION": "<i2", "EXPONENTIAL": "<f4"}


@dataclass(frozen=True, slots=True)
class Packing:
    """A filter and its precision."""

    filter: Literal["OCTAHEDRAL", "QUATERNION", "EXPONENTIAL"]
    bits: int = 8  # OCTAHEDRAL always 8; QUATERNION 4 … 16 per component; EXPONENTIAL: a step is 2^-bits
    together: int = 1  # rows of values that form one element of the stream

    @property
    def stored(self) -> np.dtype[np.generic]:
        """The type of the decoded numbers."""
        return np.dtype(_STORED[self.filter])


def encode_packed(values: FloatArray, packing: Packing) -> Bytes:
    """(n,stride) the filtered bytes of values (n,width)."""
    exact = np.asarray(values, np.float64)
    if packing.filter == "OCTAHEDRAL":
        return _encode_unit_vectors(exact)
    if packing.filter == "QUATERNION":
        return _encode_rotations(exact, packing.bits)
    return _encode_reals(exact, packing.bits)


def decode_packed(elements: Bytes, packing: Packing, width: int) -> NDArray[np.generic]:
    """(n,width) decoded values, as players have them."""
    found = elements.copy()
    apply_filter(packing.filter, found)
    return np.asarray(found.view(packing.stored)[:, :width])


def rounded(values: FloatArray, packing: Packing) -> NDArray[np.generic]:
    """(n,width) values after encoding and decoding; rotations are normalised integers."""
    return decode_packed(encode_packed(values, packing), packing, values.shape[1])


def _encode_unit_vectors(vectors: Float64) -> Bytes:
    """(n,4) x and y folded onto a square, the value of 1, and the fourth component of a tangent."""
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


def _encode_rotations(quaternions: Float64, bits: int) -> Bytes:
    """(n,8) quaternions without their largest component, which is made positive; its index and the value of 1."""
    one = (1 << (bits - 1)) - 1
    largest = np.abs(quaternions).argmax(axis=1)
    sign = np.where(np.take_along_axis(quaternions, largest[:, None], axis=1) < 0, -1.0, 1.0)
    others = (largest[:, None] + [1, 2, 3]) & 3
    scaled = np.take_along_axis(quaternions, others, axis=1) * sign * (np.sqrt(2.0) * one)
    out = np.empty((len(quaternions), 4), "<i2")
    out[:, :3] = np.rint(np.clip(scaled, -one, one))
    out[:, 3] = (one & ~3) | largest
    return out.view(np.uint8)


def _encode_reals(values: Float64, bits: int) -> Bytes:
    """(n,4 width) the exponent in the highest byte and the count of steps in the lower ones."""
    steps = np.clip(np.rint(np.ldexp(values, bits)), -MOST_STEPS, MOST_STEPS).astype(np.int64)
    stored = (steps & 0xFFFFFF) | ((-bits & 255) << 24)
    return np.ascontiguousarray(stored.astype("<u4")).view(np.uint8).reshape(len(values), -1)
