"""A glTF file as checked JSON and its buffers.

A URI names bytes in the file itself or a file in the same folder. Nothing outside that folder is opened.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from osteon.core.errors import FileFormatError
from osteon.io.gltf import JsonObject
from osteon.io.load.source import Claims, Source, check_frames, inside, quote


def check_address(source: Source, uri: Any, what: str) -> None:
    """Refuse a URI that is no string, or that refers outside the folder of `source` or to the network."""
    if not isinstance(uri, str):
        raise source.format_error(f"the URI of {what} is not a string")
    if not uri.startswith("data:"):
        _beside(source, uri, what)


def read_address(source: Source, uri: Any, what: str) -> bytes:
    """The bytes of a URI: embedded data, or a file in the folder of `source` or a subfolder."""
    check_address(source, uri, what)
    if uri.startswith("data:"):
        return _embedded(source, uri, what)
    path = _beside(source, uri, what)
    if not _is_file(path):
        raise source.format_error(f"{what} is missing: there is no file {quote(uri)} in its folder")
    return Source(path).read()


def _embedded(source: Source, uri: str, what: str) -> bytes:
    head, comma, body = uri.partition(",")
    if not comma:
        raise source.format_error(f"the data URI of {what} is truncated before its first byte")
    if not head.endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(unquote(body), validate=True)
    except (binascii.Error, ValueError) as error:
        raise source.format_error(f"the data of {what} is not base64") from error


def _beside(source: Source, uri: str, what: str) -> Path:
    """The file that a URI refers to, with all links resolved; it need not exist."""
    name = unquote(uri)
    folder = source.path.parent
    if ":" in name or "\\" in name or "\0" in name or name.startswith("/"):
        raise source.format_error(f"{what} is at {quote(uri)}; only files in the folder of the input are read")
    path = folder / name
    if not inside(folder, path):
        raise source.format_error(f"{what} is at {quote(uri)}, outside the folder of the input; move it there")
    return path


def _is_file(path: Path) -> bool:
    """Whether this is a regular file: reading a pipe or a device could block, and a name may be too long to be one."""
    try:
        return path.is_file()
    except OSError:
        return False


_MAGIC, _JSON_CHUNK, _BINARY_CHUNK = b"glTF", 0x4E4F534A, 0x004E4942
#: Frames that a file of any size may have; further ones must be in proportion to its size.
FEW_FRAMES = 100_000
#: Required extensions that are supported: they change how numbers are stored or how often a mesh is shown.
_READ = (
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "KHR_draco_mesh_compression",
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
)
#: Required extensions that change the appearance of a surface, not the positions of vertices.
_HARMLESS = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_", "MSFT_")


class Document:
    """The JSON of a file, with accessors that check types and raise errors that name the file."""

    def __init__(
        self, source: Source, root: JsonObject, binary: bytes | None, stored: int, text: str | None = None
    ) -> None:
        self.source = source
        self.root = root
        self.json_text = text  # None where the document was converted from another format
        self._binary = binary
        self._buffers: dict[int, bytes] = {}
        self._lists: dict[str, list[JsonObject]] = {}
        self.unpacked_views: dict[int, memoryview] = {}
        self.draco_meshes: dict[int, object] | None = None  # by buffer view, once they are decompressed
        self._claims = Claims(source, stored)
        self._unpacked = 0

    def error(self, problem: str) -> FileFormatError:
        return self.source.format_error(problem)

    def items(self, key: str) -> list[JsonObject]:
        """A top-level list of objects; empty if absent."""
        if key not in self._lists:
            self._lists[key] = self.objects(self.root, key, "the file")
        return self._lists[key]

    def item(self, key: str, index: Any, user: str) -> JsonObject:
        """Entry `index` of a top-level list; `user` is what refers to it, for messages."""
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
        """A non-negative integer."""
        value = owner.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.error(f"'{key}' of {what} is {quote(str(value))}, expected a non-negative integer")
        return value

    def wholes(self, owner: JsonObject, key: str, what: str) -> list[int]:
        value = owner.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, int) for v in value):
            raise self.error(f"'{key}' of {what} is not a list of integers")
        return value

    def enum(self, owner: JsonObject, key: str, default: int | None = None) -> int | None:
        """An integer constant; the string "5126" is accepted as 5126, and anything else is None."""
        value = owner.get(key, default)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def numbers(self, owner: JsonObject, key: str, what: str, default: list[float]) -> list[float]:
        """A list of finite numbers of the length of `default`; an empty default allows any length."""
        value = owner.get(key, default)
        fits = isinstance(value, list) and (not default or len(value) == len(default))
        if not fits or not all(isinstance(v, (int, float)) and abs(v) < 1e300 for v in value):
            raise self.error(f"'{key}' of {what} is not a list of {len(default) or 'any number of'} numbers")
        return [float(v) for v in value]

    def text(self, owner: JsonObject, key: str, default: str) -> str:
        value = owner.get(key)
        if not isinstance(value, str) or not value.strip():
            return default
        return value.encode("utf-8", "replace").decode()  # an unpaired surrogate cannot be encoded

    def buffer(self, index: Any, user: str) -> bytes:
        """The bytes of a buffer, as many as its byteLength."""
        entry = self.item("buffers", index, user)
        if index not in self._buffers:
            data = self._load_buffer(entry, index)
            length = self.whole(entry, "byteLength", f"buffer {index}")
            if len(data) < length:
                raise self.error(f"buffer {index} declares {length} bytes but has {len(data)}; it is truncated")
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

    def has_data(self, index: int) -> bool:
        """Whether a buffer has bytes; the fallback buffer of compressed views has none."""
        return self.items("buffers")[index].get("uri") is not None or (index == 0 and self._binary is not None)

    def size(self) -> int:
        """Bytes of all buffers that have data, and of everything decompressed so far."""
        there = [i for i, entry in enumerate(self.items("buffers")) if "uri" in entry or (i == 0 and self._binary)]
        return sum(len(self.buffer(i, "the file")) for i in there) + self._unpacked

    def claim(self, n_bytes: int, what: str, *, sampled: bool = False) -> None:
        """Refuse an allocation that is too large for the file, of numbers that it stores or that are `sampled`."""
        if sampled:
            self._claims.sample(n_bytes, what)
        else:
            self._claims.unpack(n_bytes, what)

    def claim_unpacked(self, n_bytes: int, what: str) -> None:
        """The same for data that are about to be decompressed."""
        self.claim(n_bytes, what)
        self._unpacked += n_bytes

    def check_frames(self, count: int, fps: float | str) -> None:
        """Refuse more frames than are plausible for a file of this size."""
        check_frames(self.source, self._claims.stored, count, fps, FEW_FRAMES)


def open_document(path: Path) -> Document:
    """Read .gltf or .glb (distinguished by content) and refuse a file that cannot be sampled."""
    source = Source(path)
    return parse_document(source, source.read())


def parse_document(source: Source, data: bytes) -> Document:
    """The document in these bytes of a file."""
    chunk, binary = _chunks(data, source) if data[:4] == _MAGIC else (data, None)
    try:
        text = chunk.decode("utf-8-sig")
    except ValueError as error:
        raise source.format_error("is not glTF: its JSON cannot be parsed") from error
    return document_of(source, text, binary, len(data))


def document_of(source: Source, text: str, binary: bytes | None, stored: int) -> Document:
    """The document of a JSON text and the binary part of a file of so many bytes."""
    document = Document(source, parse_json(source, text), binary, stored, text)
    _check_asset(document)
    for key in ("buffers", "images"):
        for index, entry in enumerate(document.items(key)):
            if entry.get("uri") is not None:
                check_address(source, entry["uri"], f"{key.removesuffix('s')} {index}")
    return document


def parse_json(source: Source, text: str) -> JsonObject:
    """The object of a JSON text."""
    try:
        root = json.loads(text, parse_constant=_no_constant, parse_float=_number, object_pairs_hook=_unique)
    except _DoubleKeyError as error:
        raise source.format_error(f"is not glTF: an object of its JSON has {error} twice") from error
    except (ValueError, RecursionError) as error:
        raise source.format_error("is not glTF: its JSON cannot be parsed") from error
    if not isinstance(root, dict):
        raise source.format_error("is not glTF: its JSON is not an object")
    return root


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _number(text: str) -> int | float:
    """A number with a decimal point; an integer if it has an integer value, such as 5126.0."""
    value = float(text)
    return int(value) if text[0] != "-" and value < 2**53 and value.is_integer() else value


class _DoubleKeyError(Exception):
    """A key occurs twice: programs differ in which of its values they use."""


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
        raise source.format_error(f"declares {length} bytes but has {len(data)}; it is truncated")
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
        raise document.error(f"has glTF version {quote(str(version))}, expected 2.0")
    required = document.root.get("extensionsRequired", [])
    for name in required if isinstance(required, list) else []:
        if not str(name).startswith((*_READ, *_HARMLESS)):
            raise document.error(f"requires the extension {quote(str(name))}, which is unsupported; export it without")
