"""Compressed buffer views: what the file says of one is checked against its data before anything is made of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.read.document import Document
from osteon.io.load.source import quote

__all__ = ["EXTENSIONS", "decode_view"]

#: Two names of one codec; the later one has more, which is read under both.
EXTENSIONS = ("EXT_meshopt_compression", "KHR_meshopt_compression")

#: First byte of a stream; of attributes it says the version too.
_HEADS = {"ATTRIBUTES": (0xA0, 0xA1), "TRIANGLES": (0xE1,), "INDICES": (0xD1,)}
#: Bytes that elements can have, by filter.
_STRIDES = {
    "OCTAHEDRAL": (4, 8),
    "QUATERNION": (8,),
    "EXPONENTIAL": tuple(range(4, 257, 4)),
    "COLOR": (4, 8),
    "NONE": tuple(range(4, 257, 4)),
}


@dataclass(frozen=True, slots=True)
class _Stream:
    """A compressed view as its file describes it."""

    data: NDArray[np.uint8]
    mode: str
    filter: str
    count: int
    stride: int

    @property
    def version(self) -> int:
        return int(self.data[0]) & 15

    def least_bytes(self) -> int:
        """The shortest stream that can hold the elements."""
        if self.mode == "TRIANGLES":
            return 1 + self.count // 3 + 16
        if self.mode == "INDICES":
            return 1 + self.count + 4
        most = min((8192 // self.stride) & ~15, 256)
        if self.version:
            return 1 + -(-self.count // most) * self.stride // 4 + max(self.stride + self.stride // 4, 24)
        return 1 + -(-self.count // 64) * self.stride + max(self.stride, 32)


def decode_view(document: Document, view: JsonObject, compressed: JsonObject, what: str) -> memoryview:
    """The bytes of a view, (count,stride) in a row. Its size is claimed first."""
    stream = _read_stream(document, compressed, what)
    size = stream.count * stream.stride
    if document.whole(view, "byteLength", what) != size:
        raise document.error(f"{what} promises {view['byteLength']} bytes but unpacks to {size}")
    if stream.least_bytes() > len(stream.data):
        raise document.error(f"{what} promises {stream.count} elements, more than its compressed data can hold")
    document.claim_unpacked(size, what)
    decoded = _decode(stream)
    if decoded is None:
        raise document.error(f"{what} is compressed with meshopt, and its data are damaged; export it again")
    return decoded.reshape(-1).data


def _read_stream(document: Document, entry: JsonObject, what: str) -> _Stream:
    mode, filter_name = str(entry.get("mode")), str(entry.get("filter", "NONE"))
    if mode not in _HEADS:
        raise document.error(f"{what} is compressed with meshopt in the unknown mode {quote(mode)}")
    if filter_name not in _STRIDES or (mode != "ATTRIBUTES" and filter_name != "NONE"):
        raise document.error(f"{what} is compressed with meshopt by the unknown filter {quote(filter_name)}")
    count, stride = document.whole(entry, "count", what), document.whole(entry, "byteStride", what)
    if stride not in (_STRIDES[filter_name] if mode == "ATTRIBUTES" else (2, 4)) or (mode == "TRIANGLES" and count % 3):
        raise document.error(f"{what} is compressed with meshopt: {count} elements of {stride} bytes do not fit {mode}")
    buffer = document.buffer(entry.get("buffer"), what)
    start, length = document.whole(entry, "byteOffset", what, 0), document.whole(entry, "byteLength", what)
    if not 0 < length <= len(buffer) - start:
        raise document.error(f"{what} is compressed with meshopt, and lies beyond the end of its buffer")
    data = np.frombuffer(buffer, np.uint8, length, start)
    if data[0] not in _HEADS[mode]:
        raise document.error(f"{what} is compressed with meshopt, and its data do not begin as {mode} do")
    return _Stream(data, mode, filter_name, count, stride)


def _decode(stream: _Stream) -> NDArray[np.uint8] | None:
    """The elements as bytes, or None if the stream is damaged."""
    # compiled: not needed to import the formats
    from osteon.io.gltf.meshopt.attributes import decode_attributes
    from osteon.io.gltf.meshopt.filters import apply_filter
    from osteon.io.gltf.meshopt.indices import decode_indices, decode_triangles

    if stream.mode == "ATTRIBUTES":
        words = stream.stride // 4
        numbers = np.empty(stream.count * words, np.uint32)
        if not decode_attributes(stream.data, stream.version, words, numbers):
            return None
        elements = numbers.astype("<u4", copy=False).view(np.uint8).reshape(stream.count, stream.stride)
        if stream.filter != "NONE":
            apply_filter(stream.filter, elements)
        return elements
    indices = np.empty(stream.count, np.uint32)
    if stream.mode == "INDICES":
        whole = decode_indices(stream.data, indices)
    else:
        whole = _table_fits(stream.data[-16:]) and decode_triangles(stream.data, indices.reshape(-1, 3))
    return indices.astype(f"<u{stream.stride}").view(np.uint8) if whole else None


def _table_fits(table: NDArray[np.uint8]) -> bool:
    """The table at the end of triangles names new and recent vertices only."""
    return bool(((table & 15) < 15).all() and (table < 0xF0).all() and not table[14:].any())
