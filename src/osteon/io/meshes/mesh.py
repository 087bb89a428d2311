"""One pose of a mesh as a file holds it: vertices, polygons, and what else it carried.

Polygons become fans of triangles on load: a polygon a b c d … gives (a b c) (a c d) …, all with one number in
`Asset.polygon_of_triangle`, from which `join_fans` makes the same polygons again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Int32
from osteon.core.asset import Asset
from osteon.io.load.source import Source, numbered

__all__ = [
    "Fans",
    "LoadedMesh",
    "MeshScan",
    "Polygons",
    "check_corners",
    "join_fans",
    "read_mesh",
    "read_next_vertices",
]

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
    """Where the triangles of polygons come from."""

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
    connectivity: bytes  # how the file spells its faces; equal bytes mean equal faces
    source: Source


class MeshScan(Protocol):
    """A file of which only the outline was read. Parts are parsed when they are asked for."""

    def vertices(self) -> Float32:
        """(v,3), finite."""

    def polygons(self) -> Polygons:
        """All faces, corners in 0 … v - 1."""

    def connectivity(self) -> bytes:
        """How the file spells its faces; empty if equal bytes would not mean equal faces."""

    def asset(self, fans: Fans) -> Asset:
        """What the file carries besides, except which triangle belongs to which polygon."""


def read_mesh(scan: MeshScan, source: Source) -> LoadedMesh:
    """All that the file holds. A file without faces gives a mesh without triangles: the caller may know them."""
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
