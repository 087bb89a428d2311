"""Sources of bytes: reading them, naming them in messages, and limiting the memory that their contents may take.

Every message of this package starts with a file (and a frame, where there is one) and fits on one line.

Memory limits: one rule and one message for every reader.

A file of a few kilobytes can unpack to terabytes, or name the same numbers a million times. Whatever a reader makes
beyond the bytes of the file is claimed here before it is allocated; the claims of a file add up. Refused are

- claims that need more memory than is free;
- stored data that unpack to both more than 1 GiB and more than a hundred times what is on the disk: positions
  shrink to a tenth at best. Frames that are sampled from keys are not stored, and may be many more than that.

A count that rows of a known size must follow (PLY, OFF, MEDIT, .npy, accessors, Ogawa) needs no claim: it is compared
with the bytes that do follow. A key time that is damaged makes hours of a file of a few bytes; its frames are counted
before they are sampled.
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

PathLike = str | os.PathLike[str]

#: Characters of a file's own text that a message quotes at most.
QUOTE_LENGTH = 48
#: Characters of a message besides the file it names.
MESSAGE_LENGTH = 600
#: The first bytes of a pointer file of Git LFS.
LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def quote(text: bytes | str) -> str:
    """A piece of a file, safe to show on one line."""
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    shown = shown.strip()
    return repr(shown if len(shown) <= QUOTE_LENGTH else shown[: QUOTE_LENGTH - 1] + "…")


def _one_line(message: str) -> str:
    """A message that may quote words of a file, safe to show."""
    shown = message if message.isprintable() else "".join(c if c.isprintable() else "?" for c in message)
    return shown if len(shown) <= MESSAGE_LENGTH else shown[: MESSAGE_LENGTH - 1] + "…"


def numbered(count: int, noun: str) -> str:
    """`1 vertex`, `2 vertices`: a count with its noun in singular or plural."""
    plural = {"vertex": "vertices"}.get(noun, noun + "s")
    return f"{count} {noun if count == 1 else plural}"


def as_float32(values: FloatArray) -> Float32:
    """The values as they are stored; what is too large becomes infinite, for a later check to report."""
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
        """The open file; errors of the operating system become a FileFormatError."""
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
                f"vertex {bad[-2]} has a coordinate that is NaN or infinite; repair or omit that frame"
            )
        return stored


def _memory() -> int:
    """Bytes of memory of this machine; 64 GiB where the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 64 << 30


def free_memory() -> int:
    """Bytes of memory and swap that are free on this machine; all of its memory where the system does not report it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
        return (kilobytes["MemAvailable"] + kilobytes["SwapFree"]) << 10
    except (OSError, KeyError, ValueError, IndexError):
        return MEMORY


MEMORY = _memory()  # bytes
LARGEST_UNPACKED = 1 << 30  # bytes
LARGEST_RATIO = 100
#: Nine hours at 30 frames a second; a key time beyond that is a damaged file.
MOST_FRAMES = 1_000_000
#: Ten minutes at 25 frames a second, of a file of any size, where a library poses them one by one; a larger file may
#: have as many as it has bytes.
FEW_FRAMES = 15_000


def check_frames(source: Source, stored: int, count: int, fps: float | str, few: int = FEW_FRAMES) -> None:
    """Refuse more frames than are plausible for a file of `stored` bytes, unless the caller names a rate."""
    most = min(MOST_FRAMES, max(few, stored)) if fps == "file" else MOST_FRAMES
    if count > most:
        raise source.format_error(
            f"lasts {count} frames, and no more than {most} are plausible for its size; check its key times, "
            "or name a frame rate if they are meant"
        )


class Claims:
    """The memory that one file has claimed so far."""

    def __init__(self, source: Source, stored: int) -> None:
        self.source = source
        self.stored = stored  # bytes on the disk, of the file and of those it refers to
        self._free = free_memory()  # before anything is unpacked
        self._unpacked = 0
        self._sampled = 0

    def unpack(self, n_bytes: int, what: str) -> None:
        """Bytes that are stored in another form."""
        self._unpacked += n_bytes
        if self._unpacked > max(LARGEST_UNPACKED, LARGEST_RATIO * self.stored):
            self._refuse(what, f"more than {LARGEST_RATIO} times its size")
        self._check_memory(what)

    def sample(self, n_bytes: int, what: str) -> None:
        """Bytes that are computed from what is stored, as many as the options of the caller require."""
        self._sampled += n_bytes
        self._check_memory(what)

    def _check_memory(self, what: str) -> None:
        if self._unpacked + self._sampled > self._free:
            self._refuse(what, f"more than the {self._free // 10**6} MB of memory that are free")

    def _refuse(self, what: str, reason: str) -> None:
        megabytes = min(self._unpacked + self._sampled, 1 << 80) // 10**6
        raise self.source.format_error(
            f"with {what} it unpacks to {megabytes} MB, {reason}; "
            "load fewer clips, a lower frame rate, or parts of the scene"
        )
