"""Text files of numbers, parsed by NumPy instead of line by line.

Notes. 43,243 vertices as 2.4 MB of text on one core: `np.fromstring` 57 ms, `np.loadtxt` 65 ms, split and `float`
74 ms, split and a cast of bytes 80 ms. For whole numbers `np.fromstring` is ten times faster than any of these (7 ms
for 259,446), so it does all of the work; tokens are counted line by line on the bytes, because it does not see lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.io.load.source import Source, quote

Int64 = NDArray[np.int64]

MOST_DIGITS = 15
#: First bytes of a text with two bytes per character.
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SPACE = 32  # bytes up to the blank separate tokens


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text that are not blank."""

    data: bytes
    starts: Int64  # first byte of each line, never a blank
    stops: Int64  # the line feed after each line

    @staticmethod
    def of(data: bytes, *, comments: bool) -> Lines:
        """Cut `data` at any kind of line end; with `comments`, a word that starts with # ends its line."""
        if data.startswith(UTF16_MARKS):
            data = data.decode("utf-16", "replace").encode("utf-8", "replace")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if comments and b"#" in data:
            data = re.sub(rb"#(?<!\S#)[^\n]*", b"", data)  # the plain # first: it is found 40 times faster
        if not data.endswith(b"\n"):
            data += b"\n"
        starts, stops, first = _cut(data)
        if ((first <= _SPACE) & (first != 10)).any():
            data = re.sub(rb"(?m)^[ \t\v\f]+", b"", data)
            starts, stops, first = _cut(data)
        filled = first != 10
        return Lines(data, starts[filled], stops[filled])

    def __len__(self) -> int:
        return len(self.starts)

    def line(self, index: int) -> bytes:
        return self.data[self.starts[index] : self.stops[index]]

    def first_bytes(self, at: int) -> NDArray[np.uint8]:
        """Byte number `at` of each line (of what follows it, for shorter lines)."""
        data = np.frombuffer(self.data, np.uint8)
        return data[np.minimum(self.starts + at, len(data) - 1)]

    def block(self, start: int, stop: int) -> bytes:
        """Lines `start` … `stop - 1` with what is between them."""
        return self.data[self.starts[start] : self.stops[stop - 1] + 1] if stop > start else b""

    def pick(self, numbers: Int64) -> bytes:
        """The given lines (ascending), one after the other."""
        if not len(numbers):
            return b""
        breaks = np.flatnonzero(np.diff(numbers) != 1)
        first = self.starts[numbers[np.concatenate([[0], breaks + 1])]]
        last = self.stops[numbers[np.concatenate([breaks, [len(numbers) - 1]])]] + 1
        return b"".join([self.data[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)])


def _cut(data: bytes) -> tuple[Int64, Int64, NDArray[np.uint8]]:
    view = np.frombuffer(data, np.uint8)
    stops = np.flatnonzero(view == 10)
    starts = np.concatenate([[0], stops[:-1] + 1])
    return starts, stops, view[starts]


def is_count(word: bytes | str) -> bool:
    """Whether a word is a count; one of more digits is a mistake, and Python refuses to parse it."""
    return word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS


def token_starts(block: bytes) -> tuple[Int64, Int64]:
    """The start of each word, and the number of words of each line that is not blank."""
    view = np.frombuffer(block, np.uint8)
    space = view <= _SPACE
    begins = ~space
    begins[1:] &= space[:-1]
    starts = np.flatnonzero(begins)
    upto = np.searchsorted(starts, np.flatnonzero(view == 10))
    counts = np.diff(np.concatenate([[0], upto]))
    return starts, counts[counts > 0]


def parse_numbers(
    block: bytes, count: int, source: Source, what: str, dtype: type[np.generic] = np.float64
) -> NDArray[Any]:
    """The `count` words of `block` as numbers."""
    if not count:
        return np.zeros(0, dtype)
    try:
        values: NDArray[Any] = np.fromstring(block, dtype=dtype, sep=" ")  # type: ignore[call-overload]
    except (ValueError, DeprecationWarning):
        values = np.zeros(0, dtype)
    if len(values) != count:
        word = _first_bad_word(block, whole=np.issubdtype(dtype, np.integer))
        raise source.format_error(f"expected a number in a {what} line, got {quote(word)}")
    return values


def _first_bad_word(block: bytes, *, whole: bool) -> bytes:
    for word in block.split():
        try:
            _ = int(word) if whole else float(word)
        except ValueError:
            return word
    return b"text that is no number"


def parse_rows(block: bytes, source: Source, what: str) -> tuple[Float64, Int64]:
    """The numbers of `block`, and how many each line has."""
    starts, counts = token_starts(block)
    return parse_numbers(block, len(starts), source, what), counts


def parse_table(block: bytes, rows: int, source: Source, what: str, *, least: int, most: int) -> Float64:
    """`rows` lines with `least` … `most` columns; NaN where a line has fewer numbers than the longest."""
    values, counts = parse_rows(block, source, what)
    if len(counts) != rows:
        raise source.format_error(f"a {what} line has no numbers")
    if not rows:
        return np.zeros((0, least))
    if counts.min() < least:
        row = int(counts.argmin())
        raise source.format_error(f"{what} {row} has {int(counts[row])} of {least} numbers")
    width = int(counts.max())
    if counts.min() == width:
        return values.reshape(len(counts), width)[:, :most]
    table = np.full((len(counts), min(width, most)), np.nan)
    column = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
    row_of_value = np.repeat(np.arange(len(counts)), counts)
    kept = column < most
    table[row_of_value[kept], column[kept]] = values[kept]
    return table
