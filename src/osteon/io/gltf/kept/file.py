"""A glTF document that grows: accessors and buffer views are added at the end, and one file holds the result.

Buffers keep their bytes; what is new follows those of the first one. Buffers and pictures that lie in files of their
own come into the file, so that it can be moved.
"""

from __future__ import annotations

import base64
import mimetypes
import struct
from copy import deepcopy
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.kept.json_text import write_changes, write_json
from osteon.io.gltf.read.addresses import read_address
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.write.buffer import BufferWriter, Use

__all__ = ["KeptFile"]


class KeptFile:
    """The JSON of a document, to be changed, and what is added to its first buffer."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.root: JsonObject = deepcopy(document.root)
        self._added = BufferWriter()
        self._accessors = len(document.items("accessors"))
        self._views = len(document.items("bufferViews"))
        self._times: dict[bytes, int] = {}

    def items(self, key: str) -> list[JsonObject]:
        """A top-level list, made where there is none."""
        found: list[JsonObject] = self.root.setdefault(key, [])
        return found

    def append(self, key: str, entry: JsonObject) -> int:
        """The number of a new entry of a top-level list."""
        self.items(key).append(entry)
        return len(self.items(key)) - 1

    def add(self, values: NDArray[Any], use: Use, *, normalized: bool = False, bounds: bool = False) -> int:
        """The number of a new accessor."""
        return self._accessors + self._added.add(values, use, normalized=normalized, bounds=bounds)

    def add_times(self, seconds: NDArray[Any]) -> int:
        """The accessor of key times; equal ones share it."""
        stored = np.asarray(seconds, np.float32)
        data = stored.tobytes()
        if data not in self._times:
            self._times[data] = self.add(stored, "keys", bounds=True)
        return self._times[data]

    def to_bytes(self, suffix: str) -> bytes:
        """A .glb or, with everything in its JSON, a .gltf."""
        binary = suffix != ".gltf"
        self._take_in_images(binary)
        first = self._finish()
        for index, entry in enumerate(self.root.get("buffers", [])):
            if index and _is_outside(entry.get("uri")):
                entry["uri"] = _data_uri(self.document.buffer(index, "the file"))
        entry = self.items("buffers")[0] if first is not None else {}
        if first is not None:
            entry["byteLength"] = len(first)
            entry.pop("uri", None)
            if not binary:
                entry["uri"] = _data_uri(first)
        text = self._text()
        if not binary:
            return text
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
        if first is not None:
            data = first + b"\0" * (-len(first) % 4)
            chunks += struct.pack("<II", len(data), 0x004E4942) + data
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks

    def _text(self) -> bytes:
        source = self.document.json_text
        if source is None:
            return write_json(self.root).encode("utf-8", "replace")
        try:
            return write_changes(source, self.root).encode("utf-8", "replace")
        except RecursionError as error:
            raise self.document.error("its JSON is nested too deeply to be changed") from error

    def _finish(self) -> bytes | None:
        """The bytes of the first buffer, with all that was added; None where the file has none of its own."""
        views, added = self._added.finish()
        if not added:
            buffers = self.document.items("buffers")
            return self.document.buffer(0, "the file") if buffers and self.document.has_data(0) else None
        before = self._first_buffer()
        before += b"\0" * (-len(before) % 4)
        for entry in views["bufferViews"]:
            place = len(before) + entry.get("byteOffset", 0)
            self.append("bufferViews", {"buffer": 0, "byteOffset": place} | _without(entry, "buffer", "byteOffset"))
        for entry in self._added.accessors:
            self.append("accessors", entry | {"bufferView": entry["bufferView"] + self._views})
        self._added = BufferWriter()
        return before + added

    def _first_buffer(self) -> bytes:
        if not self.document.items("buffers"):
            self.append("buffers", {"byteLength": 0})
            return b""
        if not self.document.has_data(0):
            raise self.document.error("its first buffer has no data to add to; export it again without compression")
        return self.document.buffer(0, "the file")

    def _take_in_images(self, binary: bool) -> None:
        """Pictures that lie beside the file, into it."""
        for index, entry in enumerate(self.items("images") if "images" in self.root else []):
            uri = entry.get("uri")
            if not _is_outside(uri):
                continue
            data = read_address(self.document.source, uri, f"image {index}")
            kind = entry.get("mimeType") or mimetypes.guess_type(unquote(str(uri)))[0] or "image/png"
            if binary:
                entry["bufferView"] = self._views + self._added.add_bytes(data)
                entry["mimeType"] = kind
                del entry["uri"]
            else:
                entry["uri"] = _data_uri(data, kind)


def _without(entry: JsonObject, *keys: str) -> JsonObject:
    return {key: value for key, value in entry.items() if key not in keys}


def _is_outside(uri: Any) -> bool:
    return isinstance(uri, str) and not uri.startswith("data:")


def _data_uri(data: bytes, kind: str = "application/octet-stream") -> str:
    return f"data:{kind};base64," + base64.b64encode(data).decode("ascii")
