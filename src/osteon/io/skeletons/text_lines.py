"""Small text files as words with line numbers, and the checks that all skeleton and pose files share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from osteon.core.errors import FileFormatError
from osteon.io.load.source import Source, quote

__all__ = ["LARGEST", "Line", "as_number", "nearest_of", "read_lines", "read_text"]

#: Coordinates beyond this cannot be squared in float64 with room to spare; no scene is that large.
LARGEST = 1e100
#: Names that a message lists at most.
LISTED = 6


@dataclass(frozen=True, slots=True)
class Line:
    """The words of a line that is not blank."""

    number: int  # from 1
    words: list[str]

    def error(self, source: Source, problem: str) -> FileFormatError:
        return source.format_error(f"line {self.number}: {problem}")


def read_text(source: Source) -> str:
    """The file as text; refused if it is not."""
    data = source.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise source.format_error(f"byte {error.start} is not UTF-8 text; expected a text file") from error
    if "\0" in text:
        raise source.format_error("holds binary data; expected a text file")
    return text


def read_lines(source: Source) -> list[Line]:
    """All lines that are not blank."""
    text = read_text(source).replace("\r\n", "\n").replace("\r", "\n")
    lines = [Line(number, line.split()) for number, line in enumerate(text.split("\n"), 1)]
    filled = [line for line in lines if line.words]
    if not filled:
        raise source.format_error("holds only blank lines; export it again")
    return filled


def as_number(word: str) -> float | None:
    """The number that a word spells; NaN if it is too large for a coordinate, None if it is no number."""
    try:
        value = float(word)
    except ValueError:
        return None
    if "_" in word:  # Python reads 1_0 as ten; nobody else does
        return None
    return value if abs(value) <= LARGEST else math.nan


def nearest_of(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest one, else some of those there are."""
    names = list(known)
    close = get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {quote(close[0])}?"
    listed = ", ".join(quote(n) for n in names[:LISTED])
    return f"known are {listed}{', …' if len(names) > LISTED else ''}" if names else "there are none"
