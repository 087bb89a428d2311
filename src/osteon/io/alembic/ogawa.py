"""Checks of the structure of an Ogawa file before the library opens it.

An Ogawa file is a tree of groups and blocks of data. It begins with the letters Ogawa, 0xff once it was closed
properly, a version, and the place of the root group. A group is a count and that many 64-bit places, a block of data a
size and that many bytes. The highest bit of a place is 1 for data and 0 for a group; place 0 is empty.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

import numpy as np

from osteon.io.load.source import Source

HEADER = 16  # bytes
MAGIC = b"Ogawa"
HDF5_MAGIC = b"\x89HDF"
CLOSED = 0xFF
DATA_BIT = np.uint64(1 << 63)


def check_ogawa(source: Source) -> None:
    """Refuse a file that is no Alembic, was not closed, or names places outside itself."""
    with source.open() as file:
        size = file.seek(0, 2)
        file.seek(0)
        head = file.read(HEADER)
        if not head:
            raise source.format_error("the file is empty; export it again")
        if head.startswith(HDF5_MAGIC):
            raise source.format_error("is the old HDF5 kind of Alembic; export it again as Ogawa")
        if not head.startswith(MAGIC) or len(head) < HEADER:
            raise source.format_error("is not an Alembic file: it does not begin with 'Ogawa'")
        if head[len(MAGIC)] != CLOSED:
            raise source.format_error("was never closed by its writer, so its end is missing; export it again")
        _walk(file, size, struct.unpack_from("<Q", head, 8)[0], source)


def _walk(file: BinaryIO, size: int, root: int, source: Source) -> None:
    """Visit every group once."""
    waiting, seen = [root], {root}
    while waiting:
        children = _children(file, size, waiting.pop(), source)
        is_data = (children & DATA_BIT) != 0
        for place in np.unique(children[is_data] & ~DATA_BIT):
            if place and _number_at(file, size, int(place), source) > size - int(place) - 8:
                raise _cut_off(size, source)
        for group in np.unique(children[~is_data]):
            if int(group) and int(group) not in seen:
                seen.add(int(group))
                waiting.append(int(group))


def _children(file: BinaryIO, size: int, place: int, source: Source) -> np.ndarray:
    count = _number_at(file, size, place, source)
    if count > (size - place - 8) // 8:
        raise _cut_off(size, source)
    return np.frombuffer(file.read(8 * count), "<u8")


def _number_at(file: BinaryIO, size: int, place: int, source: Source) -> int:
    """The 64-bit number at `place`, where the file must still have eight bytes."""
    if place < HEADER or place + 8 > size:
        raise _cut_off(size, source)
    file.seek(place)
    return int(struct.unpack("<Q", file.read(8))[0])


def _cut_off(size: int, source: Source) -> Exception:
    return source.format_error(f"is cut off or damaged: it names bytes beyond its {size}; export it again")
