"""A zip of NumPy arrays (.npz), read without pickles and without trusting its sizes."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32
from osteon.core.errors import FileFormatError
from osteon.core.progress import Progress
from osteon.io.archives.stored_array import StoredArray, open_array
from osteon.io.load.limits import Claims
from osteon.io.load.source import Source, quote

__all__ = ["Archive", "HeldArrays", "NamedArrays", "open_archive", "pack_header", "write_archive"]


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
        """What is not an array, from the JSON text under 'header'; empty if there is none."""
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


def write_archive(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a compressed .npz; equal arrays give equal bytes, because members carry no date."""
    with zipfile.ZipFile(path, "w") as zipped:
        for key, array in arrays.items():
            info = zipfile.ZipInfo(f"{key}.npy")
            info.compress_type = zipfile.ZIP_DEFLATED
            with zipped.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
