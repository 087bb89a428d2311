"""What a process that parses a file says to the one that asked: JSON, followed by arrays as they lie in memory.

A message is the length of its head in eight bytes, the head `[kind, value, [[name, dtype, shape], …]]`, and the bytes
of the arrays. Nothing is pickled, and arrays are read straight into the memory where they stay.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arrays", "BrokenMessage", "Message", "read_array", "read_message", "write_message"]

Arrays = dict[str, NDArray[Any]]

_LENGTH = struct.Struct("<Q")
#: Bytes of JSON; names of bones and materials take far less.
_LONGEST_HEAD = 1 << 30
#: Bytes that an array may claim.
_LARGEST_ARRAY = 1 << 42


class BrokenMessage(Exception):
    """The other side ended in the middle of a message, or before it, or says nonsense."""


@dataclass(frozen=True, slots=True)
class Message:
    """The head of a message; its arrays follow."""

    kind: str
    value: Any
    arrays: tuple[tuple[str, np.dtype[Any], tuple[int, ...]], ...]  # name, type and shape


def write_message(
    file: BinaryIO, kind: str, value: Any = None, arrays: Mapping[str, NDArray[Any]] | None = None
) -> None:
    """Say one thing, at once."""
    stored = {name: np.asarray(array, order="C") for name, array in (arrays or {}).items()}
    shapes = [[name, array.dtype.str, array.shape] for name, array in stored.items()]
    head = json.dumps([kind, value, shapes]).encode()
    file.write(_LENGTH.pack(len(head)) + head)
    for array in stored.values():
        file.write(array.reshape(-1).view(np.uint8).data)
    file.flush()


def read_message(file: BinaryIO) -> Message:
    """The head of the next message."""
    (length,) = _LENGTH.unpack(_exactly(file, _LENGTH.size))
    if length > _LONGEST_HEAD:
        raise BrokenMessage
    try:
        kind, value, shapes = json.loads(_exactly(file, length))
        arrays = tuple((str(name), np.dtype(dtype), tuple(map(int, shape))) for name, dtype, shape in shapes)
    except (ValueError, TypeError) as error:
        raise BrokenMessage from error
    for _, dtype, shape in arrays:
        if dtype.hasobject or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > _LARGEST_ARRAY:
            raise BrokenMessage
    return Message(str(kind), value, arrays)


def read_array(file: BinaryIO, into: NDArray[Any]) -> NDArray[Any]:
    """The next array of a message, into the contiguous memory of one of its type and shape."""
    view = into.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(view):
        n = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not n:
            raise BrokenMessage
        done += n
    return into


def _exactly(file: BinaryIO, n_bytes: int) -> bytes:
    data = file.read(n_bytes)
    if len(data) != n_bytes:
        raise BrokenMessage
    return data
