"""Deformers and displacements that glTF has no form for: arrays in accessors that only Osteon reads."""

from __future__ import annotations

import numpy as np

from osteon.core.deformer import Arrays
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.write.buffer import BufferWriter

__all__ = ["write_arrays"]


def write_arrays(kind: str, arrays: Arrays, buffer: BufferWriter) -> JsonObject:
    """The entry of something in `asset.extras.osteon`; whole numbers as 32 bits, others as float32, one an entry.

    glTF has no 32 bits with a sign: -1 is written as the largest number, and read back as -1.
    """
    entries = {}
    for name, array in arrays.items():
        flat = array.reshape(-1)
        stored = flat.astype(np.int32).view(np.uint32) if flat.dtype.kind in "iu" else flat.astype(np.float32)
        entries[name] = {"accessor": buffer.add(stored), "shape": list(array.shape)}
    return {"kind": kind, "arrays": entries}
