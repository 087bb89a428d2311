"""Wavefront OBJ: polygons, relative indices, texture coordinates, normals, colours, objects and materials.

Curves, lines and points are ignored. Smoothing groups are not kept; hard edges are kept by normals.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.errors import FileFormatError
from osteon.core.mesh import Asset, CornerNormals, Image
from osteon.io.formats.format_types import MeshFormat
from osteon.io.load.source import Source, as_float32, quote
from osteon.io.meshes.mesh import Fans, IntArray, Polygons, check_corners, join_fans, share_normals
from osteon.io.meshes.mtl import picture_name, plain_name, read_materials, write_materials
from osteon.io.meshes.text import Int64, Lines, parse_numbers, parse_table, token_starts

_V, _F, _T, _N, _O, _G, _U, _M, _SLASH = b"vftnogum/"
_BLANKS = (9, 32)


def scan_obj(data: bytes, source: Source) -> ObjScan:
    """Sort the lines by their keyword."""
    if b"\\\n" in data or b"\\\r" in data:
        data = data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ").replace(b"\\\r", b" ")
    lines = Lines.of(data, comments=True)
    first, second, third = (lines.first_bytes(at) for at in range(3))
    short = np.isin(second, _BLANKS)
    return ObjScan(
        source,
        lines,
        np.flatnonzero((first == _V) & short),
        np.flatnonzero((first == _V) & (second == _T) & np.isin(third, _BLANKS)),
        np.flatnonzero((first == _V) & (second == _N) & np.isin(third, _BLANKS)),
        np.flatnonzero((first == _F) & short),
        np.flatnonzero(np.isin(first, (_O, _G, _U, _M))),
    )


@dataclass(frozen=True)  # no slots: parts are parsed once and kept
class ObjScan:
    """An OBJ file whose lines are sorted by kind and not parsed yet."""

    source: Source
    lines: Lines
    vertex_lines: Int64
    uv_lines: Int64
    normal_lines: Int64
    face_lines: Int64
    statements: Int64  # o, g, usemtl, mtllib and others that begin alike

    def vertices(self) -> Float32:
        return self.source.positions(self._vertex_table[:, :3])

    def connectivity(self) -> bytes:
        spelled = self._faces_text()
        return b"" if b"-" in spelled else spelled  # relative indices also depend on where the vertices are

    def polygons(self) -> Polygons:
        sizes, corners = self._corners
        return Polygons(sizes, self._absolute(corners[:, 0], self.vertex_lines, sizes, "vertex"))

    def asset(self, fans: Fans) -> Asset:
        objects, object_names = self._labels(b"o")
        if not object_names:
            objects, object_names = self._labels(b"g")
        materials, material_names = self._labels(b"usemtl")
        libraries = [text for _, text in self._named(b"mtllib")]
        return Asset(
            uvs=self._uvs(fans),
            colors=self._colors(),
            normals=self._normals(fans),
            materials=read_materials(self.source, libraries, material_names),
            triangle_material=materials[fans.polygon] if material_names else None,
            primitive_of_triangle=objects[fans.polygon] if object_names else None,
            primitive_names=object_names,
        )

    @cached_property
    def _vertex_table(self) -> Float64:
        block = self.lines.pick(self.vertex_lines).replace(b"v", b" ")
        return parse_table(block, len(self.vertex_lines), self.source, "vertex", least=3, most=7)

    def _colors(self) -> Float32 | None:
        table = self._vertex_table
        if table.shape[1] < 6:  # x y z, or x y z w
            return None
        scale = 255.0 if np.nanmax(table[:, 3:6]) > 1 else 1.0
        colors = np.ones((len(table), 4))
        stored = table[:, 3:] / [scale, scale, scale, 1.0][: table.shape[1] - 3]
        colors[:, : stored.shape[1]] = np.where(np.isnan(stored), 1.0, stored)
        return as_float32(colors.clip(0, 1))

    def _faces_text(self) -> bytes:
        return self.lines.pick(self.face_lines)

    @cached_property
    def _corners(self) -> tuple[Int64, Int64]:
        """Corners of each face, and for each corner the numbers v, vt, vn as written, 0 where absent."""
        block = self._faces_text().replace(b"f", b" ")
        starts, sizes = token_starts(block)
        if len(sizes):
            check_corners(int(sizes.max()), int(sizes.argmax()), self.source)
        table = np.zeros((len(starts), 3), np.int64)
        if b"/" not in block:
            table[:, 0] = parse_numbers(block, len(starts), self.source, "face", np.int64)
        else:
            row, column = _slots(block, starts)
            if column.size and column.max() > 2:
                raise self.source.format_error("a face corner has more than the three parts v/vt/vn")
            table[row, column] = parse_numbers(block.replace(b"/", b" "), len(row), self.source, "face", np.int64)
        if len(sizes) != len(self.face_lines):
            raise self.source.format_error("a face line names no vertices")
        return sizes, table

    def _absolute(self, written: Int64, target: Int64, sizes: Int64, what: str) -> Int64:
        """Indices from 0: positive ones count from 1, negative ones back from the face's own line."""
        if (written == 0).any():
            face = np.repeat(np.arange(len(sizes)), sizes)[int((written == 0).argmax())]
            line = quote(self.lines.line(int(self.face_lines[face])))
            raise self.source.format_error(f"face {face} names no {what} or number 0 in {line}; OBJ counts from 1")
        if (written > 0).all():
            return written - 1
        before = np.repeat(np.searchsorted(target, self.face_lines), sizes)
        return np.where(written > 0, written - 1, before + written)

    def _uvs(self, fans: Fans) -> Float32 | None:
        sizes, corners = self._corners
        used = corners[:, 1] != 0
        if not used.any() or not len(self.uv_lines):
            return None
        block = self.lines.pick(self.uv_lines).replace(b"vt", b"  ")
        table = np.zeros((len(self.uv_lines), 2))
        parsed = parse_table(block, len(table), self.source, "texture coordinate", least=1, most=2)
        table[:, : parsed.shape[1]] = np.where(np.isnan(parsed), 0.0, parsed)
        index = self._absolute(np.where(used, corners[:, 1], 1), self.uv_lines, sizes, "texture coordinate")
        if (index < 0).any() or (index >= len(table)).any():
            raise self.source.format_error(
                f"a face names a texture coordinate that is not there; the file holds {len(table)}"
            )
        uvs: Float32 = as_float32(np.where(used[:, None], table[index], 0.0))[fans.corners]
        return uvs

    def _normals(self, fans: Fans) -> CornerNormals | None:
        """None if a corner has no normal, or one that is no number, not there or of no length: they only shade."""
        sizes, corners = self._corners
        if not len(self.normal_lines) or (corners[:, 2] == 0).any() or not len(corners):
            return None
        block = self.lines.pick(self.normal_lines).replace(b"vn", b"  ")
        try:
            table = parse_table(block, len(self.normal_lines), self.source, "normal", least=3, most=3)
        except FileFormatError:
            return None
        index = self._absolute(corners[:, 2], self.normal_lines, sizes, "normal")
        if (index < 0).any() or (index >= len(table)).any():
            return None
        faces = self.polygons().corners[fans.corners].astype(np.int32)
        return share_normals(faces, table[index][fans.corners], len(self.vertex_lines))

    def _named(self, keyword: bytes) -> list[tuple[int, str]]:
        """(line, rest of the line) of each statement with this keyword."""
        found = []
        for line in self.statements.tolist():
            word, _, rest = self.lines.line(line).replace(b"\t", b" ").partition(b" ")
            if word == keyword:
                found.append((line, rest.decode("utf-8", "replace").strip()))
        return found

    def _labels(self, keyword: bytes) -> tuple[Int32, tuple[str, ...]]:
        """For each face the number of the name it is under, and the names in order of use."""
        named = self._named(keyword)
        if not named or not len(self.face_lines):
            return np.zeros(0, np.int32), ()
        stops = np.append(np.searchsorted(self.face_lines, [line for line, _ in named]), len(self.face_lines))
        runs = [("default", int(stops[0]))]
        runs += [(name or "default", count) for (_, name), count in zip(named, np.diff(stops).tolist(), strict=True)]
        numbers: dict[str, int] = {}
        per_run = [(numbers.setdefault(name, len(numbers)), count) for name, count in runs if count]
        labels = np.repeat(np.array([n for n, _ in per_run], np.int32), [c for _, c in per_run])
        return labels, tuple(numbers)


