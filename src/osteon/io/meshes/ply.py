"""Stanford PLY: ascii and binary of either byte order, polygons, colours, normals, texture coordinates.

Reading: the header, then tables as columns. Rows of lists have no fixed size, so a binary face table is first read as
if all rows were like the first one; only when some differ are the rows walked one by one.
Writing: colours become bytes, as other programs expect. Materials and names of primitives have no place in a PLY file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.mesh import Asset, CornerNormals
from osteon.io.formats.format_types import MeshFormat
from osteon.io.load.source import Source, as_float32, quote
from osteon.io.meshes.mesh import Fans, IntArray, Polygons, join_fans, share_normals
from osteon.io.meshes.text import Int64, Lines, is_count, parse_rows

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

#: First words of the lines of a header.
KEYWORDS = ("format", "element", "property")
#: A header is short; the search for its end stops after this many bytes.
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
    """The table when rows differ in length: find where each value is, then gather them."""
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


PlyEncoding = Literal["ascii", "binary_little_endian", "binary_big_endian"]


class PlyWriter:
    """Writes frames of one mesh; everything except positions is encoded once."""

    def __init__(self, faces: Int32, asset: Asset, encoding: PlyEncoding = "binary_little_endian") -> None:
        self._text = encoding == "ascii"
        self._order = ENCODINGS[encoding]
        self._colors = None if asset.colors is None else np.rint(asset.colors * 255).astype(np.uint8)
        sizes, mask = join_fans(faces, asset.polygon_of_triangle)
        uvs = None if asset.uvs is None else asset.uvs[mask]
        write_faces = _faces_as_text if self._text else self._faces_as_bytes
        self._tail = write_faces(sizes, faces[mask], uvs)
        self._header = [f"ply\nformat {encoding} 1.0\ncomment a frame of a mesh sequence, written by Osteon"]
        self._faces = [f"element face {len(sizes)}", "property list uchar int vertex_indices"]
        if sizes.size and sizes.max() > 255:
            self._faces[1] = "property list uint int vertex_indices"
        if uvs is not None:
            self._faces.append("property list uint float texcoord")

    def frame(self, vertices: Float32) -> bytes:
        """The file of one frame."""
        columns = [f"element vertex {len(vertices)}", *(f"property float {axis}" for axis in "xyz")]
        if self._colors is not None:
            columns += [f"property uchar {channel}" for channel in ("red", "green", "blue", "alpha")]
        header = "\n".join([*self._header, *columns, *self._faces, "end_header\n"]).encode()
        return (
            header
            + (self._vertices_as_text(vertices) if self._text else self._vertices_as_bytes(vertices))
            + (self._tail)
        )

    def extra_files(self) -> dict[str, bytes]:
        """Files that all frames refer to, by name: none."""
        return {}

    def _vertices_as_bytes(self, vertices: Float32) -> bytes:
        if self._colors is None:
            return vertices.astype(self._order + "f4").tobytes()
        rows = np.empty(len(vertices), [("xyz", self._order + "f4", 3), ("rgba", "u1", 4)])
        rows["xyz"], rows["rgba"] = vertices, self._colors
        return rows.tobytes()

    def _vertices_as_text(self, vertices: Float32) -> bytes:
        values, row = vertices.astype(np.float64), "%.9g %.9g %.9g\n"
        if self._colors is not None:
            values, row = np.concatenate([values, self._colors], axis=1), "%.9g %.9g %.9g %d %d %d %d\n"
        return (row * len(values) % tuple(values.ravel().tolist())).encode()

    def _faces_as_bytes(self, sizes: IntArray, corners: IntArray, uvs: Float32 | None) -> bytes:
        """Rows grouped by size where all sizes are equal, else one by one."""
        if sizes.size and (sizes == sizes[0]).all():
            return self._rows_of_size(int(sizes[0]), corners, uvs)
        stops = np.cumsum(sizes)
        parts = []
        for size, stop in zip(sizes.tolist(), stops.tolist(), strict=True):
            at = slice(stop - size, stop)
            parts.append(self._rows_of_size(size, corners[at], None if uvs is None else uvs[at], int(sizes.max())))
        return b"".join(parts)

    def _rows_of_size(self, size: int, corners: IntArray, uvs: Float32 | None, largest: int = 0) -> bytes:
        fields: list[Any] = [("n", "u1" if max(size, largest) < 256 else self._order + "u4")]
        fields.append(("corners", self._order + "i4", (size,)))
        if uvs is not None:
            fields += [("m", self._order + "u4"), ("uvs", self._order + "f4", (2 * size,))]
        rows: NDArray[Any] = np.zeros(len(corners) // size, np.dtype(fields))
        rows["n"], rows["corners"] = size, corners.reshape(-1, size)
        if uvs is not None:
            rows["m"], rows["uvs"] = 2 * size, uvs.reshape(-1, 2 * size)
        return rows.tobytes()


def _faces_as_text(sizes: IntArray, corners: IntArray, uvs: Float32 | None) -> bytes:
    words = corners.tolist()
    values = None if uvs is None else uvs.astype(np.float64).tolist()
    lines = []
    at = 0
    for size in sizes.tolist():
        row = [size, *words[at : at + size]]
        line = " ".join(map(str, row))
        if values is not None:
            line += f" {2 * size} " + " ".join(f"{u:.9g} {v:.9g}" for u, v in values[at : at + size])
        lines.append(line + "\n")
        at += size
    return "".join(lines).encode()


_UV_NAMES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))
Table = dict[str, Column]


def scan_ply(data: bytes, source: Source) -> PlyScan:
    """Parse the header and the vertex table; keep the rest for later."""
    header = parse_header(data, source)
    body = _Body(source, header, data)
    vertex = header.index("vertex")
    if vertex is None:
        raise source.format_error("the header declares no element vertex")
    position = body.start
    table: Table = {}
    for element in header.elements[: vertex + 1]:
        table, position = body.read(element, position)
    return PlyScan(source, body, vertex, table, position)


class _Body:
    """The data after the header. A position is a byte offset, or a line number of an ascii file."""

    def __init__(self, source: Source, header: Header, data: bytes) -> None:
        self.source, self.header, self.data = source, header, data
        self.lines = Lines.of(data[header.end :] or b"\n", comments=False) if header.encoding == "ascii" else None
        self.start = 0 if self.lines is not None else header.end

    def read(self, element: Element, position: int) -> tuple[Table, int]:
        if self.lines is not None:
            return read_text(self.lines, position, element, self.source)
        return read_binary(self.data, position, element, self.source)

    def spelling(self, position: int) -> bytes:
        if self.lines is not None:
            return self.lines.block(position, len(self.lines))
        return self.data[position:]


@dataclass(frozen=True)  # no slots: the other tables are parsed once and kept
class PlyScan:
    """A PLY file of which the header and the vertices were read."""

    source: Source
    body: _Body
    vertex: int  # which element
    table: Table  # of the vertices
    after: int  # position behind the vertices

    def vertices(self) -> Float32:
        if not self._has("x", "y", "z"):
            raise self.source.format_error("element vertex lacks a property x, y or z")
        return self.source.positions(np.stack([self.table[name].values for name in "xyz"], axis=1))

    def connectivity(self) -> bytes:
        face = self.body.header.index("face")
        if face is not None and face < self.vertex:
            return b""
        declared = repr(self.body.header.elements[self.vertex + 1 :]).encode()
        return declared + self.body.spelling(self.after)

    def polygons(self) -> Polygons:
        column = self._face_list("vertex_indices", "vertex_index")
        if column is None or column.sizes is None:
            return Polygons(np.zeros(0, np.int64), np.zeros(0, np.int64))
        corners = column.values
        if corners.dtype.kind == "f":
            if not (corners == np.rint(corners)).all():
                raise self.source.format_error("a face index is not a whole number")
            corners = corners.clip(-1, 2**31)
        return Polygons(column.sizes, corners.astype(np.int64))

    def asset(self, fans: Fans) -> Asset:
        return Asset(uvs=self._uvs(fans), colors=self._colors(), normals=self._normals(fans))

    def _has(self, *names: str) -> bool:
        return all(name in self.table and self.table[name].sizes is None for name in names)

    @cached_property
    def _faces(self) -> Table:
        """The table of the faces, wherever it is."""
        face = self.body.header.index("face")
        if face is None:
            return {}
        first = self.vertex + 1 if face > self.vertex else 0
        position = self.after if face > self.vertex else self.body.start
        table: Table = {}
        for element in self.body.header.elements[first : face + 1]:
            table, position = self.body.read(element, position)
        return table

    def _face_list(self, *names: str) -> Column | None:
        return next((self._faces[name] for name in names if name in self._faces), None)

    def _uvs(self, fans: Fans) -> Float32 | None:
        polygons = self.polygons()
        per_corner = self._face_list("texcoord")
        if per_corner is not None and per_corner.sizes is not None:
            if np.array_equal(per_corner.sizes, 2 * polygons.sizes):
                uvs: Float32 = as_float32(per_corner.values).reshape(-1, 2)[fans.corners]
                return uvs
            return None
        for names in _UV_NAMES:
            if self._has(*names):
                per_vertex = as_float32(np.stack([self.table[name].values for name in names], axis=1))
                return np.asarray(per_vertex[polygons.corners[fans.corners]])
        return None

    def _normals(self, fans: Fans) -> CornerNormals | None:
        if not self._has("nx", "ny", "nz"):
            return None
        per_vertex = np.stack([self.table[name].values for name in ("nx", "ny", "nz")], axis=1)
        faces = self.polygons().corners[fans.corners].astype(np.int32)
        return share_normals(faces, per_vertex[faces], len(per_vertex))

    def _colors(self) -> Float32 | None:
        if not self._has("red", "green", "blue"):
            return None
        colors = np.ones((len(self.table["red"].values), 4))
        for channel, name in enumerate(("red", "green", "blue", "alpha")):
            if self._has(name):
                colors[:, channel] = _unit(self.table[name])
        return np.clip(colors, 0, 1).astype(np.float32)


def _unit(column: Column) -> Float64:
    """Colour in 0 … 1; whole numbers span the range of their declared type."""
    scale = {"u1": 255.0, "u2": 65535.0, "i1": 127.0, "i2": 32767.0}.get(column.declared, 1.0)
    values: Float64 = column.values / np.float64(scale)
    return values / 255.0 if column.declared in ("i4", "u4") else values


PLY = MeshFormat(".ply", "Stanford PLY", scan_ply, lambda faces, asset, _: PlyWriter(faces, asset))
