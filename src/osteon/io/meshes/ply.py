"""Stanford PLY, reading: ascii and binary of either byte order, polygons, colours, normals, texture coordinates.

Rows of lists have no fixed size, so a binary face table is first read as if all rows were like the first one; only
when some differ are the rows walked one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.core.asset import Asset, CornerNormals
from osteon.io.formats.format_types import MeshFormat
from osteon.io.load.source import Source, as_float32
from osteon.io.meshes.corner_normals import share_normals
from osteon.io.meshes.mesh import Fans, Polygons
from osteon.io.meshes.ply_header import Element, Header, parse_header
from osteon.io.meshes.ply_rows import Column, read_binary, read_text
from osteon.io.meshes.ply_write import PlyWriter
from osteon.io.meshes.text import Lines

__all__ = ["PLY", "PlyScan", "scan_ply"]

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
    """What follows the header. A position is a byte offset, or a line number of an ascii file."""

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
        """The table of the faces, wherever it stands."""
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