def _slots(block: bytes, corner_starts: Int64) -> tuple[Int64, Int64]:
    """For each number of the face text: which corner it belongs to, and how many slashes are before it there."""
    view = np.frombuffer(block, np.uint8)
    slash = view == _SLASH
    blank = view <= _BLANKS[1]
    begins: NDArray[np.bool_] = ~(slash | blank)
    begins[1:] &= (slash | blank)[:-1]
    numbers = np.flatnonzero(begins)
    corner = np.searchsorted(corner_starts, numbers, side="right") - 1
    slashes = np.cumsum(slash)
    return corner, slashes[numbers] - (slashes - slash)[corner_starts][corner]


class ObjWriter:
    """Writes frames of one mesh; everything except positions is formatted once.

    Nine digits restore the same float32.
    """

    def __init__(self, faces: Int32, asset: Asset, stem: str = "materials") -> None:
        self._asset = asset
        self._library = f"{plain_name(stem)}.mtl"
        self._head = "# a frame of a mesh sequence, written by Osteon\n"
        self._head += f"mtllib {self._library}\n" if asset.materials else ""
        self._tail = _uvs_and_faces(faces, asset)
        self._colors = None if asset.colors is None else asset.colors.astype(np.float64)
        self._row = "v %.9g %.9g %.9g\n" if self._colors is None else "v %.9g %.9g %.9g %.9g %.9g %.9g %.9g\n"

    def frame(self, vertices: Float32) -> bytes:
        """The file of one frame."""
        values = vertices.astype(np.float64)
        if self._colors is not None:
            values = np.concatenate([values, self._colors], axis=1)
        return (self._head + self._row * len(values) % tuple(values.ravel().tolist()) + self._tail).encode()

    def extra_files(self) -> dict[str, bytes]:
        """Files that all frames refer to, by name: the material library, and pictures of base colours."""
        if not self._asset.materials:
            return {}
        names = _picture_names(self._asset, self._library.removesuffix(".mtl"))
        pictures = {name: image.data for image, name in names.items()}
        return {self._library: write_materials(self._asset.materials, names), **pictures}


