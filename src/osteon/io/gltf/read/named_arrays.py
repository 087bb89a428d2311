"""Arrays by name that Osteon stored in accessors of its own, read with the distrust of any input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.deformer import Arrays
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.read.accessors import read_floats, read_indices
from osteon.io.gltf.read.document import Document

__all__ = ["read_arrays"]

#: glTF's numbers for 8, 16 and 32 bits without sign.
WHOLE_NUMBERS = (5121, 5123, 5125)


def read_arrays(document: Document, entries: JsonObject, owner: str) -> Arrays:
    """What `write_arrays` wrote; whole numbers have a sign again."""
    return {name: _array(document, value, f"'{name}' of {owner}") for name, value in entries.items()}


def _array(document: Document, value: Any, user: str) -> NDArray[Any]:
    shape = value.get("shape") if isinstance(value, dict) else None
    if not isinstance(shape, list) or not all(type(size) is int and 0 <= size < 2**31 for size in shape):
        raise document.error(f"{user} has no shape; write the file again")
    accessor = document.item("accessors", value.get("accessor"), user)
    whole, double = accessor.get("componentType") in WHOLE_NUMBERS, value.get("bits") == 64
    flat = (read_indices if whole else read_floats)(document, value["accessor"], (1,), user)[:, 0]
    if len(flat) != math.prod(shape) * (2 if double else 1) or (double and not whole):
        raise document.error(f"{user} has {len(flat)} numbers for the shape {tuple(shape)}; write the file again")
    if double:
        return flat.astype("<u4").view("<f8").reshape(shape)
    # One without a sign that large would be no index anyway.
    return flat.astype(np.uint32).view(np.int32).reshape(shape) if whole else flat.reshape(shape).astype(np.float32)
