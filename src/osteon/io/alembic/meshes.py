"""The meshes of an Alembic file: their transforms and samples, UVs, colours, normals, and face sets as materials."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.mesh import Asset, Material
from osteon.io.alembic.ogawa import check_ogawa
from osteon.io.alembic.write import METADATA_KEY, METADATA_VERSION, set_names
from osteon.io.formats.format_types import load_extra
from osteon.io.load.source import Source
from osteon.io.meshes.mesh import IntArray, MeshPart, Polygons, merge_mesh_parts, reversed_corners
from osteon.io.metadata.asset import damage_named, unpack_materials

#: Times closer to a sample than this fraction of the step count as that sample: they are sums of rounded steps.
NEAR = 1e-4


class _Indexed:
    """Samples of a property, fetched when they are read."""

    def __init__(self, fetch: Callable[[int], NDArray[Any]]) -> None:
        self._fetch = fetch

    def __getitem__(self, index: int) -> Float64:
        return np.asarray(self._fetch(index), np.float64)


@dataclass(frozen=True, slots=True)
class Samples:
    """Values over time, interpolated linearly between samples."""

    values: _Indexed
    times: Float64  # (n,) ascending seconds
    per_cycle: int = 1  # samples of one frame; more than one are the shutter's

    def at(self, moment: float) -> Float64:
        after = int(np.searchsorted(self.times, moment).clip(0, len(self.times) - 1))
        before = max(0, after - 1)
        span = self.times[after] - self.times[before]
        u = float(np.clip((moment - self.times[before]) / span, 0, 1)) if span > 0 else 1.0
        if after == before or 1 - u < NEAR:
            return self.values[after]
        return self.values[before] if u < NEAR else (1 - u) * self.values[before] + u * self.values[after]


@dataclass(frozen=True, slots=True)
class AlembicMesh:
    """One mesh of the file."""

    name: str
    schema: Any
    polygons: Polygons  # counter-clockwise
    order: IntArray  # (c,) which corner of the file each corner is
    positions: Samples  # of (v,3)
    above: tuple[Samples, ...]  # of (4,4) parent_from_child, from the root down

    @property
    def clocks(self) -> list[Float64]:
        """Times of the frames of everything that moves."""
        return [s.times[:: s.per_cycle] for s in (self.positions, *self.above) if len(s.times) > 1]


@contextmanager
def library_errors(source: Source) -> Iterator[None]:
    """Turn any error of the library into one line that names the file."""
    try:
        # Numbers that grow beyond all bounds are refused where they are used.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            yield
    except (RuntimeError, IndexError, MemoryError, ValueError, TypeError, OverflowError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise source.format_error(f"cannot be read as Alembic ({lines[-1][:120]}); export it again") from error


def read_alembic_meshes(path: Path) -> list[AlembicMesh]:
    """All polygon meshes and subdivision cages of the file, in its order."""
    source = Source(path)
    check_ogawa(source)
    library = load_extra("alembic3d", "alembic", path)
    with library_errors(source):
        archive = library.Abc.IArchive(str(path))
        return list(_walk(library, archive.getTop(), (), source))


def _walk(library: Any, parent: Any, above: tuple[Samples, ...], source: Source) -> Iterator[AlembicMesh]:
    geom = library.AbcGeom
    for i in range(parent.getNumChildren()):
        child = parent.getChild(i)
        header, below = child.getHeader(), above
        if geom.IXform.matches(header):
            schema = geom.IXform(parent, child.getName()).getSchema()
            below = (*(above if schema.getInheritsXforms() else ()), _matrices(library, schema))
        for kind in (geom.IPolyMesh, geom.ISubD):
            if kind.matches(header):
                yield _alembic_mesh(kind(parent, child.getName()).getSchema(), child.getName(), above, source)
        yield from _walk(library, child, below, source)


def _alembic_mesh(schema: Any, name: str, above: tuple[Samples, ...], source: Source) -> AlembicMesh:
    points, counts, corners = (
        schema.getPositionsProperty(),
        schema.getFaceCountsProperty(),
        schema.getFaceIndicesProperty(),
    )
    if not points.getNumSamples() or not counts.getNumSamples():
        raise source.format_error(f"mesh '{name}' has no samples; export it with its geometry")
    _check_topology(counts, corners, name, source)
    sizes = array_of(counts.samples[0])
    n_vertices = len(array_of(points.samples[0]))
    written = Polygons(sizes, array_of(corners.samples[0]))
    if len(written.corners) != int(sizes.sum()) or (sizes < 0).any():
        raise source.format_error(f"mesh '{name}' has {len(written.corners)} corners, its faces need {sizes.sum()}")
    written = written.checked(source, n_vertices)
    order = reversed_corners(sizes)
    positions = Samples(_Indexed(lambda i: array_of(points.samples[i])), _times(points), _per_cycle(points))
    return AlembicMesh(name, schema, Polygons(sizes, written.corners[order]), order, positions, above)


def _check_topology(counts: Any, corners: Any, name: str, source: Source) -> None:
    """Refuse a mesh whose faces change, by frame."""
    n = max(counts.getNumSamples(), corners.getNumSamples())
    if n == 1:
        return
    first = [array_of(p.samples[0]) for p in (counts, corners)]
    for f in range(1, n):
        for start, prop in zip(first, (counts, corners), strict=True):
            if f < prop.getNumSamples() and not np.array_equal(start, array_of(prop.samples[f])):
                raise Source(source.path, f).geometry_error(
                    f"the faces of mesh '{name}' differ from those of frame 0; all frames must share one connectivity"
                )


def _matrices(library: Any, schema: Any) -> Samples:
    """(4,4) for column vectors."""
    times = _times(schema)

    def fetch(i: int) -> Float64:
        matrix = schema.getValue(library.Abc.ISampleSelector(float(times[i]))).getMatrix()
        return np.array([[matrix[r][c] for r in range(4)] for c in range(4)])

    return Samples(_Indexed(fetch), times, _per_cycle(schema))


def _times(sampled: Any) -> Float64:
    clock = sampled.getTimeSampling()
    return np.array([clock.getSampleTime(i) for i in range(max(1, sampled.getNumSamples()))], np.float64)


def _per_cycle(sampled: Any) -> int:
    kind = sampled.getTimeSampling().getTimeSamplingType()
    return max(1, int(kind.getNumSamplesPerCycle())) if kind.isCyclic() else 1


def array_of(values: Any) -> np.ndarray:
    """A copy of an array of the library; unsigned ones have no buffer and are walked."""
    try:
        return np.array(memoryview(values))
    except TypeError:
        return np.array(list(values), np.int64)


def metadata_of(part: AlembicMesh) -> dict[str, Any]:
    """Osteon's metadata of the mesh; empty for other files, or if it is malformed."""
    properties = part.schema.getUserProperties()
    if not properties.valid() or METADATA_KEY not in [h.getName() for h in properties.propertyheaders]:
        return {}
    try:
        stored = json.loads(import_module("alembic3d").Abc.IStringProperty(properties, METADATA_KEY).samples[0])
    except (ValueError, RuntimeError, RecursionError):
        return {}
    return stored if isinstance(stored, dict) and stored.get("version") == METADATA_VERSION else {}


def merge_alembic_meshes(parts: list[AlembicMesh], metadata: dict[str, Any], source: Source) -> tuple[Int32, Asset]:
    """Triangles of all meshes, and their asset. `metadata` is what Osteon stored, in a single mesh."""
    faces, asset = merge_mesh_parts([_mesh_part(part) for part in parts])
    with damage_named(source):
        return faces, _with_metadata(asset, parts[0], metadata) if metadata else asset


def _mesh_part(part: AlembicMesh) -> MeshPart:
    n_vertices = len(part.positions.values[0])
    sizes = part.polygons.sizes
    signs = [np.sign(np.linalg.det(s.values[0][:3, :3])) for s in part.above]
    order = reversed_corners(sizes) if np.prod(signs) < 0 else np.arange(len(part.order))  # mirrored by its transforms
    uvs, normals = _corner_uvs(part, n_vertices), _corner_normals(part, n_vertices)
    materials, numbers = _materials(part)
    return MeshPart(
        part.name,
        n_vertices,
        Polygons(sizes, part.polygons.corners[order]),
        None if uvs is None else uvs[order],
        _vertex_colors(part, n_vertices),
        materials,
        numbers,
        None if normals is None else normals[order],
    )


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
