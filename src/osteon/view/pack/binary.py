"""The bytes of a pack: a header in JSON, then arrays that go to the graphics card as they are.

    "OSTP", u32 version, u32 bytes of the JSON; the JSON, padded with spaces so that the data begins at a multiple of
    16; the arrays, each at a multiple of 16 from the beginning of the data. All numbers are little-endian.

`engine/pack.js` of the page reads this. What may be in it says `schema.json`.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.deformer import Arrays
from osteon.view.pack.schema import VERSION, check_pack

__all__ = ["pack_pieces", "read_arrays"]

MAGIC = b"OSTP"
ALIGNMENT = 16
_HEAD = "<4sII"


def pack_pieces(header: dict[str, Any], arrays: Arrays) -> Iterator[bytes]:
    """A header and arrays in the form of a pack, piece by piece; what the schema does not know is refused."""
    places: dict[str, Any] = {}
    offset = 0
    for name, array in arrays.items():
        places[name] = {"dtype": array.dtype.str[1:], "shape": list(array.shape), "offset": offset}
        offset += _aligned(array.nbytes)
    header = {**header, "arrays": places}
    check_pack(header, arrays)
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    start = struct.calcsize(_HEAD)
    text = text.ljust(_aligned(start + len(text)) - start)
    yield struct.pack(_HEAD, MAGIC, VERSION, len(text)) + text
    for array in arrays.values():
        yield np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        yield bytes(_aligned(array.nbytes) - array.nbytes)


def read_arrays(path: Path, names: Collection[str]) -> Arrays:
    """Some arrays of a pack that this program wrote; those that it does not have are left out."""
    start = struct.calcsize(_HEAD)
    with path.open("rb") as file:
        _, _, length = struct.unpack(_HEAD, file.read(start))
        header = json.loads(file.read(length))
    held = {name: header["arrays"][name] for name in names if name in header["arrays"]}
    return {
        name: np.fromfile(
            path, "<" + place["dtype"], math.prod(place["shape"]), offset=start + length + place["offset"]
        ).reshape(place["shape"])
        for name, place in held.items()
    }


def _aligned(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT
