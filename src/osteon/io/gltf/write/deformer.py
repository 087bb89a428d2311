"""A deformer that glTF has no form for: its arrays in accessors that only Osteon reads."""

from __future__ import annotations

from osteon.core.deformer import Deformer
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.write.buffer import BufferWriter
from osteon.io.gltf.write.named_arrays import write_arrays

__all__ = ["write_deformer"]


def write_deformer(deformer: Deformer, buffer: BufferWriter) -> JsonObject:
    """The entry of `asset.extras.osteon.deformer`."""
    return {"kind": deformer.kind, "arrays": write_arrays(deformer.arrays(), buffer)}
