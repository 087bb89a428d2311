"""An existing glTF document that grows: accessors and buffer views are appended, and one file holds the result.

Buffers keep their bytes; new data follow those of the first buffer. External buffers and images are embedded, so that
the file can be moved.

The JSON text keeps its bytes too, spaces and spelling of numbers included, except for values that changed:

    write_changes('{"a": 1.00, "b": [1]}', {"a": 1.0, "b": [1, 2]})  ->  '{"a": 1.00, "b": [1,2]}'

The text is scanned once into spans. Where a value is equal to that of the text, its span is copied; an object or a list
that differs is copied piece by piece, with new entries at its end.
"""

from __future__ import annotations

import base64
import json
import mimetypes
import re
import struct
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from osteon.io.gltf import JsonObject
from osteon.io.gltf.read.document import Document, read_address
from osteon.io.gltf.read.kept_edits import drop_kept_edits
from osteon.io.gltf.write.buffer import BufferWriter, Use, write_arrays

_SPACE = re.compile(r"[ \t\r\n]*")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PLAIN = re.compile(r"[^,\]}\s]+")


@dataclass(slots=True)
class _Span:
    """The range of a value in the text; for an object or a list also its entries."""

    start: int
    stop: int = 0
    entries: list[_Span] = field(default_factory=list)
    keys: list[str] | None = None  # of an object
    key_starts: list[int] = field(default_factory=list)


