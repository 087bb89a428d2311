"""Meshes of a file that holds several, merged into one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.animation import distinct_names
from osteon.core.arrays import Float32, FloatArray, Int32
from osteon.core.asset import Asset, CornerNormals, Material
from osteon.io.meshes.corner_normals import share_normals
from osteon.io.meshes.mesh import Fans, Polygons

__all__ = ["MeshPart", "merge_mesh_parts"]

#: What polygons without a material get where others have one.
DEFAULT = Material("default")


@dataclass(frozen=True, slots=True)
class MeshPart:
    """One mesh with what it carries besides positions."""

    name: str
    n_vertices: int
    polygons: Polygons  # counter-clockwise
    uvs: Float32 | None = None  # (c,2) by corner of the polygons
    colors: Float32 | None = None  # (v,4)
    materials: tuple[Material, ...] = ()
    material_of_polygon: Int32 | None = None  # (p,) index into materials, -1 for none
    normals: FloatArray | None = None  # (c,3) by corner of the polygons, of any length


def merge_mesh_parts(parts: list[MeshPart]) -> tuple[Int32, Asset]:
    """Triangles of all parts with shifted indices, and what they carry; equal materials become one."""
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
