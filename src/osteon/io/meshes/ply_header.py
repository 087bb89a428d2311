"""The header of a PLY file: elements and their properties."""

from __future__ import annotations

import re
from dataclasses import dataclass

from osteon.io.load.source import Source, quote
from osteon.io.meshes.text import is_count

__all__ = ["TYPES", "Element", "Header", "Property", "parse_header"]

#: NumPy type codes, without byte order.
TYPES = {
    name: code
    for names, code in (
        (("char", "int8"), "i1"),
        (("uchar", "uint8"), "u1"),
        (("short", "int16"), "i2"),
        (("ushort", "uint16"), "u2"),
        (("int", "int32"), "i4"),
        (("uint", "uint32"), "u4"),
        (("float", "float32"), "f4"),
        (("double", "float64"), "f8"),
    )
    for name in names
}
ENCODINGS = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}

#: What a line of a header begins with.
KEYWORDS = ("format", "element", "property")
#: A header is short; a file without an end of it is not searched to its last gigabyte.
LONGEST_HEADER = 1 << 20


@dataclass(frozen=True, slots=True)
class Property:
    """One column; a list has the type of its length too."""

    name: str
    dtype: str  # NumPy type with byte order
    count: str | None = None  # NumPy type of the length of a list


@dataclass(frozen=True, slots=True)
class Element:
    """One table."""

    name: str
    count: int
    properties: tuple[Property, ...]

    @property
    def has_lists(self) -> bool:
        return any(p.count is not None for p in self.properties)


@dataclass(frozen=True, slots=True)
class Header:
    """All tables, in file order."""

    encoding: str
    elements: tuple[Element, ...]
    end: int  # first byte of the body

    def index(self, name: str) -> int | None:
        return next((i for i, element in enumerate(self.elements) if element.name == name), None)


def parse_header(data: bytes, source: Source) -> Header:
    """Read as far as end_header; nothing is allocated from the counts found."""
    if not re.match(rb"ply[ \t]*[\r\n]", data):
        raise source.format_error("does not start with 'ply'; is it a PLY file?")
    match = re.search(rb"[\r\n]end_header[ \t]*(\r\n|\n|\r)", data[:LONGEST_HEADER])
    if match is None:
        raise source.format_error("the header has no end_header; the file is truncated")
    encoding, order = "", ""
    elements: list[Element] = []
    for line in data[: match.start()].decode("ascii", "replace").splitlines()[1:]:
        words = line.split()
        if not words or words[0] in ("comment", "obj_info"):
            continue
        if words[0] == "format" and len(words) >= 2 and words[1] in ENCODINGS:
            encoding, order = words[1], ENCODINGS[words[1]]
        elif words[0] == "element" and len(words) == 3 and is_count(words[2]):
            elements.append(Element(words[1], int(words[2]), ()))
        elif words[0] == "property" and elements and order:
            elements[-1] = _with_property(elements[-1], words, order, source)
        elif elements or words[0] in KEYWORDS:  # before that it is a comment without its word, as old Blenders wrote it
            raise source.format_error(f"cannot read the header line {quote(line)}")
    if not encoding:
        raise source.format_error("the header has no format line")
    return Header(encoding, tuple(elements), match.end())


def _with_property(element: Element, words: list[str], order: str, source: Source) -> Element:
    types = words[2:4] if words[1:2] == ["list"] else words[1:2]
    if not types or len(words) != len(types) + (3 if len(types) == 2 else 2) or any(t not in TYPES for t in types):
        raise source.format_error(f"cannot read the property {quote(' '.join(words))}")
    if any(p.name == words[-1] for p in element.properties):
        raise source.format_error(f"element {element.name} has two properties {quote(words[-1])}")
    codes = [order + TYPES[t] for t in types]
    new = Property(words[-1], codes[-1], codes[0] if len(codes) == 2 else None)
    return Element(element.name, element.count, (*element.properties, new))
