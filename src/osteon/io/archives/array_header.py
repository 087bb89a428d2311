"""The header of an array in NumPy's own format, matched letter by letter.

NumPy reads it as a Python literal, which fails in a dozen ways on a damaged one. What NumPy writes for plain numbers
and texts is three keys with plain values; nothing else is taken.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from osteon.io.load.source import Source, quote

__all__ = ["ArrayHeader", "ByteReader", "read_array_header"]

MAGIC = b"\x93NUMPY"
#: Bytes that tell the length of the header, by version.
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
    """What arrays are read from."""

    def read(self, size: int, /) -> bytes:
        """The next bytes; fewer at the end."""


@dataclass(frozen=True, slots=True)
class ArrayHeader:
    """What follows in the file."""

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
