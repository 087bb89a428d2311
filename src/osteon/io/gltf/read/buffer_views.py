"""Buffer views: pieces of buffers, as they are or unpacked."""

from __future__ import annotations

from typing import Any

from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.read.meshopt_views import EXTENSIONS, decode_view

__all__ = ["read_view"]


def read_view(document: Document, index: Any, what: str) -> memoryview:
    """The bytes of a view; of a compressed one what it unpacks to, kept for whoever asks again."""
    view = document.item("bufferViews", index, what)
    compressed = _compressed(document, view, what)
    if compressed is None:
        return _stored(document, view, what)
    if index not in document.unpacked_views:
        document.unpacked_views[index] = decode_view(document, view, compressed, what)
    return document.unpacked_views[index]


def _compressed(document: Document, view: JsonObject, what: str) -> JsonObject | None:
    extensions = document.object(view, "extensions", what)
    named = next((name for name in EXTENSIONS if name in extensions), None)
    return None if named is None else document.object(extensions, named, what)


def _stored(document: Document, view: JsonObject, what: str) -> memoryview:
    data = document.buffer(view.get("buffer"), what)
    start, length = document.whole(view, "byteOffset", what, 0), document.whole(view, "byteLength", what)
    if start + length > len(data):
        raise document.error(f"{what} has a buffer view that is too short: it lies beyond the end of its buffer")
    return memoryview(data)[start : start + length]
