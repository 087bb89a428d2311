"""One array in NumPy's own format, read without pickles and never past what the file really holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Int32
from osteon.core.progress import Progress, report_progress
from osteon.io.archives.array_header import ByteReader, read_array_header
from osteon.io.load.source import Source
from osteon.io.meshes.mesh import IntArray, check_corners

__all__ = ["StoredArray", "open_array", "triangulate_faces"]

LAST_LETTER = 0x10FFFF  # of Unicode
#: Bytes that are read at once, so that an array is never in memory twice.
CHUNK = 1 << 24


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array whose header was read and checked, and whose numbers are still in the file."""

    source: Source
    name: str  # how messages call it
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
