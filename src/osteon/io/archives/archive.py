"""A zip of NumPy arrays (.npz), read without pickles and without trusting its sizes."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32
from osteon.core.progress import Progress
from osteon.io.archives.stored_array import StoredArray, open_array
from osteon.io.doors.source import Source

__all__ = ["Archive", "open_archive", "pack_header", "write_archive"]

#: Positions shrink to a tenth at best. What unpacks to more than this, a hundred times its size, is no mesh.
LARGEST_UNPACKED = 1 << 30  # bytes
LARGEST_RATIO = 100


class Archive:
    """An open .npz."""

    def __init__(self, source: Source, file: zipfile.ZipFile) -> None:
        self.source = source
        self._file = file
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
            there = ", ".join(sorted(self._members)[:12]) or "nothing"
            raise self.source.format_error(f"lacks the array '{key}'; it holds {there}")
        if info.file_size > LARGEST_UNPACKED and info.file_size > LARGEST_RATIO * info.compress_size:
            raise self.source.format_error(f"'{key}' unpacks to {info.file_size} bytes, more than a mesh can need")
        with self._file.open(info) as file:
            yield open_array(file, info.file_size, self.source, f"'{key}'")

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
    """The archive, with everything that can be wrong with a zip told as a FileFormatError."""
    with source.open() as file:
        try:
            with zipfile.ZipFile(file) as zipped:
                yield Archive(source, zipped)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise source.format_error(f"is not an intact .npz archive ({error})") from error


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
