"""A zip of NumPy arrays (.npz), read without pickles and without trusting its sizes.

The arrays in it are in the .npy format, and are never read past the end of their data.

NumPy reads the header as a Python literal, which fails in a dozen ways on a damaged one. Here the header is matched
letter by letter: three keys with plain values, as NumPy writes them for plain numbers and texts; nothing else is read.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Int32
from osteon.core.errors import FileFormatError
from osteon.core.frames import FrameSource, frame_blocks
from osteon.core.progress import Progress, report_progress
from osteon.io.load.source import Claims, Source, quote
from osteon.io.meshes.mesh import IntArray, check_corners

LAST_LETTER = 0x10FFFF  # of Unicode
#: Bytes that are read at once, so that an array is never in memory twice.
CHUNK = 1 << 24


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array whose header was read and checked, and whose numbers are still in the file."""

    source: Source
    name: str  # its name in messages
    file: ByteReader
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran_order: bool

    def read(self) -> NDArray[Any]:
        """The whole array."""
        values = np.empty(math.prod(self.shape), self.dtype)
        data = values.view(np.uint8)
        for start in range(0, len(data), CHUNK):
            stop = min(start + CHUNK, len(data))
            data[start:stop] = np.frombuffer(self._take(stop - start), np.uint8)
        if self.dtype.kind == "U" and (values.view(self.dtype.byteorder + "u4") > LAST_LETTER).any():
            raise self.source.format_error(f"{self.name} holds text with letters that do not exist; it is damaged")
        return values.reshape(self.shape, order="F" if self.fortran_order else "C")

    def read_frames(self, progress: Progress | None = None) -> Float32:
        """(f,v,3) positions, converted frame by frame; (v,3) is one frame."""
        shape = self.shape if len(self.shape) == 3 else (1, *self.shape)
        if len(shape) != 3 or shape[2] != 3 or not shape[0] or not shape[1]:
            raise self.source.format_error(
                f"{self.name} has shape {self.shape}, expected (frames, vertices, 3) with at least one of each"
            )
        if self.dtype.kind not in "fiu":
            raise self.source.format_error(f"{self.name} holds {self.dtype}, expected numbers")
        whole = self.read().reshape(shape) if self.fortran_order else None
        frames = np.empty(shape, np.float32)
        size = shape[1] * 3 * self.dtype.itemsize
        for f in range(shape[0]):
            values = np.frombuffer(self._take(size), self.dtype).reshape(shape[1:]) if whole is None else whole[f]
            frames[f] = Source(self.source.path, f).positions(values)
            report_progress(progress, "load", (f + 1) / shape[0])
        return frames

    def _take(self, size: int) -> bytes:
        data = self.file.read(size)
        if len(data) != size:
            raise self.source.format_error(f"{self.name} ends early; the file is truncated")
        return data


def open_array(file: ByteReader, size: int, source: Source, name: str) -> StoredArray:
    """Read the header of an array that may take `size` bytes with it."""
    header = read_array_header(file, source, name)
    there = size - header.n_bytes
    needed = header.data_bytes
    if needed > there:
        raise source.format_error(
            f"{name} promises shape {header.shape} ({needed} bytes) but {there} bytes follow; it is truncated"
        )
    return StoredArray(source, name, file, header.shape, header.dtype, header.fortran_order)


def triangulate_faces(faces: NDArray[Any], source: Source) -> tuple[IntArray, Int32 | None]:
    """Triangles (t,3) of an array of triangles, quads or larger polygons (p,n), and (t,) the polygon of each.

    The second is None where all polygons are triangles.
    """
    if faces.ndim != 2 or faces.shape[1] < 3 or faces.dtype.kind not in "iu":
        raise source.format_error(
            f"faces are {faces.dtype} of shape {faces.shape}, expected whole numbers of shape (triangles, 3)"
        )
    count, size = faces.shape
    check_corners(size, 0, source)
    if size == 3:
        return faces, None
    fan = np.array([[0, step + 1, step + 2] for step in range(size - 2)])
    return faces[:, fan].reshape(-1, 3), np.repeat(np.arange(count, dtype=np.int32), size - 2)


MAGIC = b"\x93NUMPY"
#: Bytes of the length of the header, by version.
LENGTH_BYTES = {(1, 0): 2, (2, 0): 4}
#: NumPy itself writes 118 bytes for three dimensions.
LONGEST_HEADER = 1 << 14
MOST_DIMENSIONS = 32
LARGEST_SIZE = 1 << 62

