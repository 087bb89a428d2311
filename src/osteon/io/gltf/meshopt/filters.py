"""What decoded elements stand for: unit vectors, rotations, real numbers or colours in few bits.

All in float32 and in the order of operations that meshoptimizer has, so that both give the same bits. NumPy does that
exactly; compiled loops may join and reorder sums.

Based on: the glTF extensions EXT_meshopt_compression and KHR_meshopt_compression, appendix B.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FILTERS", "apply_filter"]

Bytes = NDArray[np.uint8]
Numbers = NDArray[Any]

#: Elements that are worked on at once, so that what is made of them stays near the processor.
BLOCK = 1 << 13
#: Added to a number of up to 22 bits, it leaves the whole number in the lowest bits.
_SNAP = np.float32(3 << 22)
#: What 1 of a quaternion without its largest number is as 16 bits: the others are no larger than a root of a half.
_LARGEST = np.float32(32767) / np.sqrt(np.float32(2))


def apply_filter(name: str, elements: Bytes) -> None:
    """Make `elements (count,stride)` what they were before the filter."""
    with np.errstate(all="ignore"):  # what no encoder writes comes out as some number
        for start in range(0, len(elements), BLOCK):
            block = elements[start : start + BLOCK]
            block[:] = FILTERS[name](block).view(np.uint8)


def _unit_vectors(elements: Bytes) -> Numbers:
    """Octahedral: x and y of a vector folded onto a square, and what 1 is; the fourth number stays."""
    kind = np.dtype("<i1" if elements.shape[1] == 4 else "<i2")
    stored = elements.view(kind)
    x, y, one = (stored[:, k].astype(np.float32) for k in range(3))
    z = one - np.abs(x) - np.abs(y)
    fold = np.minimum(z, np.float32(0))
    x, y = x - np.copysign(fold, x), y - np.copysign(fold, y)
    size = np.float32(np.iinfo(kind).max) / np.sqrt(x * x + (y * y + z * z))
    out = stored.copy()
    for k, values in enumerate((x, y, z)):
        out[:, k] = _rounded(values * size, kind)
    return out


def _rotations(elements: Bytes) -> Numbers:
    """Quaternions without their largest number, which is found from the others; the last says which, and what 1 is."""
    stored = elements.view("<i2")
    one = (stored[:, 3] | 3).astype(np.float32)
    x, y, z = (stored[:, k].astype(np.float32) for k in range(3))
    w = np.sqrt(np.maximum(one * one * np.float32(2) - (x * x + (y * y + z * z)), np.float32(0)))
    scale = _LARGEST / one
    first_largest = np.empty(stored.shape, "<i2")
    for k, values in enumerate((w, x, y, z)):
        first_largest[:, k] = _rounded(values * scale, first_largest.dtype)
    turn = (stored[:, 3:] & 3).astype(np.uint64) * np.uint64(16)
    whole = first_largest.view("<u8")
    return np.asarray(whole << turn | whole >> (np.uint64(64) - turn & np.uint64(63)))


def _real_numbers(elements: Bytes) -> Numbers:
    """Exponential: 8 bits of exponent and 24 of mantissa, both with a sign."""
    stored = elements.view("<i4")
    power = ((stored >> 24) + 127 << 23).view("<f4")
    mantissa = ((stored << 8) >> 8).astype("<f4")
    return np.asarray(power * mantissa)


def _colors(elements: Bytes) -> Numbers:
    """Brightness, orange and green; the highest bit of alpha says how many bits there are."""
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
        out[:, k] = _rounded(values.astype(np.float32) * scale, kind)
    return out


def _rounded(values: NDArray[np.float32], kind: np.dtype[Any]) -> Numbers:
    """Whole numbers, halves to the even one; what does not fit keeps its lowest bits."""
    return (values + _SNAP).view(np.int32).astype(kind)


#: By the name that files have for it.
FILTERS: dict[str, Callable[[Bytes], Numbers]] = {
    "OCTAHEDRAL": _unit_vectors,
    "QUATERNION": _rotations,
    "EXPONENTIAL": _real_numbers,
    "COLOR": _colors,
}
