"""Arrays by name in accessors that only Osteon reads, one number an entry: whatever glTF itself has no place for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.write.buffer import BufferWriter

__all__ = ["write_arrays"]


def write_arrays(arrays: Mapping[str, NDArray[Any]], buffer: BufferWriter) -> JsonObject:
    """{name: {"accessor", "shape"}}; whole numbers as 32 bits, float32 as they are.

    glTF has no 32 bits with a sign: -1 is written as the largest number, and read back as -1. Nor has it 64 bits:
    such numbers are two of 32, the lower half first, and the entry says `"bits": 64`.
    """
    return {name: _entry(array, buffer) for name, array in arrays.items()}


def _entry(array: NDArray[Any], buffer: BufferWriter) -> JsonObject:
    flat = np.ascontiguousarray(array).reshape(-1)
    entry: JsonObject = {"shape": list(array.shape)}
    if flat.dtype == np.float64:
        return {"accessor": buffer.add(flat.astype("<f8").view("<u4"))} | entry | {"bits": 64}
    stored = flat.astype(np.int32).view(np.uint32) if flat.dtype.kind in "iu" else flat.astype(np.float32)
    return {"accessor": buffer.add(stored)} | entry
