"""MEDIT text meshes (`.mesh`), reading: the surface of a surface mesh or of a tetrahedral mesh.

A file is a list of sections, in any order: a keyword, the number of rows, the rows. A row ends with a reference
number, which is omitted (some writers omit it too); indices count from 1. Other sections are passed over.
Triangles and quadrilaterals are the surface. Where there are none, it is the faces of tetrahedra that occur once,
turned outward. Vertices inside the volume stay, so that the numbers of other files keep their meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64
from osteon.core.mesh import Asset
from osteon.io.formats.format_types import MeshFormat
from osteon.io.load.source import Source, numbered, quote
from osteon.io.meshes.mesh import Fans, Polygons
from osteon.io.meshes.text import Int64, Lines, is_count, parse_numbers, token_starts

#: A word that begins with a letter starts a section; nan and inf are coordinates, which are refused later.
_KEYWORD = re.compile(rb"(?<!\S)(?![+-]?(?i:nan|inf|infinity)(?!\S))[A-Za-z]\S*")
_SURFACE = ("triangles", "quadrilaterals")
_CORNERS = {"triangles": 3, "quadrilaterals": 4, "tetrahedra": 4}
#: Faces of a tetrahedron of positive volume, seen from outside.
_OUTWARD = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def scan_medit(data: bytes, source: Source) -> MeditScan:
    """Find the sections; the text must begin as MEDIT files do."""
    text = Lines.of(data, comments=True).data
    words = [(match.start(), match.end(), match[0]) for match in _KEYWORD.finditer(text)]
    if not words or words[0][2].lower() != b"meshversionformatted" or text[: words[0][0]].strip():
        raise source.format_error(
            f"starts with {quote(text.lstrip()[:24])}, expected MeshVersionFormatted: of .mesh files, those of MEDIT "
            "are read"
        )
    stops = [start for start, _, _ in words[1:]] + [len(text)]
    sections: dict[str, bytes] = {}
    for (_, start, word), stop in zip(words, stops, strict=True):
        name = word.decode("ascii", "replace").lower()
        if name == "end":
            break
        if name in sections and name in {"dimension", "vertices", *_CORNERS}:
            raise source.format_error(f"holds two sections {quote(word)}; join them")
        sections[name] = text[start:stop]
    scan = MeditScan(source, sections, _dimension(sections.get("dimension", b"3"), source))
    if "vertices" not in sections:
        raise source.format_error("holds no section Vertices; it is truncated, or no mesh")
    return scan


@dataclass(frozen=True, slots=True)
class MeditScan:
    """A MEDIT file cut into its sections."""

    source: Source
    sections: dict[str, bytes]  # by keyword in lower case: the count and the rows
    dimension: int  # 2 or 3

    def vertices(self) -> Float32:
        return self.source.positions(self.positions())

    def connectivity(self) -> bytes:
        used = _SURFACE if any(self._count(name) for name in _SURFACE) else ("tetrahedra",)
        return b"".join(name.encode() + self.sections.get(name, b"") for name in used)

    def polygons(self) -> Polygons:
        """Triangles, then quadrilaterals; without either, the surface of the tetrahedra."""
        surfaces = [self._corners(name) for name in _SURFACE]
        if not any(corners.size for corners in surfaces):
            surfaces = [self._tetrahedron_surface()]
        sizes = [np.full(len(corners), corners.shape[1]) for corners in surfaces]
        return Polygons(np.concatenate(sizes), np.concatenate([corners.ravel() for corners in surfaces]))

    def tetrahedra(self) -> Int64:
        """(e,4) corners, none if the file holds a surface only; in any order."""
        tetrahedra = self._corners("tetrahedra")
        n_points = self._count("vertices")
        bad = ((tetrahedra < 0) | (tetrahedra >= n_points)).any(axis=1)
        if bad.any():
            at = int(bad.argmax())
            raise self.source.format_error(
                f"tetrahedron {at} names vertices {tetrahedra[at].tolist()} (counted from 0), "
                f"but the file holds {numbered(n_points, 'vertex')}"
            )
        return tetrahedra

    def positions(self) -> Float64:
        """(v,3) as exact as in the file; a flat mesh is in the plane z = 0."""
        table = self._rows("vertices", self.dimension, np.float64)
        return np.concatenate([table, np.zeros((len(table), 3 - self.dimension))], axis=1)

    def asset(self, fans: Fans) -> Asset:
        return Asset()  # reference numbers have no fixed meaning

    def _corners(self, name: str) -> Int64:
        """(n,3) or (n,4) vertices of the rows of a section, from 0; no rows if there is no such section."""
        if name not in self.sections:
            return np.zeros((0, _CORNERS[name]), np.int64)
        return np.asarray(self._rows(name, _CORNERS[name], np.int64) - 1)

    def _rows(self, name: str, width: int, dtype: type[np.generic]) -> NDArray[Any]:
        """A section as a table, without its reference numbers."""
        block, shown, n_rows = self.sections[name], name.capitalize(), self._count(name)
        starts, _ = token_starts(block)
        n_numbers = len(starts) - 1
        if n_numbers not in (n_rows * width, n_rows * (width + 1)):
            fault = "it is truncated" if n_numbers < n_rows * (width + 1) else "the count is too small"
            raise self.source.format_error(
                f"{shown} promises {numbered(n_rows, 'row')} of {width} numbers and a reference, "
                f"but {numbered(n_numbers, 'number')} follow{'s' if n_numbers == 1 else ''}; {fault}"
            )
        if not n_rows:
            return np.zeros((0, width), dtype)
        return parse_numbers(block[starts[1] :], n_numbers, self.source, shown, dtype).reshape(n_rows, -1)[:, :width]

    def _count(self, name: str) -> int:
        """The rows that a section promises; none if there is no such section."""
        word = (self.sections.get(name, b"0").split(maxsplit=1) or [b""])[0]
        if not is_count(word):
            raise self.source.format_error(f"expected a count after {name.capitalize()}, got {quote(word)}")
        return int(word)

    def _tetrahedron_surface(self) -> Int64:
        """(t,3) faces that belong to one tetrahedron only, counter-clockwise seen from outside."""
        tetrahedra, points = self.tetrahedra(), self.positions()
        with np.errstate(over="ignore", invalid="ignore"):  # absurd positions are refused where they are read
            a, b, c = (points[tetrahedra[:, i]] - points[tetrahedra[:, 3]] for i in range(3))
            inverted = np.einsum("ti,ti->t", np.cross(a, b), c) > 0
        tetrahedra[inverted, :2] = tetrahedra[inverted, 1::-1]
        faces = tetrahedra[:, _OUTWARD].reshape(-1, 3)
        _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
        return np.asarray(faces[np.sort(first[count == 1])])


def _dimension(block: bytes, source: Source) -> int:
    word = block.strip()
    if word not in (b"2", b"3"):
        raise source.format_error(f"expected Dimension 2 or 3, got {quote(word)}")
    return int(word)


MEDIT = MeshFormat(".mesh", "MEDIT mesh", scan_medit)
