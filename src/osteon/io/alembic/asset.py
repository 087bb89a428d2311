"""What Alembic meshes carry besides positions: UVs, colours, normals, and face sets as materials."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.asset import Asset, Material
from osteon.io.alembic.meshes import AlembicMesh, array_of
from osteon.io.alembic.write import set_names
from osteon.io.load.source import Source
from osteon.io.meshes.mesh import Polygons
from osteon.io.meshes.parts import MeshPart, merge_mesh_parts
from osteon.io.meshes.polygons import turned_corners
from osteon.io.metadata.asset import damage_named, unpack_materials

__all__ = ["merge_alembic_meshes"]


def merge_alembic_meshes(parts: list[AlembicMesh], metadata: dict[str, Any], source: Source) -> tuple[Int32, Asset]:
    """Triangles of all meshes, and what they carry. `metadata` is what Osteon stored, in a single mesh."""
    faces, asset = merge_mesh_parts([_mesh_part(part) for part in parts])
    with damage_named(source):
        return faces, _with_metadata(asset, parts[0], metadata) if metadata else asset


def _mesh_part(part: AlembicMesh) -> MeshPart:
    n_vertices = len(part.positions.values[0])
    sizes = part.polygons.sizes
    turn = turned_corners(sizes) if _mirrored(part) else np.arange(len(part.order))
    uvs, normals = _corner_uvs(part, n_vertices), _corner_normals(part, n_vertices)
    materials, numbers = _materials(part)
    return MeshPart(
        part.name,
        n_vertices,
        Polygons(sizes, part.polygons.corners[turn]),
        None if uvs is None else uvs[turn],
        _vertex_colors(part, n_vertices),
        materials,
        numbers,
        None if normals is None else normals[turn],
    )


def _mirrored(part: AlembicMesh) -> bool:
    """Whether the transforms above turn the mesh inside out."""
    signs = [np.sign(np.linalg.det(s.values[0][:3, :3])) for s in part.above]
    return float(np.prod(signs)) < 0


def _corner_uvs(part: AlembicMesh, n_vertices: int) -> Float32 | None:
    """(c,2) by corner of the polygons, from values by corner or by vertex; None for anything else."""
    param = part.schema.getUVsParam()
    if not param.valid() or not param.getNumSamples():
        return None
    values = _expanded(param, array_of(param.getIndexedValue().getVals()).astype(np.float32))
    if len(values) == len(part.order):
        return np.asarray(values[part.order])
    return values[part.polygons.corners] if len(values) == n_vertices else None


def _corner_normals(part: AlembicMesh, n_vertices: int) -> Float64 | None:
    """(c,3) of the first sample, in world space; None where the rest pose is another one (Pref)."""
    param = part.schema.getNormalsParam() if hasattr(part.schema, "getNormalsParam") else None
    about = part.schema.getArbGeomParams()
    posed = about.valid() and "Pref" in [header.getName() for header in about.propertyheaders]
    if posed or param is None or not param.valid() or not param.getNumSamples():
        return None
    values = _expanded(param, array_of(param.getIndexedValue().getVals()).astype(np.float32)).astype(np.float64)
    for transform in reversed(part.above):
        linear = transform.values[0][:3, :3]
        if not np.isfinite(linear).all() or np.linalg.det(linear) == 0:
            return None
        values = values @ np.linalg.inv(linear)  # the inverse transpose
    if len(values) == len(part.order):
        return np.asarray(values[part.order])
    return values[part.polygons.corners] if len(values) == n_vertices else None


def _vertex_colors(part: AlembicMesh, n_vertices: int) -> Float32 | None:
    """(v,4) from `Cd` by vertex."""
    geom = import_module("alembic3d").AbcGeom
    about = part.schema.getArbGeomParams()
    for header in about.propertyheaders if about.valid() else ():
        for kind, channels in ((geom.IC4fGeomParam, "rgba"), (geom.IC3fGeomParam, "rgb")):
            if header.getName() == "Cd" and kind.matches(header):
                param = kind(about, "Cd")
                values = _expanded(param, _channels(param.getIndexedValue().getVals(), channels))
                return values if len(values) == n_vertices else None
    return None


def _expanded(param: Any, values: Float32) -> Float32:
    """The values in the order of their indices. The library would do it, but trusts the indices."""
    if not param.isIndexed():
        return values
    index = array_of(param.getIndexedValue().getIndices())
    if len(index) and not 0 <= index.min() <= index.max() < len(values):
        raise IndexError(f"an index names value {index.max()} of {len(values)}")
    return np.asarray(values[index])


def _channels(values: Any, channels: str) -> Float32:
    out = np.ones((len(values), 4), np.float32)
    for i, channel in enumerate(channels):
        # Arrays of three channels name them like the axes.
        out[:, i] = array_of(getattr(values, channel if hasattr(values, channel) else "xyz"[i]))
    return out.clip(0, 1)


def _materials(part: AlembicMesh) -> tuple[tuple[Material, ...], Int32 | None]:
    """A material for each face set, and which one each polygon has; the last set that names a polygon wins."""
    names = list(part.schema.getFaceSetNames())
    numbers = np.full(len(part.polygons.sizes), -1, np.int32)
    for i, name in enumerate(names):
        faces = array_of(part.schema.getFaceSet(name).getSchema().getValue().getFaces())
        numbers[faces[(faces >= 0) & (faces < len(numbers))]] = i
    return tuple(Material(name) for name in names), numbers if names else None


def _with_metadata(asset: Asset, part: AlembicMesh, metadata: dict[str, Any]) -> Asset:
    """Materials and primitives as Osteon wrote them, numbered as they were."""
    materials = unpack_materials(metadata["materials"])
    numbers = asset.triangle_material
    if numbers is not None:
        whole = Asset(materials=materials, triangle_material=numbers)
        place = {name: i for i, name in enumerate(set_names(whole))}
        table = np.array([place.get(m.name, 0) for m in asset.materials], np.int32)
        numbers = table[numbers]
    properties = part.schema.getUserProperties()
    primitives = None
    if "primitive_of_triangle" in [h.getName() for h in properties.propertyheaders]:
        abc = import_module("alembic3d").Abc
        primitives = array_of(abc.IInt32ArrayProperty(properties, "primitive_of_triangle").samples[0])
    return replace(
        asset,
        materials=materials,
        triangle_material=numbers,
        primitive_of_triangle=primitives,
        primitive_names=tuple(str(name) for name in metadata["primitive_names"]),
    )
