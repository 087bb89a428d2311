"""A mesh sequence as one PolyMesh: positions by frame, and once its polygons, UVs, colours, rest pose and face sets."""

from __future__ import annotations

import json
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon import __version__
from osteon.core.animation import Clip, frame_times
from osteon.core.arrays import Float32
from osteon.core.frames import each_frame
from osteon.core.mesh import Asset
from osteon.core.sequence import MeshSequence
from osteon.io.formats.format_types import load_extra
from osteon.io.meshes.mesh import join_polygons, reversed_corners
from osteon.io.metadata.asset import pack_clips, pack_materials

#: The user property of the mesh that holds what Alembic has no place for, as JSON.
METADATA_KEY = "osteon"
METADATA_VERSION = 1


def write_alembic(path: Path, sequence: MeshSequence) -> None:
    """All of a sequence; `read_alembic` returns the same."""
    library = load_extra("alembic3d", "alembic", path)
    _check_space(path, sequence)
    title = f"Osteon {__version__}"
    archive = library.Abc.CreateArchiveWithInfo(str(path), sequence.clips[0].fps, title, sequence.name)
    clock = archive.addTimeSampling(_time_sampling(library, sequence.clips))
    mesh = library.AbcGeom.OPolyMesh(archive.getTop(), _safe(sequence.name))
    schema = mesh.getSchema()
    schema.setTimeSampling(clock)
    _write_frames(library, schema, sequence)
    _write_extras(library, schema, sequence)


def _check_space(path: Path, sequence: MeshSequence) -> None:
    """Reserve the disk space beforehand: the library ends the whole process if the disk is full."""
    if not hasattr(os, "posix_fallocate"):
        return
    corners = 3 * sequence.n_triangles
    size = (12 * sequence.n_frames + 40) * sequence.n_vertices + 24 * corners + 256 * sequence.n_frames
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
    path.unlink()


def _time_sampling(library: Any, clips: tuple[Clip, ...]) -> Any:
    """Uniform where all clips have one rate; else every moment by itself."""
    core = library.AbcCoreAbstract
    if len({clip.fps for clip in clips}) == 1:
        return core.TimeSampling(1 / clips[0].fps, 0.0)
    moments = core.TimeVector()
    for time in frame_times(clips):
        moments.append(float(time))
    return core.TimeSampling(core.TimeSamplingType(core.AcyclicFlag.kAcyclic), moments)


def _write_frames(library: Any, schema: Any, sequence: MeshSequence) -> None:
    """Connectivity and UVs go with the first sample and hold for all."""
    imath, geom = _imath(), library.AbcGeom
    sizes, mask = join_polygons(sequence.faces, sequence.asset)
    order = reversed_corners(sizes)
    corners = _ints(sequence.faces[mask][order])
    uvs = geom.OV2fGeomParamSample()
    if sequence.asset.uvs is not None:
        values, index = np.unique(sequence.asset.uvs[mask][order], axis=0, return_inverse=True)
        index = imath.UnsignedIntArray(imath.DoubleArrayFromBuffer(index.reshape(-1).astype(np.float64)))
        uvs = geom.OV2fGeomParamSample(
            imath.V2fArrayFromBuffer(np.ascontiguousarray(values)), index, geom.GeometryScope.kFacevaryingScope
        )
    for f, frame in enumerate(each_frame(sequence.source)):
        points = imath.V3fArrayFromBuffer(np.array(frame))
        first = geom.OPolyMeshSchemaSample(points, corners, _ints(sizes), uvs) if f == 0 else None
        schema.set(first or geom.OPolyMeshSchemaSample(points))


def _write_extras(library: Any, schema: Any, sequence: MeshSequence) -> None:
    imath, geom, asset = _imath(), library.AbcGeom, sequence.asset
    about = schema.getArbGeomParams()
    library.Abc.OP3fArrayProperty(about, "Pref").setValue(imath.V3fArrayFromBuffer(np.array(sequence.rest)))
    if asset.colors is not None:
        scope = geom.GeometryScope.kVertexScope
        colors = geom.OC4fGeomParam(about, "Cd", False, scope, 1)
        colors.set(geom.OC4fGeomParamSample(_colors(asset.colors), scope))
    for name, polygons in zip(set_names(asset), _polygons_by_material(sequence), strict=True):
        schema.createFaceSet(name).getSchema().set(geom.OFaceSetSchemaSample(_ints(polygons)))
    metadata = schema.getUserProperties()
    if asset.primitive_of_triangle is not None:
        library.Abc.OInt32ArrayProperty(metadata, "primitive_of_triangle").setValue(_ints(asset.primitive_of_triangle))
    library.Abc.OStringProperty(metadata, METADATA_KEY).setValue(json.dumps(_metadata(sequence)))


def _metadata(sequence: MeshSequence) -> dict[str, Any]:
    return {
        "version": METADATA_VERSION,
        "name": sequence.name,
        "clips": pack_clips(sequence.clips),
        "materials": pack_materials(sequence.asset.materials),
        "primitive_names": list(sequence.asset.primitive_names),
    }


def set_names(asset: Asset) -> list[str]:
    """Names of the face sets, one per material; none if the triangles have no materials."""
    if asset.triangle_material is None:
        return []
    names: dict[str, None] = {}
    for material in asset.materials:
        name = _safe(material.name)
        while name in names:
            name += "_"
        names[name] = None
    return list(names)


def _polygons_by_material(sequence: MeshSequence) -> list[NDArray[np.intp]]:
    asset = sequence.asset
    if asset.triangle_material is None:
        return []
    _, mask = join_polygons(sequence.faces, asset)
    of_polygon = asset.triangle_material[mask[:, 0]]
    return [np.flatnonzero(of_polygon == m) for m in range(len(asset.materials))]


def _safe(name: str) -> str:
    """The name without the separator of Alembic's paths."""
    return re.sub(r"[/\x00-\x1f]", "_", name) or "mesh"


def _imath() -> Any:
    return import_module("imath")


def _ints(values: NDArray[Any]) -> Any:
    return _imath().IntArrayFromBuffer(np.ascontiguousarray(values, dtype=np.int32))


def _colors(values: Float32) -> Any:
    imath = _imath()
    out = imath.C4fArray(len(values))
    for i, channel in enumerate("rgba"):
        getattr(out, channel)[:] = imath.FloatArrayFromBuffer(np.ascontiguousarray(values[:, i]))
    return out
