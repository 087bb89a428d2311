"""Object File Format, reading: OFF with any of the prefixes ST, C, N (texture coordinates, colours, normals)."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.core.mesh import Asset
from osteon.io.formats.format_types import MeshFormat
from osteon.io.load.source import Source, as_float32, quote
from osteon.io.meshes.mesh import Fans, Polygons
from osteon.io.meshes.text import Lines, is_count, parse_rows, parse_table

_HEADER = re.compile(rb"(ST)?(C)?(N)?OFF\b")


def scan_off(data: bytes, source: Source) -> OffScan:
    """Read the keyword and the counts; the counts must fit the number of lines."""
    lines = Lines.of(data, comments=True)
    first = lines.line(0) if len(lines) else b""
    match = _HEADER.match(first)
    if match is None:
        raise source.format_error(f"starts with {quote(first[:24])}, expected OFF, COFF, NOFF, CNOFF or STOFF")
    rest, begin = first[match.end() :].split(), 1
    if not rest and len(lines) > 1:
        rest, begin = lines.line(1).split(), 2
    if not 2 <= len(rest) <= 3 or not all(is_count(word) for word in rest):
        raise source.format_error(f"expected the counts of vertices, faces and edges, got {quote(b' '.join(rest))}")
    n_vertices, n_faces = int(rest[0]), int(rest[1])
    if n_vertices + n_faces > len(lines) - begin:
        raise source.format_error(
            f"the header promises {n_vertices} vertices and {n_faces} faces "
            f"but {len(lines) - begin} lines follow; it is truncated"
        )
    kinds = (match[1] is not None, match[2] is not None, match[3] is not None)
    return OffScan(source, lines, begin, begin + n_vertices, begin + n_vertices + n_faces, kinds)


@dataclass(frozen=True, slots=True)
class OffScan:
    """An OFF file of which the header was read."""

    source: Source
    lines: Lines
    begin: int  # line of the first vertex
    faces: int  # line of the first face
    end: int
    kinds: tuple[bool, bool, bool]  # has texture coordinates, colours, normals

    def vertices(self) -> Float32:
        return self.source.positions(self._table()[:, :3])

    def connectivity(self) -> bytes:
        return self.lines.block(self.faces, self.end)

    def polygons(self) -> Polygons:
        """A face line is a count, that many indices, and perhaps a colour, which is omitted."""
        values, counts = parse_rows(self.connectivity(), self.source, "face")
        start = np.cumsum(counts) - counts
        sizes = np.nan_to_num(values[start], nan=-1).clip(-1, 2**31).astype(np.int64)
        bad = (sizes != values[start]) | (sizes < 0) | (sizes + 1 > counts)
        if bad.any():
            raise self.source.format_error(f"face {int(bad.argmax())} names fewer vertices than it promises")
        offset = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        corners = values[np.repeat(start + 1, sizes) + offset]
        if not (corners == np.rint(corners)).all():
            raise self.source.format_error("a face index is not a whole number")
        return Polygons(sizes, corners.clip(-1, 2**31).astype(np.int64))

    def asset(self, fans: Fans) -> Asset:
        textured, colored, normals = self.kinds
        if not (textured or colored):
            return Asset()
        table = self._table()
        first = 6 if normals else 3
        last = table.shape[1] - (2 if textured else 0)
        uvs = as_float32(table[:, last:])[self.polygons().corners[fans.corners]] if textured else None
        return Asset(uvs=uvs, colors=_colors(table[:, first:last]) if colored else None)

    def _table(self) -> Float64:
        textured, colored, normals = self.kinds
        least = 3 + 3 * colored + 3 * normals + 2 * textured
        block = self.lines.block(self.begin, self.faces)
        return parse_table(block, self.faces - self.begin, self.source, "vertex", least=least, most=least + colored)


def _colors(table: Float64) -> Float32:
    """RGB or RGBA in 0 … 1; files also hold 0 … 255."""
    scale = 255.0 if np.nanmax(table, initial=0.0) > 1 else 1.0
    colors = np.ones((len(table), 4))
    colors[:, : table.shape[1]] = np.where(np.isnan(table), 1.0, table / scale)
    return np.clip(colors, 0, 1).astype(np.float32)


OFF = MeshFormat(".off", "Object File Format", scan_off)