def _picture_names(asset: Asset, stem: str) -> dict[Image, str]:
    """A unique file name for each picture that is written."""
    names: dict[Image, str] = {}
    for material in asset.materials:
        image = material.texture("base_color")
        if image is not None and image not in names:
            number = "" if picture_name(image, stem) not in names.values() else f"_{len(names)}"
            names[image] = picture_name(image, stem + number)
    return names


def _uvs_and_faces(faces: Int32, asset: Asset) -> str:
    sizes, mask = join_fans(faces, asset.polygon_of_triangle)
    corners = (faces[mask] + 1).astype(str)
    coordinates = ""
    if asset.uvs is not None:
        distinct, index = np.unique(asset.uvs[mask], axis=0, return_inverse=True)
        coordinates = "vt %.9g %.9g\n" * len(distinct) % tuple(distinct.astype(np.float64).ravel().tolist())
        corners = np.char.add(np.char.add(corners, "/"), (index.ravel() + 1).astype(str))
    first = np.flatnonzero(mask[:, 0])
    statements = _statements(asset, first)
    lines = []
    words = corners.tolist()
    at = 0
    for face, size in enumerate(sizes.tolist()):
        if face in statements:
            lines.append(statements[face])
        lines.append("f " + " ".join(words[at : at + size]))
        at += size
    return coordinates + "\n".join(lines) + "\n"


def _statements(asset: Asset, first_triangle: IntArray) -> dict[int, str]:
    """The `o` and `usemtl` statements by the face that they precede."""
    found: dict[int, str] = {}
    objects, materials = asset.primitive_of_triangle, asset.triangle_material
    names = tuple(m.name for m in asset.materials)
    for word, labels, known in (("o", objects, asset.primitive_names), ("usemtl", materials, names)):
        if labels is None or not known:
            continue
        of_face = labels[first_triangle]
        for face in np.flatnonzero(np.diff(of_face, prepend=-1)).tolist():
            line = f"{word} {plain_name(known[of_face[face]])}"
            found[face] = f"{found[face]}\n{line}" if face in found else line
    return found


OBJ = MeshFormat(".obj", "Wavefront OBJ", scan_obj, ObjWriter)