_VALUES = {
    "descr": r"'(?P<descr>[<>|=]?[A-Za-z?]\d{0,9}(\[\w{1,8}\])?)'",
    "fortran_order": r"(?P<order>True|False)",
    "shape": r"\((?P<shape>[\dL, ]*)\)",
}
_SIZE = re.compile(r"\d{1,18}L?")
_ENTRY = re.compile(r"\s*'(\w+)'\s*:\s*")


class ByteReader(Protocol):
    """A source of bytes for arrays."""

    def read(self, size: int, /) -> bytes:
        """The next bytes; fewer at the end."""


@dataclass(frozen=True, slots=True)
class ArrayHeader:
    """Shape and type of the array that follows in the file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran_order: bool
    n_bytes: int  # of the header itself

    @property
    def data_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_array_header(file: ByteReader, source: Source, name: str) -> ArrayHeader:
    """Read as far as the first number."""
    head = file.read(8)
    if len(head) < 8 or not head.startswith(MAGIC):
        raise source.format_error(f"{name} is not a NumPy array; save it again with numpy.save")
    width = LENGTH_BYTES.get((head[6], head[7]))
    if width is None:
        raise source.format_error(f"{name} is of .npy version {head[6]}.{head[7]}, expected 1.0 or 2.0")
    length = int.from_bytes(file.read(width), "little")
    text = file.read(length).decode("latin1") if length <= LONGEST_HEADER else ""
    values = _parse(text) if len(text) == length else None
    if values is None:
        raise source.format_error(
            f"{name} is not a NumPy array of plain numbers, its header is {quote(text)}; save it again with numpy.save"
        )
    shape = _shape(values["shape"])
    if shape is None or len(shape) > MOST_DIMENSIONS or math.prod(max(1, size) for size in shape) > LARGEST_SIZE:
        raise source.format_error(f"{name} promises the shape {quote(values['shape'])}, which no array has")
    return ArrayHeader(shape, _dtype(values["descr"], source, name), values["order"] == "True", 8 + width + length)


def _parse(text: str) -> dict[str, str] | None:
    """The three values as they are written; None if this is not the header of a plain array."""
    body = text.strip()
    if not (body.startswith("{") and body.endswith("}")):
        return None
    found: dict[str, str] = {}
    at, keys = 1, set(_VALUES)
    while entry := _ENTRY.match(body, at):
        value = re.compile(_VALUES[entry[1]]).match(body, entry.end()) if entry[1] in keys else None
        if value is None:
            return None
        keys.discard(entry[1])
        found |= {key: word for key, word in value.groupdict().items() if word is not None}
        at = value.end()
        comma = re.compile(r"\s*,?").match(body, at)
        at = comma.end() if comma else at
    return found if not keys and body[at:].strip() == "}" else None


def _shape(written: str) -> tuple[int, ...] | None:
    """The sizes between the brackets; old Pythons put an L behind a large one."""
    sizes = [size.strip() for size in written.removesuffix(",").split(",")] if written.strip() else []
    if not all(_SIZE.fullmatch(size) for size in sizes):
        return None
    return tuple(int(size.removesuffix("L")) for size in sizes)


def _dtype(written: str, source: Source, name: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(written)
    except (TypeError, ValueError, OverflowError, SystemError) as error:
        raise source.format_error(f"{name} holds {quote(written)}, expected numbers") from error
    if dtype.hasobject:
        raise source.format_error(f"{name} holds Python objects (a pickle), which are not read; save plain numbers")
    if dtype.kind not in "biufUS" or not dtype.itemsize:
        raise source.format_error(f"{name} holds {dtype}, expected numbers")
    return dtype


class NamedArrays(Protocol):
    """Arrays by name, in a file or in memory."""

    source: Source

    @property
    def names(self) -> list[str]: ...
    def __contains__(self, key: str) -> bool: ...
    def array(self, key: str) -> NDArray[Any]: ...
    def optional(self, key: str) -> NDArray[Any] | None: ...


class HeldArrays:
    """Arrays that are in memory already, and the file they come from."""

    def __init__(self, source: Source, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.source = source
        self._arrays = arrays

    @property
    def names(self) -> list[str]:
        return list(self._arrays)

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    def array(self, key: str) -> NDArray[Any]:
        if key not in self._arrays:
            raise self.source.format_error(f"lacks the array '{key}'")
        return self._arrays[key]

    def optional(self, key: str) -> NDArray[Any] | None:
        return self._arrays.get(key)


class _Member:
    """A file of the archive; whatever the libraries that unpack it raise becomes one line that names the archive."""

    def __init__(self, source: Source, file: IO[bytes]) -> None:
        self._source = source
        self._file = file

    def read(self, size: int, /) -> bytes:
        try:
            return self._file.read(size)
        except MemoryError:
            raise
        except Exception as error:  # zlib, bz2 and lzma have no error in common
            raise _damaged(self._source, error) from error


class Archive:
    """An open .npz."""

    def __init__(self, source: Source, file: zipfile.ZipFile, size: int) -> None:
        self.source = source
        self._file = file
        self._claims = Claims(source, size)
        self._members = {i.filename.removesuffix(".npy"): i for i in file.infolist()}

    @property
    def names(self) -> list[str]:
        """Of all arrays."""
        return list(self._members)

    def __contains__(self, key: str) -> bool:
        return key in self._members

    @contextmanager
    def _open(self, key: str) -> Iterator[StoredArray]:
        info = self._members.get(key)
        if info is None:
            there = ", ".join(name if name.isprintable() else quote(name) for name in sorted(self._members)[:12])
            raise self.source.format_error(f"lacks the array '{key}'; it holds {there or 'nothing'}")
        self._claims.unpack(info.file_size, quote(key))
        try:
            file = self._file.open(info)
        except Exception as error:
            raise _damaged(self.source, error) from error
        with file:
            yield open_array(_Member(self.source, file), info.file_size, self.source, quote(key))

    def array(self, key: str) -> NDArray[Any]:
        with self._open(key) as stored:
            return stored.read()

    def optional(self, key: str) -> NDArray[Any] | None:
        return self.array(key) if key in self else None

    def frames(self, key: str, progress: Progress | None = None) -> Float32:
        with self._open(key) as stored:
            return stored.read_frames(progress)

    def text(self, key: str) -> str:
        """A string; empty if there is none."""
        value = self.optional(key)
        return str(value.item()) if value is not None and value.ndim == 0 and value.dtype.kind in "US" else ""

    def number(self, key: str) -> float | None:
        """A single number, or None."""
        value = self.optional(key)
        if value is None:
            return None
        if value.size != 1 or value.dtype.kind not in "iuf":
            raise self.source.format_error(f"'{key}' is {value.dtype} of shape {value.shape}, expected one number")
        return float(value.item())

    def header(self) -> dict[str, Any]:
        """The JSON object under 'header', which holds everything except arrays; empty if there is none."""
        if "header" not in self:
            return {}
        try:
            value = json.loads(self.text("header"))
        except (ValueError, RecursionError) as error:
            raise self.source.format_error("its 'header' is not JSON; the file is damaged") from error
        if not isinstance(value, dict):
            raise self.source.format_error("its 'header' is not a JSON object; the file is damaged")
        return value


@contextmanager
def open_archive(source: Source) -> Iterator[Archive]:
    """The open archive; everything that can be wrong with a zip becomes a FileFormatError."""
    with source.open() as file:
        size = file.seek(0, 2)
        try:
            zipped = zipfile.ZipFile(file)
        except Exception as error:  # a damaged list of contents raises many kinds of errors
            raise _damaged(source, error) from error
        with zipped:
            yield Archive(source, zipped, size)


def _damaged(source: Source, error: Exception) -> FileFormatError:
    return source.format_error(f"is not an intact .npz archive ({quote(str(error) or type(error).__name__)})")


def pack_header(header: Mapping[str, Any]) -> NDArray[np.str_]:
    """JSON text, pure ASCII, as an array that needs no pickle."""
    return np.array(json.dumps(header))


def write_array(file: IO[bytes], array: NDArray[Any] | FrameSource) -> None:
    """Write an array as .npy; frames block by block, so that they are never in memory as a whole."""
    if isinstance(array, np.ndarray):
        np.lib.format.write_array(file, array, allow_pickle=False)
        return
    shape = (array.n_frames, array.n_vertices, 3)
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
    for block in frame_blocks(array):
        file.write(block.frames.astype("<f4", copy=False).tobytes())


def write_archive(path: Path, arrays: Mapping[str, NDArray[Any] | FrameSource]) -> None:
    """Write a compressed .npz; members have no date, so equal arrays are written as equal bytes."""
    with zipfile.ZipFile(path, "w") as zipped:
        for key, array in arrays.items():
            info = zipfile.ZipInfo(f"{key}.npy")
            info.compress_type = zipfile.ZIP_DEFLATED
            with zipped.open(info, "w", force_zip64=True) as member:
                write_array(member, array if isinstance(array, FrameSource) else np.asarray(array))
