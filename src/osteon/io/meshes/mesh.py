"""One pose of a mesh as stored in a file: vertices, polygons, and surface data.

Polygons become fans of triangles on load: a polygon a b c d … becomes (a b c) (a c d) …, all with one number in
`Asset.polygon_of_triangle`, from which `join_fans` restores the polygons.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import distinct_names
from osteon.core.arrays import Float32, FloatArray, Int32
from osteon.core.mesh import Asset, CornerNormals, Material
from osteon.io.load.source import Source, numbered

IntArray = NDArray[np.signedinteger[Any]]
#: Corners of one polygon. A fan of more is no surface that anyone modelled, and takes gigabytes.
MOST_CORNERS = 100_000


@dataclass(frozen=True, slots=True)
class Polygons:
    """Faces of any number of corners, one after the other."""

    sizes: IntArray  # (p,) corners of each polygon, at least 3
    corners: IntArray  # (c,) vertex of each corner

    def same_as(self, other: Polygons) -> bool:
        return np.array_equal(self.sizes, other.sizes) and np.array_equal(self.corners, other.corners)

    def checked(self, source: Source, n_vertices: int) -> Polygons:
        """The same polygons, refused if they are too small or name vertices that are not there."""
        if self.sizes.size and self.sizes.min() < 3:
            p = int(self.sizes.argmin())
            raise source.format_error(f"face {p} has {numbered(int(self.sizes[p]), 'corner')}, a face needs at least 3")
        if self.sizes.size:
            p = int(self.sizes.argmax())
            check_corners(int(self.sizes[p]), p, source)
        bad = (self.corners < 0) | (self.corners >= n_vertices)
        if bad.any():
            at = int(bad.argmax())
            face = int(np.searchsorted(np.cumsum(self.sizes), at, side="right"))
            raise source.format_error(
                f"face {face} names vertex {int(self.corners[at])} (counted from 0), "
                f"but the file holds {numbered(n_vertices, 'vertex')}"
            )
        return self


def check_corners(count: int, face: int, source: Source) -> None:
    """Refuse a polygon of too many corners."""
    if count > MOST_CORNERS:
        raise source.format_error(
            f"face {face} has {count} corners, more than {MOST_CORNERS}; triangulate the mesh and export it again"
        )


@dataclass(frozen=True, slots=True)
class Fans:
    """The corners and polygons of triangles."""

    corners: IntArray  # (t,3) which corner of the polygon list
    polygon: Int32  # (t,) which polygon

    @staticmethod
    def of(sizes: IntArray) -> Fans:
        counts = sizes.astype(np.int64) - 2
        polygon = np.repeat(np.arange(len(sizes), dtype=np.int32), counts)
        first_corner = np.cumsum(sizes, dtype=np.int64) - sizes
        first_triangle = np.cumsum(counts) - counts
        step = np.arange(len(polygon)) - first_triangle[polygon]
        start = first_corner[polygon]
        return Fans(np.stack([start, start + step + 1, start + step + 2], axis=1), polygon)


@dataclass(frozen=True, slots=True)
class LoadedMesh:
    """A mesh that was read whole; later frames of a sequence are compared with it."""

    vertices: Float32  # (v,3)
    faces: Int32  # (t,3)
    asset: Asset
    polygons: Polygons
    connectivity: bytes  # the text or bytes of its faces in the file; equal bytes mean equal faces
    source: Source


class MeshScan(Protocol):
    """A file of which only the outline was read. Parts are parsed when they are needed."""

    def vertices(self) -> Float32:
        """(v,3), finite."""

    def polygons(self) -> Polygons:
        """All faces, corners in 0 … v - 1."""

    def connectivity(self) -> bytes:
        """The text or bytes of the faces in the file; empty if equal bytes would not mean equal faces."""

    def asset(self, fans: Fans) -> Asset:
        """All other data of the file, without the polygon of each triangle."""


def read_mesh(scan: MeshScan, source: Source) -> LoadedMesh:
    """The whole mesh. A file without faces is a mesh without triangles: the caller may have them from another file."""
    vertices = scan.vertices()
    if not len(vertices):
        raise source.format_error("holds no vertices")
    polygons = scan.polygons().checked(source, len(vertices))
    fans = Fans.of(polygons.sizes)
    faces = polygons.corners[fans.corners].astype(np.int32)
    asset = scan.asset(fans)
    if (polygons.sizes > 3).any():
        asset = replace(asset, polygon_of_triangle=fans.polygon)
    with source.naming():
        asset = asset.checked(len(vertices), len(faces))
    return LoadedMesh(vertices, faces, asset, polygons, scan.connectivity(), source)


def read_next_vertices(scan: MeshScan, source: Source, first: LoadedMesh) -> Float32:
    """Positions of a later frame, which must have the vertices and faces of the first."""
    vertices = scan.vertices()
    if len(vertices) != len(first.vertices):
        raise source.geometry_error(
            f"{numbered(len(vertices), 'vertex')}, but {first.source} has {len(first.vertices)}; "
            "all frames must share one mesh"
        )
    spelled = scan.connectivity()
    if spelled and spelled == first.connectivity:
        return vertices
    polygons = scan.polygons().checked(source, len(vertices))
    if not polygons.same_as(first.polygons):
        raise source.geometry_error(
            f"its faces differ from those of {first.source}; all frames must share one connectivity"
        )
    return vertices


def join_fans(faces: Int32, polygon_of_triangle: Int32 | None) -> tuple[IntArray, NDArray[np.bool_]]:
    """Sizes (p,) of the polygons, and a mask (t,3) that picks their corners, in order, from any array per corner.

    Triangles that share a number but do not continue a fan stay triangles.
    """
    mask = np.ones((len(faces), 3), dtype=bool)
    if polygon_of_triangle is None or len(faces) < 2:
        return np.full(len(faces), 3), mask
    goes_on = polygon_of_triangle[1:] == polygon_of_triangle[:-1]
    goes_on &= (faces[1:, 0] == faces[:-1, 0]) & (faces[1:, 1] == faces[:-1, 2])
    mask[1:, 0] = mask[1:, 1] = ~goes_on
    starts = np.flatnonzero(mask[:, 0])
    return np.diff(np.append(starts, len(faces))) + 2, mask


def share_normals(faces: Int32, by_corner: FloatArray, n_vertices: int) -> CornerNormals | None:
    """Normals (t,3,3) of the corners of triangles, those of a vertex that are equal as one.

    Numbered by vertex where each has at most one. None if a normal has no length or is not finite.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        values = np.asarray(by_corner, np.float64).reshape(-1, 3)
        values = (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32) + np.float32(0)
    if not len(faces) or not np.isfinite(values).all():
        return None
    rows = np.empty((len(values), 4), np.int64)
    rows[:, 0], rows[:, 1:] = faces.reshape(-1), values.view(np.uint32)
    order = np.lexsort(rows.T[::-1])
    begins = np.ones(len(rows), bool)
    begins[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    first = order[begins]
    if len(np.unique(rows[first, 0])) == len(first):
        of_vertex = np.tile(np.array([0, 0, 1], np.float32), (n_vertices, 1))
        of_vertex[rows[first, 0]] = values[first]
        return CornerNormals(of_vertex, faces)
    number = np.empty(len(rows), np.int32)
    number[order] = (np.cumsum(begins) - 1).astype(np.int32)
    return CornerNormals(np.ascontiguousarray(values[first]), number.reshape(-1, 3))


def single_normals(faces: Int32, normals: CornerNormals) -> bool:
    """Whether every vertex has one normal at most."""
    pairs = np.stack([faces.reshape(-1), normals.of_corner.reshape(-1)], axis=1)
    return len(np.unique(pairs, axis=0)) == len(np.unique(faces))


#: The material of polygons without one, if others have one.
DEFAULT = Material("default")


@dataclass(frozen=True, slots=True)
class MeshPart:
    """One mesh with its surface data."""

    name: str
    n_vertices: int
    polygons: Polygons  # counter-clockwise
    uvs: Float32 | None = None  # (c,2) by corner of the polygons
    colors: Float32 | None = None  # (v,4)
    materials: tuple[Material, ...] = ()
    material_of_polygon: Int32 | None = None  # (p,) index into materials, -1 for none
    normals: FloatArray | None = None  # (c,3) by corner of the polygons, of any length


def merge_mesh_parts(parts: list[MeshPart]) -> tuple[Int32, Asset]:
    """Triangles of all parts with shifted indices, and their asset; equal materials become one."""
    fans = [Fans.of(part.polygons.sizes) for part in parts]
    first = np.cumsum([0, *(part.n_vertices for part in parts)])
    faces = [p.polygons.corners[f.corners] + start for p, f, start in zip(parts, fans, first, strict=False)]
    polygon = np.cumsum([0, *(len(part.polygons.sizes) for part in parts)])
    numbers = [f.polygon + start for f, start in zip(fans, polygon, strict=False)]
    counts = [len(f) for f in faces]
    materials, of_triangle = _materials(parts, fans)
    several = len(parts) > 1
    merged = np.concatenate(faces).astype(np.int32)
    return merged, Asset(
        uvs=_uvs(parts, fans),
        colors=_colors(parts),
        normals=_normals(parts, fans, merged),
        materials=materials,
        triangle_material=of_triangle,
        polygon_of_triangle=np.concatenate(numbers).astype(np.int32) if sum(counts) > polygon[-1] else None,
        primitive_of_triangle=np.repeat(np.arange(len(parts), dtype=np.int32), counts) if several else None,
        primitive_names=distinct_names([part.name for part in parts]) if several else (),
    )


def _uvs(parts: list[MeshPart], fans: list[Fans]) -> Float32 | None:
    """(t,3,2); zero where a part has none."""
    if all(part.uvs is None for part in parts):
        return None
    by_corner = [np.zeros((len(p.polygons.corners), 2)) if p.uvs is None else p.uvs for p in parts]
    return np.concatenate([uvs[f.corners] for uvs, f in zip(by_corner, fans, strict=True)]).astype(np.float32)


def _normals(parts: list[MeshPart], fans: list[Fans], faces: Int32) -> CornerNormals | None:
    """None if a part has none."""
    found = [part.normals[f.corners] for part, f in zip(parts, fans, strict=True) if part.normals is not None]
    if len(found) < len(parts):
        return None
    return share_normals(faces, np.concatenate(found), sum(part.n_vertices for part in parts))


def _colors(parts: list[MeshPart]) -> Float32 | None:
    """(v,4); white where a part has none."""
    if all(part.colors is None for part in parts):
        return None
    return np.concatenate([np.ones((p.n_vertices, 4)) if p.colors is None else p.colors for p in parts]).astype(
        np.float32
    )


def _materials(parts: list[MeshPart], fans: list[Fans]) -> tuple[tuple[Material, ...], Int32 | None]:
    """All materials, and which one each triangle has."""
    known: dict[Material, int] = {}
    numbers = []
    for part, fan in zip(parts, fans, strict=True):
        table = np.array([known.setdefault(m, len(known)) for m in part.materials] + [-1], np.int32)
        of_polygon = part.material_of_polygon
        numbers.append(table[np.full(len(fan.polygon), -1) if of_polygon is None else of_polygon[fan.polygon]])
    if not known:
        return (), None
    merged = np.concatenate(numbers)
    if (merged < 0).any():
        merged[merged < 0] = known.setdefault(DEFAULT, len(known))
    return tuple(known), merged


def join_polygons(faces: Int32, asset: Asset) -> tuple[IntArray, NDArray[np.bool_]]:
    """Like `join_fans`, but a polygon has one material: where it changes inside a fan, another polygon begins."""
    numbers = asset.polygon_of_triangle
    if numbers is not None and asset.triangle_material is not None:
        numbers = (numbers.astype(np.int64) * max(1, len(asset.materials)) + asset.triangle_material).astype(np.int64)
        numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1).astype(np.int32)
    return join_fans(faces, numbers)


def reversed_corners(sizes: IntArray) -> IntArray:
    """(c,) indices that reverse the corners of each polygon after the first one: a b c d becomes a d c b."""
    sizes = np.asarray(sizes, np.int64)
    starts = np.cumsum(sizes) - sizes
    start = np.repeat(starts, sizes)
    step = np.arange(int(sizes.sum())) - start
    return np.asarray(np.where(step == 0, start, start + np.repeat(sizes, sizes) - step))
