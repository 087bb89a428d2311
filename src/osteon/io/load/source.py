"""Where bytes come from, how they are read, and how a complaint names them.

Every message of this package starts with a file (and a frame, where there is one) and fits on one line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from osteon.core.arrays import Float32, FloatArray, first_bad
from osteon.core.errors import FileFormatError, GeometryError

__all__ = ["PathLike", "Source", "as_float32", "inside", "numbered", "quote"]

PathLike = str | os.PathLike[str]

#: Characters of a file's own text that a message quotes at most.
QUOTE_LENGTH = 48
#: Characters of a message besides the file it names.
MESSAGE_LENGTH = 600
#: How a file begins that stands for one that Git LFS holds.
LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def quote(text: bytes | str) -> str:
    """A piece of a file, safe to show on one line."""
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    shown = shown.strip()
    return repr(shown if len(shown) <= QUOTE_LENGTH else shown[: QUOTE_LENGTH - 1] + "…")


def _one_line(message: str) -> str:
    """A message of ours that may hold words of a file, safe to show."""
    shown = message if message.isprintable() else "".join(c if c.isprintable() else "?" for c in message)
    return shown if len(shown) <= MESSAGE_LENGTH else shown[: MESSAGE_LENGTH - 1] + "…"


def numbered(count: int, noun: str) -> str:
    """`1 vertex`, `2 vertices`: a count that reads well in a message."""
    plural = {"vertex": "vertices"}.get(noun, noun + "s")
    return f"{count} {noun if count == 1 else plural}"


def as_float32(values: FloatArray) -> Float32:
    """The values as they are stored; what is too large becomes infinite, for a later check to name."""
    with np.errstate(over="ignore", invalid="ignore"):
        stored: Float32 = np.ascontiguousarray(values, dtype=np.float32)
    return stored


def inside(folder: Path, path: Path) -> bool:
    """Whether `path`, with all links resolved, is inside `folder`; False for a path that cannot be resolved."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # links in a circle, or a name that the system cannot hold
        return False


@dataclass(frozen=True, slots=True)
class Source:
    """A file, and which frame of a sequence it is."""

    path: Path
    frame: int | None = None

    def __str__(self) -> str:
        return str(self.path) if self.frame is None else f"{self.path} (frame {self.frame})"

    def format_error(self, problem: str) -> FileFormatError:
        return FileFormatError(f"{self}: {_one_line(problem)}")

    def geometry_error(self, problem: str) -> GeometryError:
        return GeometryError(f"{self}: {_one_line(problem)}")

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Errors about arrays made inside the block name the file they came from, once."""
        try:
            yield
        except GeometryError as error:
            if str(error).startswith(str(self.path)):
                raise
            raise self.geometry_error(str(error)) from error

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The open file; whatever the system refuses becomes a FileFormatError."""
        try:
            if self.path.is_dir():
                raise self.format_error("is a folder, expected a file")
            if self.path.exists() and not self.path.is_file():
                raise self.format_error("is a pipe or a device, expected a file")  # reading it might never end
            file = self.path.open("rb")
        except FileNotFoundError as error:
            raise self.format_error("there is no such file") from error
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise self._unreadable(error) from error
        with file:
            try:
                self._refuse_pointer(file)
                yield file
            except OSError as error:
                raise self._unreadable(error) from error

    def _refuse_pointer(self, file: BinaryIO) -> None:
        """A checkout without Git LFS has a few lines of text in place of each large file."""
        head = file.read(len(LFS_POINTER))
        file.seek(0)
        if head == LFS_POINTER:
            raise self.format_error("is a Git LFS pointer, not the file itself; fetch the file with: git lfs pull")

    def _unreadable(self, error: Exception) -> FileFormatError:
        return self.format_error(f"cannot be read ({getattr(error, 'strerror', None) or error})")

    def read(self) -> bytes:
        """All bytes of the file, at least one."""
        with self.open() as file:
            data = file.read()
        if not data:
            raise self.format_error("the file is empty; export it again")
        return data

    def positions(self, values: FloatArray) -> Float32:
        """Vertex positions as they are stored; NaN and infinity are refused by vertex."""
        stored = as_float32(values)
        with np.errstate(invalid="ignore"):
            if np.isfinite(stored.sum(dtype=np.float64)):
                return stored
        bad = first_bad(stored)
        if bad is not None:
            raise self.geometry_error(
                f"vertex {bad[-2]} has a coordinate that is NaN or infinite; repair or leave out that frame"
            )
        return stored
