"""The mesh of a glTF file: vertices split where their texture coordinates differ, triangles grouped by material."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.model import SkinnedModel
from osteon.io.doors.options import SaveOptions
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.meshopt.encode_filters import Packing
from osteon.io.gltf.morph_range import REAL_NUMBERS, Grid, PackedMesh, pack_mesh
from osteon.io.gltf.quantize import quantize_signed, quantize_unsigned
from osteon.io.gltf.write.buffer import BufferWriter
from osteon.io.gltf.write.influences import StoredInfluences
from osteon.io.gltf.write.names import target_names
from osteon.io.gltf.write.tangents import vertex_tangents

__all__ = ["Group", "MeshLayout", "lay_out_mesh", "rest_normals", "write_mesh"]

#: The largest index of 16 bits is kept free, as the specification asks.
MOST_SHORT = 65535


@dataclass(frozen=True, slots=True)
class Group:
    """Triangles of one primitive."""

    primitive: int | None  # of the asset
    material: int | None
    start: int  # of its triangles in the file
    stop: int


@dataclass(frozen=True, slots=True)
class MeshLayout:
    """Which vertices and triangles of the model are where in the file."""

    vertices: Int32  # (n,) the model's vertex
    triangles: Int32  # (t,) the model's triangle
    corners: Int32  # (t,3) vertices of the file
    uvs: Float64 | None  # (n,2) origin at the top
    groups: tuple[Group, ...]
    turned: bool = False  # whether triangles may begin at another corner than the model's

    @property
    def has_materials(self) -> bool:
        """Whether triangles have materials of the model; all have, or none."""
        return self.groups[0].material is not None


def lay_out_mesh(model: SkinnedModel) -> MeshLayout:
    """Split vertices where texture coordinates differ, and sort triangles by primitive and material."""
    vertices, corners, uvs = _split(model)
    none = np.full(len(model.faces), -1, np.int32)
    primitive, material = model.asset.primitive_of_triangle, model.asset.triangle_material
    material = material if model.asset.materials else None
    keys = np.stack([none if primitive is None else primitive, none if material is None else material], axis=1)
    kinds, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable").astype(np.int32)
    stops = np.cumsum(np.bincount(group, minlength=len(kinds)))
    groups = [
        Group(None if p < 0 else int(p), None if m < 0 else int(m), int(start), int(stop))
        for (p, m), start, stop in zip(kinds, [0, *stops[:-1]], stops, strict=True)
    ]
    return MeshLayout(vertices, order, corners[order], uvs, tuple(groups))


def _split(model: SkinnedModel) -> tuple[Int32, Int32, Float64 | None]:
    """The model's vertex of each vertex in the file, corners (t,3), and texture coordinates."""
    if model.asset.uvs is None:
        return np.arange(model.n_vertices, dtype=np.int32), model.faces, None
    flat = np.ascontiguousarray(model.asset.uvs.reshape(-1, 2) + np.float32(0))  # -0 becomes 0
    unused = np.setdiff1d(np.arange(model.n_vertices), model.faces)
    at = np.concatenate([model.faces.reshape(-1), unused]).astype(np.int64)
    bits = np.concatenate([flat.view(np.uint32), np.zeros((len(unused), 2), np.uint32)]).astype(np.int64)
    rows = np.stack([at, bits[:, 0], bits[:, 1]], axis=1)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    corners = inverse.reshape(-1)[: 3 * len(model.faces)].reshape(-1, 3).astype(np.int32)
    both = np.concatenate([flat, np.zeros((len(unused), 2), np.float32)])[first].astype(np.float64)
    return at[first].astype(np.int32), corners, both * [1, -1] + [0, 1]


def rest_normals(model: SkinnedModel) -> Float64:
    """(v,3) smooth unit normals of the rest pose; upwards where a vertex has no area around it."""
    from osteon.core.normals import vertex_normals  # compiled: not needed to import the formats

    normals = vertex_normals(model.rest, model.faces)
    normals[np.abs(normals).max(axis=1) < 0.5] = [0.0, 0.0, 1.0]
    return normals


@dataclass(frozen=True, slots=True)
class WrittenMesh:
    """The JSON of a mesh, and what its numbers mean."""

    entry: JsonObject
    packed: PackedMesh


