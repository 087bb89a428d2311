"""Small text files as words with line numbers, and JSON whose errors name the path to the value."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from osteon.core.errors import FileFormatError
from osteon.io.load.source import Source, quote

Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value of a JSON file, and where it is."""

    value: Any
    source: Source
    path: tuple[str, ...] = ()  # "pose 2", "'rotate'", "'hip'"

    def error(self, problem: str) -> FileFormatError:
        where = ", ".join(self.path)
        return self.source.format_error(f"{where}: {problem}" if where else problem)

    def _expected(self, what: str) -> FileFormatError:
        return self.error(f"expected {what}, got {quote(str(self.value))}")

    def below(self, value: Any, step: str) -> JsonValue:
        return JsonValue(value, self.source, (*self.path, step))

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        return isinstance(self.value, list)

    @property
    def is_number(self) -> bool:
        return isinstance(self.value, (int, float)) and not isinstance(self.value, bool)

    def named(self) -> dict[str, JsonValue]:
        """The values of an object with any keys."""
        if not self.is_object:
            raise self._expected("an object { … }")
        return {key: self.below(value, quote(key)) for key, value in self.value.items()}

    def fields(self, known: Sequence[str]) -> dict[str, JsonValue]:
        """The values of an object that has only the known keys."""
        found = self.named()
        for key in found:
            if key not in known:
                raise self.error(f"the key {quote(key)} is unknown; {nearest_of(key, known)}")
        return found

    def items(self, noun: str = "entry") -> list[JsonValue]:
        """The values of a list that is not empty, numbered from 1."""
        if not self.is_list:
            raise self._expected("a list [ … ]")
        if not self.value:
            raise self.error("the list is empty; fill it or omit it")
        return [self.below(value, f"{noun} {i}") for i, value in enumerate(self.value, 1)]

    def text(self) -> str:
        if not isinstance(self.value, str) or not self.value.strip() or not self.value.isprintable():
            raise self._expected("a name")
        return self.value

    def number(self) -> float:
        if not self.is_number:
            raise self._expected("a number")
        if not abs(self.value) <= LARGEST:
            raise self._expected(f"a number up to {LARGEST:g}")
        return float(self.value)

    def positive(self) -> float:
        if not self.number() > 0:
            raise self._expected("a number above 0")
        return float(self.value)

    def whole(self) -> int:
        if not self.is_number or not isinstance(self.value, int) or not 0 <= self.value < 2**31 - 1:
            raise self._expected("a whole number from 0")
        return self.value

    def coordinates(self) -> tuple[float, ...]:
        """Two or three numbers."""
        if not self.is_list or len(self.value) not in (2, 3):
            raise self._expected("a place [x, y, z]")
        return tuple(self.below(x, f"coordinate {i}").number() for i, x in enumerate(self.value, 1))

    def point(self, plane: float | None = None) -> Point:
        """A place; two numbers are in the plane z = `plane`, if there is one."""
        found = self.coordinates()
        if len(found) == 2 and plane is None:
            raise self._expected("a place [x, y, z]")
        return (found[0], found[1], found[2] if len(found) == 3 else float(plane or 0.0))

    def pair(self, noun: str) -> tuple[JsonValue, JsonValue]:
        """The two values of a list of two."""
        if not self.is_list or len(self.value) != 2:
            raise self._expected(f"a list of two {noun}s")
        return self.below(self.value[0], f"{noun} 1"), self.below(self.value[1], f"{noun} 2")


class _DoubleKeyError(Exception):
    """A key occurs twice: programs differ in which of its values counts."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _DoubleKeyError(quote(Counter(key for key, _ in pairs).most_common(1)[0][0]))
    return made


def read_json(source: Source) -> JsonValue:
    """The JSON of a file; NaN and infinity, which JSON does not have, are read as NaN for a later check to report."""
    text = read_text(source)
    try:
        value = json.loads(text, parse_constant=lambda _: math.nan, object_pairs_hook=_unique)
    except _DoubleKeyError as error:
        raise source.format_error(f"an object has the key {error} twice; omit one") from error
    except json.JSONDecodeError as error:
        raise source.format_error(f"line {error.lineno}: is not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise source.format_error("its JSON cannot be parsed") from error
    return JsonValue(value, source)


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
    if "_" in word:  # Python reads 1_0 as ten; other programs do not
        return None
    return value if abs(value) <= LARGEST else math.nan


def nearest_of(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, else some of the known ones."""
    names = list(known)
    close = get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {quote(close[0])}?"
    listed = ", ".join(quote(n) for n in names[:LISTED])
    return f"known are {listed}{', …' if len(names) > LISTED else ''}" if names else "there are none"
