"""A deformer that glTF has no form for: its arrays in accessors that only Osteon reads, one number an entry."""

from __future__ import annotations

import numpy as np

from osteon.core.deformer import Deformer
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.write.buffer import BufferWriter

__all__ = ["write_deformer"]


def write_deformer(deformer: Deformer, buffer: BufferWriter) -> JsonObject:
    """The entry of `asset.extras.osteon.deformer`; whole numbers as 32 bits, others as float32.

    glTF has no 32 bits with a sign: -1 is written as the largest number, and read back as -1.
    """
    arrays = {}
    for name, array in deformer.arrays().items():
        flat = array.reshape(-1)
        stored = flat.astype(np.int32).view(np.uint32) if flat.dtype.kind in "iu" else flat.astype(np.float32)
        arrays[name] = {"accessor": buffer.add(stored), "shape": list(array.shape)}
    return {"kind": deformer.kind, "arrays": arrays}
