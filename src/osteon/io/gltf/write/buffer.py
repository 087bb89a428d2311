"""The binary part of a glTF file, filled accessor by accessor, and the file around it.

Arrays that share a stride and a use share a buffer view, so that the JSON stays small. In a compressed file
(EXT_meshopt_compression) each view becomes the shortest stream that its use allows, when the buffer is finished. A
program without the extension would need the uncompressed data in a second buffer; there are none, so the extension is
required, and the second buffer only states their length.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from osteon.core.errors import GeometryError
from osteon.io.gltf import JsonObject
from osteon.io.gltf.meshopt.filters import Packing, encode_packed

__all__ = [
    "MESHOPT",
    "BufferWriter",
    "Packing",
    "Use",
    "View",
    "compress_views",
    "embed_bytes",
    "encode_packed",
    "glb_bytes",
    "write_arrays",
]


MESHOPT = "EXT_meshopt_compression"
#: Elements of more bytes than this, or of a number that is no multiple of four, are not compressed.
MOST_STRIDE = 256
#: Differences of integers from here on exceed what the codec of indices can represent.
MOST_INDEX = 1 << 29


@dataclass(frozen=True, slots=True)
class View:
    """Bytes of one use, stride and filter."""

    use: str
    stride: int = 0  # of an element; 0 if elements differ
    filter: str | None = None
    data: bytearray = field(default_factory=bytearray)

    def described(self, targets: Mapping[str, int]) -> JsonObject:
        """The JSON of any view of this use: its stride and target."""
        entry: JsonObject = {"byteStride": self.stride} if self.use == "vertices" else {}
        return entry | ({"target": targets[self.use]} if self.use in targets else {})


def compress_views(views: Sequence[View], targets: Mapping[str, int]) -> tuple[JsonObject, bytes]:
    """The JSON of the views and of the second buffer, and the bytes of the first buffer."""
    entries: list[JsonObject] = []
    buffer, unpacked = bytearray(), 0
    for view in views:
        mode, stream = _shortest_stream(view)
        place: JsonObject = {"buffer": 0, "byteOffset": len(buffer), "byteLength": len(stream)}
        buffer += stream + b"\0" * (-len(stream) % 4)
        if mode is None:
            entries.append(place | view.described(targets))
            continue
        place |= {"byteStride": view.stride, "count": len(view.data) // view.stride, "mode": mode}
        place |= {} if view.filter is None else {"filter": view.filter}
        entry: JsonObject = {"buffer": 1, "byteOffset": unpacked, "byteLength": len(view.data)}
        entries.append(entry | view.described(targets) | {"extensions": {MESHOPT: place}})
        unpacked += len(view.data) + -len(view.data) % 4
    found: JsonObject = {"bufferViews": entries}
    if unpacked:
        found["buffers"] = [{"byteLength": unpacked, "extensions": {MESHOPT: {"fallback": True}}}]
    return found, bytes(buffer)


def _shortest_stream(view: View) -> tuple[str | None, bytes]:
    """The mode and its stream; None and the uncompressed bytes if they cannot be compressed."""
    # compiled: not needed to import the formats
    from osteon.io.gltf.meshopt.attributes import encode_attributes
    from osteon.io.gltf.meshopt.indices import encode_indices, encode_triangles

    if view.use == "indices":
        corners = np.frombuffer(view.data, f"<u{view.stride}").astype(np.uint32).reshape(-1, 3)
        return "TRIANGLES", encode_triangles(corners)
    if not view.data or view.stride not in range(4, MOST_STRIDE + 1, 4):
        return None, bytes(view.data)
    elements: NDArray[np.uint8] = np.frombuffer(view.data, np.uint8).reshape(-1, view.stride)
    streams = [("ATTRIBUTES", encode_attributes(elements))]
    numbers = elements.view("<u4").reshape(-1)
    if view.use == "data" and view.stride == 4 and numbers.max() < MOST_INDEX:
        streams.append(("INDICES", encode_indices(numbers.astype(np.uint32))))
    return min(streams, key=lambda named: len(named[1]))


#: The use of an accessor. Inverse bind matrices and keys of animations must not share a buffer view.
Use = Literal["vertices", "indices", "bind", "keys", "data"]

_COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
_KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
_TARGETS = {"vertices": 34962, "indices": 34963}


class BufferWriter:
    """The accessors and buffer views of a file, to which data are appended."""

    def __init__(self, compress: bool = False) -> None:
        self._compress = compress
        self._views: list[View] = []
        self._shared: dict[tuple[str, int, str | None, str], int] = {}
        self.accessors: list[JsonObject] = []

    def add(
        self,
        values: NDArray[Any],
        use: Use = "data",
        *,
        normalized: bool = False,
        bounds: bool = False,
        packing: Packing | None = None,
    ) -> int:
        """The index of a new accessor of values (count,) or (count, width); floats are stored as float32.

        A `packing`, only in a compressed buffer, rounds them.
        """
        rows = _stored(values.reshape(len(values), -1))
        size = rows.dtype.itemsize * rows.shape[1]
        stride = 4 * -(-size // 4) if use == "vertices" else size if self._compress else 0
        data, kind = _padded(rows, stride), rows.dtype
        if packing is not None:
            elements = encode_packed(rows.reshape(-1, rows.shape[1] * packing.together), packing)
            data, kind, stride = elements.tobytes(), packing.stored, elements.shape[1]
        view = self._view(use, stride, None if packing is None else packing.filter, kind.str if self._compress else "")
        stored = self._views[view].data
        entry: JsonObject = {"bufferView": view} | ({"byteOffset": len(stored)} if stored else {})
        entry |= {"componentType": _COMPONENTS[kind.str[1:]], "count": len(rows), "type": _KINDS[rows.shape[1]]}
        if normalized:
            entry["normalized"] = True
        if bounds:
            entry |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        stored += data if self._compress else data + b"\0" * (-len(data) % 4)
        self.accessors.append(entry)
        return len(self.accessors) - 1

    def _view(self, use: Use, stride: int, name: str | None, kind: str) -> int:
        """The index of the view for elements of this use, stride, filter and component type."""
        number = self._shared.setdefault((use, stride, name, kind), len(self._views))
        if number == len(self._views):
            self._views.append(View(use, stride, name))
        return number

    def add_bytes(self, data: bytes) -> int:
        """The index of a new buffer view of bytes that are no array."""
        self._views.append(View("bytes", 0, None, bytearray(data)))
        return len(self._views) - 1

    def finish(self) -> tuple[JsonObject, bytes]:
        """The JSON of the buffer views and of any further buffers, and the bytes of the first buffer."""
        if self._compress:
            return compress_views(self._views, _TARGETS)
        entries: list[JsonObject] = []
        buffer = bytearray()
        for view in self._views:
            entry: JsonObject = {"buffer": 0} | ({"byteOffset": len(buffer)} if buffer else {})
            entry["byteLength"] = len(view.data)
            entries.append(entry | view.described(_TARGETS))
            buffer += view.data + b"\0" * (-len(view.data) % 4)
        return {"bufferViews": entries}, bytes(buffer)


def _stored(rows: NDArray[Any]) -> NDArray[Any]:
    """The rows in little-endian order, floats as float32."""
    if rows.dtype.kind in "iu":
        return np.ascontiguousarray(rows, rows.dtype.newbyteorder("<"))
    with np.errstate(over="ignore"):
        stored = np.ascontiguousarray(rows, "<f4")
    if not np.isfinite(stored).all():
        raise GeometryError("the model moves beyond the range of float32; scale it down")
    return stored


def _padded(rows: NDArray[Any], stride: int) -> bytes:
    """The bytes of the rows, padded to the stride: every vertex starts at a multiple of four bytes."""
    size = rows.dtype.itemsize * rows.shape[1]
    if stride in (0, size):
        return rows.tobytes()
    wide = np.zeros((len(rows), stride), np.uint8)
    wide[:, :size] = rows.view(np.uint8).reshape(len(rows), size)
    return wide.tobytes()


def glb_bytes(root: JsonObject, buffer: bytes) -> bytes:
    """A .glb: the JSON and one binary chunk."""
    text = _compact(root | {"buffers": [{"byteLength": len(buffer)}, *root.get("buffers", ())]})
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(buffer), 0x004E4942) + buffer
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def embed_bytes(root: JsonObject, buffer: bytes) -> bytes:
    """A .gltf: the JSON with an embedded buffer."""
    uri = "data:application/octet-stream;base64," + base64.b64encode(buffer).decode("ascii")
    return _compact(root | {"buffers": [{"byteLength": len(buffer), "uri": uri}, *root.get("buffers", ())]})


def _compact(root: JsonObject) -> bytes:
    return json.dumps(root, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def write_arrays(arrays: Mapping[str, NDArray[Any]], buffer: BufferWriter) -> JsonObject:
    """Write arrays for Osteon alone: {name: {"accessor", "shape"}}, integers with 32 bits, floats as float32.

    glTF has no signed integers of 32 bits: -1 is written as the largest number, and read as -1. Nor has it 64 bits:
    such numbers are two of 32, the lower half first, and the entry has `"bits": 64`. Numbers in half precision are
    written as whole numbers of the same bits, with `"bits": 16`.
    """
    return {name: _named_array(array, buffer) for name, array in arrays.items()}


def _named_array(array: NDArray[Any], buffer: BufferWriter) -> JsonObject:
    flat = np.ascontiguousarray(array).reshape(-1)
    entry: JsonObject = {"shape": list(array.shape)}
    if flat.dtype == np.float64:
        return {"accessor": buffer.add(flat.astype("<f8").view("<u4"))} | entry | {"bits": 64}
    if flat.dtype == np.float16:
        return {"accessor": buffer.add(flat.astype("<f2").view("<u2"))} | entry | {"bits": 16}
    stored = flat.astype(np.int32).view(np.uint32) if flat.dtype.kind in "iu" else flat.astype(np.float32)
    return {"accessor": buffer.add(stored)} | entry
