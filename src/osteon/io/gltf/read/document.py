"""A glTF file as checked JSON and its buffers. Files outside the input's own folder are never read."""

from __future__ import annotations

import json
import struct
from collections import Counter
from pathlib import Path
from typing import Any

from osteon.core.errors import FileFormatError
from osteon.io.doors.limits import Claims
from osteon.io.doors.source import Source, quote
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.read.addresses import check_address, read_address

__all__ = ["Document", "open_document"]

_MAGIC, _JSON_CHUNK, _BINARY_CHUNK = b"glTF", 0x4E4F534A, 0x004E4942
_COMPRESSED = {
    "KHR_draco_mesh_compression": "Draco",
    "EXT_meshopt_compression": "meshopt",
    "KHR_meshopt_compression": "meshopt",
}
#: Required extensions that change how a surface looks or how numbers are stored, not where vertices go.
_HARMLESS = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_", "KHR_mesh_quantization", "MSFT_")


class Document:
    """The JSON of a file, with access that complains instead of failing."""

    def __init__(self, source: Source, root: JsonObject, binary: bytes | None, stored: int) -> None:
        self.source = source
        self.root = root
        self._binary = binary
        self._buffers: dict[int, bytes] = {}
        self._lists: dict[str, list[JsonObject]] = {}
        self._claims = Claims(source, stored)

    def error(self, problem: str) -> FileFormatError:
        return self.source.format_error(problem)

    def items(self, key: str) -> list[JsonObject]:
        """A top-level list of objects; empty if absent."""
        if key not in self._lists:
            self._lists[key] = self.objects(self.root, key, "the file")
        return self._lists[key]

    def item(self, key: str, index: Any, user: str) -> JsonObject:
        """Entry `index` of a top-level list, which `user` refers to."""
        there = self.items(key)
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(there):
            raise self.error(f"{user} refers to {key} {quote(str(index))}, but the file holds {len(there)}")
        return there[index]

    def objects(self, owner: JsonObject, key: str, what: str) -> list[JsonObject]:
        value = owner.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            raise self.error(f"'{key}' of {what} is not a list of objects")
        return value

    def object(self, owner: JsonObject, key: str, what: str) -> JsonObject:
        value = owner.get(key, {})
        if not isinstance(value, dict):
            raise self.error(f"'{key}' of {what} is not an object")
        return value

    def whole(self, owner: JsonObject, key: str, what: str, default: int | None = None) -> int:
        """A whole number that is not negative."""
        value = owner.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.error(f"'{key}' of {what} is {quote(str(value))}, expected a whole number from 0")
        return value

    def wholes(self, owner: JsonObject, key: str, what: str) -> list[int]:
        value = owner.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, int) for v in value):
            raise self.error(f"'{key}' of {what} is not a list of whole numbers")
        return value

    def numbers(self, owner: JsonObject, key: str, what: str, default: list[float]) -> list[float]:
        """A list of finite numbers, as long as `default` (which may be empty for any length)."""
        value = owner.get(key, default)
        fits = isinstance(value, list) and (not default or len(value) == len(default))
        if not fits or not all(isinstance(v, (int, float)) and abs(v) < 1e300 for v in value):
            raise self.error(f"'{key}' of {what} is not a list of {len(default) or 'any number of'} numbers")
        return [float(v) for v in value]

    def text(self, owner: JsonObject, key: str, default: str) -> str:
        value = owner.get(key)
        if not isinstance(value, str) or not value.strip():
            return default
        return value.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be written anywhere

    def buffer(self, index: Any, user: str) -> bytes:
        """The bytes of a buffer, all of those it promises."""
        entry = self.item("buffers", index, user)
        if index not in self._buffers:
            data = self._load_buffer(entry, index)
            length = self.whole(entry, "byteLength", f"buffer {index}")
            if len(data) < length:
                raise self.error(f"buffer {index} promises {length} bytes but holds {len(data)}; it is truncated")
            self._buffers[index] = data[:length]
        return self._buffers[index]

    def _load_buffer(self, entry: JsonObject, index: int) -> bytes:
        if entry.get("uri") is not None:
            data = read_address(self.source, entry["uri"], f"buffer {index}")
            self._claims.stored += len(data)
            return data
        if index == 0 and self._binary is not None:
            return self._binary
        raise self.error(f"buffer {index} has no data; the file is incomplete or compressed")

    def view(self, index: Any, user: str) -> bytes:
        """The bytes of a buffer view."""
        entry = self.item("bufferViews", index, user)
        data = self.buffer(entry.get("buffer"), user)
        start, length = self.whole(entry, "byteOffset", user, 0), self.whole(entry, "byteLength", user)
        if start + length > len(data):
            raise self.error(f"{user} lies beyond the end of its buffer")
        self.claim(length, user)
        return data[start : start + length]

    def claim(self, n_bytes: int, what: str, *, sampled: bool = False) -> None:
        """Refuse what is too much, before it is made: numbers that are stored, or `sampled` from keys."""
        if sampled:
            self._claims.sample(n_bytes, what)
        else:
            self._claims.unpack(n_bytes, what)


