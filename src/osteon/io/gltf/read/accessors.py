"""Buffer views and accessors: from the bytes of a file to typed arrays.

A buffer view may be compressed by meshopt; its declared size is checked against its data before memory is
allocated. Accessors have strides, normalised integers and sparse replacements. Named arrays are accessors that only
Osteon writes and reads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.core.character import Arrays
from osteon.io.gltf import JsonObject
from osteon.io.gltf.read.document import Document
from osteon.io.load.source import quote

#: Two names of one codec; the later one has more features, which are accepted under both.
MESHOPT_EXTENSIONS = ("EXT_meshopt_compression", "KHR_meshopt_compression")

#: First byte of a stream; for attributes it includes the version.
_STREAM_HEADS = {"ATTRIBUTES": (0xA0, 0xA1), "TRIANGLES": (0xE1,), "INDICES": (0xD1,)}
#: Bytes per element that each filter allows.
_STRIDES = {
    "OCTAHEDRAL": (4, 8),
    "QUATERNION": (8,),
    "EXPONENTIAL": tuple(range(4, 257, 4)),
    "COLOR": (4, 8),
    "NONE": tuple(range(4, 257, 4)),
}


@dataclass(frozen=True, slots=True)
class MeshoptStream:
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
    """The decompressed bytes of a view, (count,stride) as one row. Their size is checked first."""
    stream = _read_stream(document, compressed, what)
    size = stream.count * stream.stride
    if document.whole(view, "byteLength", what) != size:
        raise document.error(f"{what} declares {view['byteLength']} bytes but decompresses to {size}")
    if stream.least_bytes() > len(stream.data):
        raise document.error(f"{what} declares {stream.count} elements, more than its compressed data can hold")
    document.claim_unpacked(size, what)
    decoded = decode_stream(stream)
    if decoded is None:
        raise document.error(f"{what} is compressed with meshopt, and its data are damaged; export it again")
    return decoded.reshape(-1).data


def _read_stream(document: Document, entry: JsonObject, what: str) -> MeshoptStream:
    mode, filter_name = str(entry.get("mode")), str(entry.get("filter", "NONE"))
    if mode not in _STREAM_HEADS:
        raise document.error(f"{what} is compressed with meshopt in the unknown mode {quote(mode)}")
    if filter_name not in _STRIDES or (mode != "ATTRIBUTES" and filter_name != "NONE"):
        raise document.error(f"{what} is compressed with meshopt by the unknown filter {quote(filter_name)}")
    count, stride = document.whole(entry, "count", what), document.whole(entry, "byteStride", what)
    if stride not in (_STRIDES[filter_name] if mode == "ATTRIBUTES" else (2, 4)) or (mode == "TRIANGLES" and count % 3):
        raise document.error(f"{what} is compressed with meshopt: {count} elements of {stride} bytes do not fit {mode}")
    buffer = document.buffer(entry.get("buffer"), what)
    start, length = document.whole(entry, "byteOffset", what, 0), document.whole(entry, "byteLength", what)
    if not 0 < length <= len(buffer) - start:
        raise document.error(f"{what} is compressed with meshopt, and extends beyond the end of its buffer")
    data = np.frombuffer(buffer, np.uint8, length, start)
    if data[0] not in _STREAM_HEADS[mode]:
        raise document.error(f"{what} is compressed with meshopt, and its first byte is not that of {mode}")
    return MeshoptStream(data, mode, filter_name, count, stride)


def decode_stream(stream: MeshoptStream) -> NDArray[np.uint8] | None:
    """The decompressed elements as bytes, or None if the stream is damaged."""
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
    """Whether the table at the end of a stream of triangles refers to new and recent vertices only."""
    return bool(((table & 15) < 15).all() and (table < 0xF0).all() and not table[14:].any())


def read_view(document: Document, index: Any, what: str) -> memoryview:
    """The bytes of a view, decompressed if it is compressed; decompressed views are cached."""
    view = document.item("bufferViews", index, what)
    compressed = _meshopt_entry(document, view, what)
    if compressed is None:
        return _stored_bytes(document, view, what)
    if index not in document.unpacked_views:
        document.unpacked_views[index] = decode_view(document, view, compressed, what)
    return document.unpacked_views[index]


def _meshopt_entry(document: Document, view: JsonObject, what: str) -> JsonObject | None:
    extensions = document.object(view, "extensions", what)
    named = next((name for name in MESHOPT_EXTENSIONS if name in extensions), None)
    return None if named is None else document.object(extensions, named, what)


def _stored_bytes(document: Document, view: JsonObject, what: str) -> memoryview:
    data = document.buffer(view.get("buffer"), what)
    start, length = document.whole(view, "byteOffset", what, 0), document.whole(view, "byteLength", what)
    if start + length > len(data):
        raise document.error(f"{what} has a buffer view that is too short: it extends beyond the end of its buffer")
    return memoryview(data)[start : start + length]


_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


def read_floats(document: Document, index: Any, widths: tuple[int, ...], user: str) -> Float64:
    """(count, width) values of an accessor; normalised integers become -1 … 1 or 0 … 1."""
    entry = document.item("accessors", index, user)
    what = f"accessor {index} ({user})"
    return as_floats(document, entry, _read(document, entry, widths, what), what)


def as_floats(document: Document, entry: JsonObject, values: NDArray[Any], what: str) -> Float64:
    """Stored numbers as floats, normalised if the accessor `entry` is."""
    document.claim(8 * values.size, what)
    with np.errstate(invalid="ignore"):  # NaN is reported below
        floats: Float64 = values.astype(np.float64)
    declared = _component(document, entry, what)
    if entry.get("normalized") is True and values.dtype.kind in "iu" and declared.kind in "iu":
        floats = np.maximum(floats / np.iinfo(declared).max, -1.0)
    if not np.isfinite(floats).all():
        raise document.error(f"{what} holds NaN or infinity")
    return floats


def read_indices(
    document: Document, index: Any, widths: tuple[int, ...], user: str, *, from_floats: bool = False
) -> NDArray[np.int64]:
    """(count, width) non-negative integers of an accessor."""
    entry = document.item("accessors", index, user)
    what = f"accessor {index} ({user})"
    return as_indices(document, _read(document, entry, widths, what), what, from_floats=from_floats)


def as_indices(document: Document, values: NDArray[Any], what: str, *, from_floats: bool = False) -> NDArray[np.int64]:
    """Stored numbers as integers; `from_floats` accepts floats with integer values."""
    integral = from_floats and bool((np.abs(values) < 2**31).all() and (np.rint(values) == values).all())
    if values.dtype.kind == "f" and not integral:
        raise document.error(f"{what} holds floats, expected integers")
    document.claim(8 * values.size, what)
    if values.min(initial=0) < 0:
        raise document.error(f"{what} holds negative numbers, expected indices from 0")
    return values.astype(np.int64)


def _read(document: Document, entry: JsonObject, widths: tuple[int, ...], what: str) -> NDArray[Any]:
    width = _WIDTHS.get(str(entry.get("type")))
    if width is None or width not in widths:
        raise document.error(f"{what} is of type {quote(str(entry.get('type')))}, which does not fit its use")
    dtype = _component(document, entry, what)
    count = document.whole(entry, "count", what)
    if not count:
        raise document.error(f"{what} is empty")
    if "bufferView" in entry:
        values = _from_view(document, entry, dtype, (count, width), what)
    elif count > (stored := document.size()):  # zeros: the accessor cannot be longer than the data that go with it
        raise document.error(f"{what} declares {count} elements, but all buffers together have {stored} bytes")
    else:
        values = np.zeros((count, width), dtype)
    return _replaced(document, entry, values, what) if "sparse" in entry else values


def _component(document: Document, entry: JsonObject, what: str) -> np.dtype[Any]:
    code = document.enum(entry, "componentType")
    if code not in _COMPONENTS:
        raise document.error(f"{what} has the unknown componentType {quote(str(code))}")
    return np.dtype(_COMPONENTS[code])


def _from_view(
    document: Document, entry: JsonObject, dtype: np.dtype[Any], shape: tuple[int, int], what: str
) -> NDArray[Any]:
    """An array over the bytes of a buffer view, which must hold all of it."""
    view = document.item("bufferViews", entry["bufferView"], what)
    data = read_view(document, entry["bufferView"], what)
    offset = document.whole(entry, "byteOffset", what, 0)
    size = shape[1] * dtype.itemsize
    stride = document.whole(view, "byteStride", what, size) or size
    if stride < size:
        raise document.error(f"{what} has a byteStride of {stride}, shorter than its elements")
    if offset + (shape[0] - 1) * stride + size > len(data):
        raise document.error(f"{what} declares {shape[0]} elements but its buffer view is too short for them")
    return np.ndarray(shape, dtype, data, offset, (stride, dtype.itemsize))


def _replaced(document: Document, entry: JsonObject, values: NDArray[Any], what: str) -> NDArray[Any]:
    """The values with those replaced that the sparse part of the accessor lists."""
    sparse = document.object(entry, "sparse", what)
    count = document.whole(sparse, "count", what)
    if count > len(values):
        raise document.error(f"{what} replaces {count} of {len(values)} elements")
    if not count:
        return values
    indices = document.object(sparse, "indices", what)
    replacements = document.object(sparse, "values", what)
    if "bufferView" not in indices or "bufferView" not in replacements:
        raise document.error(f"the sparse part of {what} has no data")
    dtype = _component(document, indices, what)
    stored = _from_view(document, indices, dtype, (count, 1), what)
    at = as_indices(document, stored, f"the sparse part of {what}", from_floats=True)[:, 0]
    if at.max() >= len(values):
        raise document.error(f"the sparse part of {what} replaces an element that does not exist")
    out = values.copy()
    out[at] = _from_view(document, replacements, values.dtype, (count, values.shape[1]), what)
    return out


#: Component types of unsigned integers of 8, 16 and 32 bits.
UNSIGNED = (5121, 5123, 5125)


def read_arrays(document: Document, entries: JsonObject, owner: str) -> Arrays:
    """The arrays that `write_arrays` wrote; integers have a sign again."""
    return {name: _named_array(document, value, f"'{name}' of {owner}") for name, value in entries.items()}


def _named_array(document: Document, value: Any, user: str) -> NDArray[Any]:
    shape = value.get("shape") if isinstance(value, dict) else None
    if not isinstance(shape, list) or not all(type(size) is int and 0 <= size < 2**31 for size in shape):
        raise document.error(f"{user} has no shape; write the file again")
    accessor = document.item("accessors", value.get("accessor"), user)
    whole, double = accessor.get("componentType") in UNSIGNED, value.get("bits") == 64
    flat = (read_indices if whole else read_floats)(document, value["accessor"], (1,), user)[:, 0]
    if len(flat) != math.prod(shape) * (2 if double else 1) or (double and not whole):
        raise document.error(f"{user} has {len(flat)} numbers for the shape {tuple(shape)}; write the file again")
    if value.get("bits") == 16:
        if not whole or flat.max(initial=0) > np.iinfo(np.uint16).max:
            raise document.error(f"{user} has no numbers in half precision; write the file again")
        return flat.astype("<u2").view("<f2").reshape(shape)
    if double:
        return flat.astype("<u4").view("<f8").reshape(shape)
    # An unsigned number beyond the range of int32 would be no index anyway.
    return flat.astype(np.uint32).view(np.int32).reshape(shape) if whole else flat.reshape(shape).astype(np.float32)
