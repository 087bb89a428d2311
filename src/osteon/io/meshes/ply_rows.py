"""The tables of a PLY file, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.io.load.source import Source
from osteon.io.meshes.ply_header import Element
from osteon.io.meshes.text import Int64, Lines, parse_rows

__all__ = ["Column", "read_binary", "read_text"]


@dataclass(frozen=True, slots=True)
class Column:
    """One property of all rows."""

    values: NDArray[Any]  # (rows,), or all lists one after the other
    declared: str  # type in the file, without byte order
    sizes: Int64 | None = None  # (rows,) length of each list; None for a plain number


def read_text(lines: Lines, start: int, element: Element, source: Source) -> tuple[dict[str, Column], int]:
    """The table at line `start`, and the line behind it."""
    stop = start + element.count if element.properties else start
    if stop > len(lines):
        raise _truncated(element, source, f"{len(lines) - start} lines")
    values, counts = parse_rows(lines.block(start, stop), source, element.name)
    end = np.cumsum(counts)
    cursor = end - counts
    table: dict[str, Column] = {}
    for p in element.properties:
        if (cursor >= end).any():
            raise source.format_error(f"{element.name} {int((cursor >= end).argmax())} has too few numbers")
        if p.count is None:
            table[p.name] = Column(values[cursor], p.dtype[1:])
            cursor = cursor + 1
            continue
        sizes = _sizes(values[cursor], element, source)
        if (cursor + 1 + sizes > end).any():
            row = int((cursor + 1 + sizes > end).argmax())
            raise source.format_error(f"{element.name} {row} promises a list of {sizes[row]} but its line is shorter")
        table[p.name] = Column(values[_ranges(cursor + 1, sizes)], p.dtype[1:], sizes)
        cursor = cursor + 1 + sizes
    return table, stop


def read_binary(data: bytes, start: int, element: Element, source: Source) -> tuple[dict[str, Column], int]:
    """The table at byte `start`, and the byte behind it. Sizes are compared with the file before anything is made."""
    left = len(data) - start
    smallest = sum(np.dtype(p.count or p.dtype).itemsize for p in element.properties)
    if element.count * smallest > left:
        raise _truncated(element, source, f"{left} bytes")
    if not element.count or not element.properties:
        return {p.name: Column(np.zeros(0), p.dtype[1:], _no_lists(p.count)) for p in element.properties}, start
    equal = _read_equal_rows(data, start, element)
    return equal if equal is not None else _walk_rows(data, start, element, source)


def _read_equal_rows(data: bytes, start: int, element: Element) -> tuple[dict[str, Column], int] | None:
    """The table if all its rows are as long as the first one, else None."""
    fields: list[tuple[str, str] | tuple[str, str, tuple[int]]] = []
    at = start
    for i, p in enumerate(element.properties):
        length = 0
        if p.count is not None:
            fields.append((f"n{i}", p.count))
            if at + np.dtype(p.count).itemsize > len(data):
                return None
            length = int(np.frombuffer(data, p.count, 1, at)[0])
            at += np.dtype(p.count).itemsize
            if length < 0 or at + length * np.dtype(p.dtype).itemsize > len(data):
                return None
        fields.append((f"v{i}", p.dtype) if p.count is None else (f"v{i}", p.dtype, (length,)))
        at += np.dtype(p.dtype).itemsize * (1 if p.count is None else length)
    row = np.dtype(fields)
    if start + element.count * row.itemsize > len(data):
        return None
    rows = np.frombuffer(data, row, element.count, start)
    table: dict[str, Column] = {}
    for i, p in enumerate(element.properties):
        sizes = rows[f"n{i}"].astype(np.int64) if p.count is not None else None
        if sizes is not None and (sizes != sizes[0]).any():
            return None
        table[p.name] = Column(rows[f"v{i}"].reshape(-1), p.dtype[1:], sizes)
    return table, start + element.count * row.itemsize


def _walk_rows(data: bytes, start: int, element: Element, source: Source) -> tuple[dict[str, Column], int]:
    """The table when rows differ in length: find where each value stands, then gather them."""
    layout = [(np.dtype(p.count) if p.count else None, np.dtype(p.dtype).itemsize) for p in element.properties]
    places = np.zeros((len(layout), element.count), np.int64)
    sizes = np.ones((len(layout), element.count), np.int64)
    at = start
    for row in range(element.count):
        for i, (count, width) in enumerate(layout):
            length = 1
            if count is not None:
                if at + count.itemsize > len(data):
                    raise _truncated(element, source, f"{row} of them")
                length = int.from_bytes(data[at : at + count.itemsize], "big" if count.str[0] == ">" else "little")
                at += count.itemsize
                sizes[i, row] = length
            places[i, row] = at
            at += length * width
        if at > len(data):
            raise _truncated(element, source, f"{row} of them")
    view = np.frombuffer(data, np.uint8)
    table: dict[str, Column] = {}
    for i, p in enumerate(element.properties):
        offsets = _ranges(places[i], sizes[i], layout[i][1])[:, None] + np.arange(layout[i][1])
        values = view[offsets].reshape(-1).view(p.dtype)
        table[p.name] = Column(values, p.dtype[1:], sizes[i] if p.count is not None else None)
    return table, at


def _ranges(starts: Int64, sizes: Int64, step: int = 1) -> Int64:
    """start, start + step, … for each row, one row after the other."""
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    within = np.arange(int(sizes.sum())) - first
    return np.asarray(np.repeat(starts, sizes) + step * within, np.int64)


def _sizes(values: NDArray[Any], element: Element, source: Source) -> Int64:
    bad = ~((values >= 0) & (values == np.rint(values)) & (values < 2**31))
    if bad.any():
        raise source.format_error(f"{element.name} {int(bad.argmax())} has an impossible list length")
    return np.asarray(values, np.int64)


def _no_lists(count: str | None) -> Int64 | None:
    return None if count is None else np.zeros(0, np.int64)


def _truncated(element: Element, source: Source, got: str) -> Exception:
    return source.format_error(
        f"the header promises {element.count} rows of {element.name} but the file holds {got}; it is truncated"
    )