def open_document(path: Path) -> Document:
    """Read .gltf or .glb (told apart by content) and refuse what cannot be sampled."""
    source = Source(path)
    data = source.read()
    text, binary = _chunks(data, source) if data[:4] == _MAGIC else (data, None)
    try:
        root = json.loads(text.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_unique)
    except _DoubleKeyError as error:
        raise source.format_error(f"is not glTF: an object of its JSON has {error} twice") from error
    except (ValueError, RecursionError) as error:
        raise source.format_error("is not glTF: its JSON cannot be parsed") from error
    if not isinstance(root, dict):
        raise source.format_error("is not glTF: its JSON is not an object")
    document = Document(source, root, binary, len(data))
    _check_asset(document)
    for key in ("buffers", "images"):
        for index, entry in enumerate(document.items(key)):
            if entry.get("uri") is not None:
                check_address(source, entry["uri"], f"{key.removesuffix('s')} {index}")
    return document


def _no_constant(name: str) -> None:
    raise ValueError(name)


class _DoubleKeyError(Exception):
    """A key occurs twice: programs differ in which of its values counts."""


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _DoubleKeyError(quote(Counter(key for key, _ in pairs).most_common(1)[0][0]))
    return made


def _chunks(data: bytes, source: Source) -> tuple[bytes, bytes | None]:
    """The JSON and the binary chunk of a .glb."""
    if len(data) < 20:
        raise source.format_error("the .glb header is truncated")
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise source.format_error(f"is .glb version {version}, expected 2")
    if length > len(data):
        raise source.format_error(f"promises {length} bytes but holds {len(data)}; it is truncated")
    found: dict[int, bytes] = {}
    at = 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<II", data, at)
        if at + 8 + size > length:
            raise source.format_error("a chunk of the .glb is truncated")
        found.setdefault(kind, data[at + 8 : at + 8 + size])
        at += 8 + size
    if _JSON_CHUNK not in found:
        raise source.format_error("the .glb has no JSON chunk")
    return found[_JSON_CHUNK], found.get(_BINARY_CHUNK)


def _check_asset(document: Document) -> None:
    version = document.object(document.root, "asset", "the file").get("version")
    if not isinstance(version, str) or not version.startswith("2."):
        raise document.error(f"is glTF version {quote(str(version))}, expected 2.0")
    required = document.root.get("extensionsRequired", [])
    for name in map(str, required if isinstance(required, list) else []):
        if name in _COMPRESSED:
            raise document.error(
                f"is compressed with {_COMPRESSED[name]} ({name}), which is not read; export it without compression"
            )
        if not name.startswith(_HARMLESS):
            raise document.error(f"requires the extension {quote(name)}, which is not known")