def write_json(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def write_changes(text: str, value: Any) -> str:
    """The JSON `text` changed where it differs from `value`."""
    start = _skip(text, 0)
    span = _scan_value(text, start)
    return text[:start] + _changed_value(text, span, json.loads(text[start : span.stop]), value) + text[span.stop :]


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _scan_value(text: str, at: int) -> _Span:
    """The span of the value that begins at `at`; the text has been parsed before, so it is well-formed."""
    span = _Span(at)
    opens = text[at]
    if opens not in "{[":
        found = (_TEXT if opens == '"' else _PLAIN).match(text, at)
        span.stop = at + 1 if found is None else found.end()
        return span
    span.keys = [] if opens == "{" else None
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        if span.keys is not None:
            key = _scan_value(text, at)
            span.keys.append(json.loads(text[key.start : key.stop]))
            span.key_starts.append(key.start)
            at = _skip(text, _skip(text, key.stop) + 1)
        entry = _scan_value(text, at)
        span.entries.append(entry)
        at = _skip(text, entry.stop)
        if text[at] == ",":
            at = _skip(text, at + 1)
    span.stop = at + 1
    return span


def _changed_value(text: str, span: _Span, old: Any, new: Any) -> str:
    if _same(old, new):
        return text[span.start : span.stop]
    if isinstance(old, dict) and isinstance(new, dict) and span.keys is not None:
        return _changed_object(text, span, old, new)
    if isinstance(old, list) and isinstance(new, list) and 0 < len(old) <= len(new):
        entries = [_changed_value(text, e, a, b) for e, a, b in zip(span.entries, old, new[: len(old)], strict=True)]
        return _pieced(text, span, entries, [write_json(one) for one in new[len(old) :]])
    return write_json(new)


def _same(old: Any, new: Any) -> bool:
    """Whether two values are equal; true is not 1."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(_same(a, b) for a, b in zip(old, new, strict=True))
    return isinstance(old, bool) is isinstance(new, bool) and bool(old == new)


def _changed_object(text: str, span: _Span, old: dict[str, Any], new: dict[str, Any]) -> str:
    assert span.keys is not None
    added = [f"{write_json(key)}:{write_json(value)}" for key, value in new.items() if key not in old]
    entries = {
        key: _changed_value(text, entry, old[key], new[key])
        for key, entry in zip(span.keys, span.entries, strict=True)
        if key in new
    }
    if len(entries) == len(span.keys) and entries:
        return _pieced(text, span, list(entries.values()), added)
    starts = dict(zip(span.keys, zip(span.key_starts, span.entries, strict=True), strict=True))
    kept = [text[starts[key][0] : starts[key][1].start] + entry for key, entry in entries.items()]
    return "{" + ",".join(kept + added) + "}"


def _pieced(text: str, span: _Span, entries: list[str], added: list[str]) -> str:
    """The text with other entries, and new ones after the last; text between entries is unchanged."""
    pieces, at = [], span.start
    for entry, written in zip(span.entries, entries, strict=True):
        pieces += [text[at : entry.start], written]
        at = entry.stop
    return "".join(pieces) + "".join(f",{one}" for one in added) + text[at : span.stop]


class PatchedDocument:
    """The JSON of a document, to be changed, and the data to be appended to its first buffer."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.root: JsonObject = deepcopy(document.root)
        drop_kept_edits(self.root)  # they are those of an unchanged document
        self._added = BufferWriter()
        self._accessors = len(document.items("accessors"))
        self._views = len(document.items("bufferViews"))
        self._times: dict[bytes, int] = {}

    def items(self, key: str) -> list[JsonObject]:
        """A top-level list, created if absent."""
        found: list[JsonObject] = self.root.setdefault(key, [])
        return found

    def append(self, key: str, entry: JsonObject) -> int:
        """The index of a new entry of a top-level list."""
        self.items(key).append(entry)
        return len(self.items(key)) - 1

    def add(self, values: NDArray[Any], use: Use, *, normalized: bool = False, bounds: bool = False) -> int:
        """The index of a new accessor."""
        return self._accessors + self._added.add(values, use, normalized=normalized, bounds=bounds)

    def add_bytes(self, data: bytes) -> int:
        """The index of a new buffer view."""
        return self._views + self._added.add_bytes(data)

    def add_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> JsonObject:
        """The entries of arrays for Osteon alone, as of `write_arrays`."""
        found = write_arrays(arrays, self._added)
        return {name: entry | {"accessor": self._accessors + entry["accessor"]} for name, entry in found.items()}

    def add_times(self, seconds: NDArray[Any]) -> int:
        """The index of an accessor of key times; equal ones are shared."""
        stored = np.asarray(seconds, np.float32)
        data = stored.tobytes()
        if data not in self._times:
            self._times[data] = self.add(stored, "keys", bounds=True)
        return self._times[data]

    def to_bytes(self, suffix: str) -> bytes:
        """A .glb or, with all data embedded, a .gltf."""
        binary = suffix != ".gltf"
        self._embed_images(binary)
        first = self._finish()
        for index, entry in enumerate(self.root.get("buffers", [])):
            if index and _is_external(entry.get("uri")):
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
        """The bytes of the first buffer with all additions; None if the file has no such buffer."""
        views, added = self._added.finish()
        if not added:
            buffers = self.document.items("buffers")
            return self.document.buffer(0, "the file") if buffers and self.document.has_data(0) else None
        before = self._first_buffer()
        before += b"\0" * (-len(before) % 4)
        for entry in views["bufferViews"]:
            place = len(before) + entry.get("byteOffset", 0)
            rest = {key: value for key, value in entry.items() if key not in ("buffer", "byteOffset")}
            self.append("bufferViews", {"buffer": 0, "byteOffset": place} | rest)
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

    def _embed_images(self, binary: bool) -> None:
        """Embed external images."""
        for index, entry in enumerate(self.items("images") if "images" in self.root else []):
            uri = entry.get("uri")
            if not _is_external(uri):
                continue
            data = read_address(self.document.source, uri, f"image {index}")
            kind = entry.get("mimeType") or mimetypes.guess_type(unquote(str(uri)))[0] or "image/png"
            if binary:
                entry["bufferView"] = self.add_bytes(data)
                entry["mimeType"] = kind
                del entry["uri"]
            else:
                entry["uri"] = _data_uri(data, kind)


def _is_external(uri: Any) -> bool:
    return isinstance(uri, str) and not uri.startswith("data:")


def _data_uri(data: bytes, kind: str = "application/octet-stream") -> str:
    return f"data:{kind};base64," + base64.b64encode(data).decode("ascii")
