"""The binary part of a glTF file, filled accessor by accessor, and the file around it.

Arrays that share a stride and a use share a buffer view, so that the JSON stays small. What is to be compressed is so
as a whole view, when the buffer is finished.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from osteon.core.errors import GeometryError
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.write.compressed_views import Packing, View, compress_views, encode_packed

__all__ = ["BufferWriter", "Use", "embed_bytes", "glb_bytes"]

#: Inverse bind matrices and keys of animations must not share a buffer view.
Use = Literal["vertices", "indices", "bind", "keys", "data"]

_COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
_KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
_TARGETS = {"vertices": 34962, "indices": 34963}


class BufferWriter:
    """Accessors and buffer views that grow; the only thing about the writer that changes."""

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
        """The number of a new accessor of values (count,) or (count, width); reals are stored as float32.

        With a `packing`, only in a buffer that is compressed, they are rounded as it says.
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
        """The number of the view for elements of this use, stride, filter and kind of number."""
        number = self._shared.setdefault((use, stride, name, kind), len(self._views))
        if number == len(self._views):
            self._views.append(View(use, stride, name))
        return number

    def add_bytes(self, data: bytes) -> int:
        """The number of a new buffer view of bytes that are no array."""
        self._views.append(View("bytes", 0, None, bytearray(data)))
        return len(self._views) - 1

    def finish(self) -> tuple[JsonObject, bytes]:
        """The buffer views, with other buffers than the first if there are any, and the buffer."""
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
    """The rows as the file holds them."""
    if rows.dtype.kind in "iu":
        return np.ascontiguousarray(rows, rows.dtype.newbyteorder("<"))
    with np.errstate(over="ignore"):
        stored = np.ascontiguousarray(rows, "<f4")
    if not np.isfinite(stored).all():
        raise GeometryError("the model moves farther than float32 reaches; scale it down")
    return stored


def _padded(rows: NDArray[Any], stride: int) -> bytes:
    """The bytes of the rows, each as long as the stride: every vertex starts at a multiple of four bytes."""
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
    """A .gltf: the JSON with the buffer in it."""
    uri = "data:application/octet-stream;base64," + base64.b64encode(buffer).decode("ascii")
    return _compact(root | {"buffers": [{"byteLength": len(buffer), "uri": uri}, *root.get("buffers", ())]})


def _compact(root: JsonObject) -> bytes:
    return json.dumps(root, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