def write_mesh(
    model: SkinnedModel,
    layout: MeshLayout,
    influences: StoredInfluences,
    buffer: BufferWriter,
    options: SaveOptions,
    grid: Grid = REAL_NUMBERS,
) -> WrittenMesh:
    """All vertices once, a primitive for each group; `grid` is that of positions and targets."""
    pick = layout.vertices
    normals = rest_normals(model) if options.normals else None
    packed = pack_mesh(model, normals, grid)
    attributes = {"POSITION": _add_positions(buffer, packed, pick)}
    unit = Packing("OCTAHEDRAL") if options.compress else None
    attributes |= _write_surface(model, layout, normals, packed, buffer, unit) | influences.write(buffer, pick)
    targets = [_write_target(packed, r, pick, buffer) for r in range(packed.rank)]
    short = len(pick) <= MOST_SHORT
    corners = layout.corners.astype(np.uint16 if short else np.uint32)
    primitives = []
    for group in layout.groups:
        indices = buffer.add(corners[group.start : group.stop].reshape(-1), "indices")
        # Where the model has no material there is a plain one, after its own.
        material = len(model.asset.materials) if group.material is None else group.material
        entry: JsonObject = {"attributes": attributes, "indices": indices, "material": material}
        primitives.append(entry | ({"targets": targets} if targets else {}))
    mesh: JsonObject = {"primitives": primitives}
    if targets:
        mesh["extras"] = {"targetNames": target_names(len(targets))}
    return WrittenMesh(mesh, packed)


def _write_surface(
    model: SkinnedModel,
    layout: MeshLayout,
    normals: Float64 | None,
    packed: PackedMesh,
    buffer: BufferWriter,
    unit: Packing | None,
) -> dict[str, int]:
    """Normals, tangents where a picture of normals needs them, texture coordinates and colours.

    `unit` is how vectors of length one are packed, in a compressed file.
    """
    pick, found, quantize = layout.vertices, {}, packed.dequantize is not None
    kind = np.int8 if quantize else None
    if normals is not None and packed.normals is not None:
        found["NORMAL"] = _add_signed(buffer, packed.normals[pick], kind, packing=unit)
        if layout.uvs is not None and any(m.texture("normal") is not None for m in model.asset.materials):
            rest = model.rest[pick].astype(np.float64)
            tangents = vertex_tangents(rest, normals[pick], layout.uvs, layout.corners)
            found["TANGENT"] = _add_signed(buffer, tangents, kind, packing=unit)
    if layout.uvs is not None:
        found["TEXCOORD_0"] = _add_unsigned(buffer, layout.uvs, np.uint16 if quantize else None)
    if model.asset.colors is not None:
        found["COLOR_0"] = _add_colors(buffer, model.asset.colors[pick], quantize)
    return found


def _add_positions(buffer: BufferWriter, packed: PackedMesh, pick: Int32) -> int:
    points = packed.points[pick]
    if packed.dequantize is None:
        return buffer.add(points, "vertices", bounds=True)
    return buffer.add(packed.dequantize.quantize(points), "vertices", normalized=True, bounds=True)


def _add_signed(
    buffer: BufferWriter,
    values: NDArray[Any],
    kind: type[np.signedinteger[Any]] | None,
    bounds: bool = False,
    packing: Packing | None = None,
) -> int:
    """Numbers in -1 … 1 as normalised integers, or as they are."""
    if packing is not None:
        return buffer.add(values, "vertices", normalized=True, packing=packing)
    if kind is None:
        return buffer.add(values, "vertices", bounds=bounds)
    return buffer.add(quantize_signed(values, kind), "vertices", normalized=True, bounds=bounds)


def _add_unsigned(buffer: BufferWriter, values: NDArray[Any], kind: type[np.unsignedinteger[Any]] | None) -> int:
    """Numbers as normalised integers if they lie in 0 … 1, else as they are."""
    if kind is None or values.min(initial=0) < 0 or values.max(initial=0) > 1:
        return buffer.add(values, "vertices")
    return buffer.add(quantize_unsigned(values, kind), "vertices", normalized=True)


def _add_colors(buffer: BufferWriter, colors: Float32, quantize: bool) -> int:
    """Eight bits where they hold the colours exactly."""
    bytes_do = bool((quantize_unsigned(colors, np.uint8) / np.float32(255) == colors).all())
    return _add_unsigned(buffer, colors, np.uint8 if bytes_do else np.uint16 if quantize else None)


def _write_target(packed: PackedMesh, r: int, pick: Int32, buffer: BufferWriter) -> JsonObject:
    """The morph target of a correction."""
    quantize = packed.dequantize is not None
    target = {"POSITION": _add_signed(buffer, packed.target(r)[pick], np.int16 if quantize else None, bounds=True)}
    if packed.normal_targets is not None:
        target["NORMAL"] = _add_signed(buffer, packed.normal_targets[r][pick], np.int8 if quantize else None)
    return target
