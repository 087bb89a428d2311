"""The mesh of a glTF file: vertices split where uvs or normals differ, triangles grouped by material, and influences.

Influences are sets of four joints, with weights that sum to one and unused slots all zero.

Tangents, which a normal map needs, are those of the rest pose: the direction in which u grows, perpendicular to the
normal. Based on: Lengyel, Foundations of Game Engine Development, volume 2, 2019, section 7.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.character import Skin
from osteon.core.errors import GeometryError
from osteon.core.mesh import Asset
from osteon.core.model import SkinnedModel
from osteon.io.engines import engine_of
from osteon.io.formats.options import SaveOptions
from osteon.io.gltf import JsonObject
from osteon.io.gltf.meshopt.filters import Packing
from osteon.io.gltf.quantize import (
    REAL_NUMBERS,
    Grid,
    PackedMesh,
    pack_mesh,
    quantize_signed,
    quantize_unsigned,
    quantize_weights,
)
from osteon.io.gltf.write.buffer import BufferWriter
from osteon.io.metadata.target_names import target_names

MOST_INFLUENCES = 8
MOST_JOINTS = 65536
#: The specification allows sums of weights to differ from one by this per weight; such weights are not rescaled.
SUM_TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True)
class StoredInfluences:
    """(v,4) or (v,8) bones and weights."""

    bones: Int32
    weights: Float32
    quantize: bool
    joint_of_bone: Int32  # (b,) indices in the skin
    bits: int | None = None  # of compressed weights, which sum to 2^bits steps

    def write(self, buffer: BufferWriter, pick: Int32) -> dict[str, int]:
        """The attributes of all sets, for the vertices `pick`."""
        joints, weights = self.joint_of_bone[self.bones[pick]], self.weights[pick]
        kind = np.uint8 if self.joint_of_bone[self.bones].max(initial=0) < 256 else np.uint16
        packing = None if self.bits is None else Packing("EXPONENTIAL", self.bits)
        stored: NDArray[Any] = weights
        if self.bits is not None:
            stored = round_weights(weights, self.bits)
        elif self.quantize:
            stored = quantize_weights(weights).astype(np.uint16)
        joints = np.where(stored > 0, joints, 0).astype(kind)
        found = {}
        for n in range(weights.shape[1] // 4):
            now = slice(4 * n, 4 * n + 4)
            found[f"JOINTS_{n}"] = buffer.add(joints[:, now], "vertices")
            found[f"WEIGHTS_{n}"] = buffer.add(stored[:, now], "vertices", normalized=self.quantize, packing=packing)
        return found


def round_weights(weights: Float32, bits: int) -> Float32:
    """(v,k) weights as multiples of 2^-bits whose rows sum to one; the codec stores them exactly."""
    return (quantize_weights(weights, 1 << bits) * 2.0**-bits).astype(np.float32)


def store_influences(
    skin: Skin, joint_of_bone: Sequence[int], quantize: bool, bits: int | None = None
) -> StoredInfluences:
    """The skin in four or eight slots; refused if a weight is negative or a vertex has more than eight influences."""
    if max(joint_of_bone, default=0) >= MOST_JOINTS:
        raise GeometryError(f"skin: {len(joint_of_bone)} bones, but glTF holds {MOST_JOINTS} joints; fit fewer bones")
    if skin.weights.min(initial=0) < 0:
        v = int(skin.weights.min(axis=1).argmin())
        raise GeometryError(
            f"weights: vertex {v} has the weight {skin.weights[v].min():.3g}, but glTF has no negative weights; "
            "fit non-negative weights"
        )
    bones, weights = _merged(skin.bones.copy(), skin.weights.astype(np.float64))
    bones, weights = _narrowed(bones, weights)
    width = 4 if weights.shape[1] <= 4 else MOST_INFLUENCES
    short = ((0, 0), (0, width - weights.shape[1]))
    bones, weights = np.pad(bones, short), np.pad(weights, short)
    sums, used = weights.sum(axis=1), (weights > 0).sum(axis=1)
    off = np.abs(sums - 1) > SUM_TOLERANCE * used
    weights[off] /= sums[off, None]
    used_bones = np.where(weights > 0, bones, 0).astype(np.int32)
    joints = np.array(joint_of_bone, np.int32)
    return StoredInfluences(used_bones, weights.astype(np.float32), quantize, joints, bits)


def _merged(bones: Int32, weights: np.ndarray) -> tuple[Int32, np.ndarray]:
    """Each bone once per vertex: the weight of a later slot is added to the first one of the same bone."""
    for later in range(1, bones.shape[1]):
        for first in range(later):
            same = (bones[:, later] == bones[:, first]) & (weights[:, later] > 0) & (weights[:, first] > 0)
            weights[same, first] += weights[same, later]
            weights[same, later] = 0
    return bones, weights


def _narrowed(bones: Int32, weights: np.ndarray) -> tuple[Int32, np.ndarray]:
    """At most eight slots; refused if a vertex uses more."""
    if bones.shape[1] <= MOST_INFLUENCES:
        return bones, weights
    used = (weights > 0).sum(axis=1)
    if used.max() > MOST_INFLUENCES:
        v = int(used.argmax())
        raise GeometryError(
            f"skin: vertex {v} follows {used[v]} bones, but glTF players support {MOST_INFLUENCES}; "
            "fit fewer influences"
        )
    order = np.argsort(weights <= 0, axis=1, kind="stable")[:, :MOST_INFLUENCES]
    return np.take_along_axis(bones, order, axis=1), np.take_along_axis(weights, order, axis=1)


#: The largest index of 16 bits is reserved by the specification.
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
    """The vertices and triangles of the model in the order of the file."""

    vertices: Int32  # (n,) the model's vertex
    normals: Int32  # (n,) the model's normal: an authored one, or that of the vertex
    triangles: Int32  # (t,) the model's triangle
    corners: Int32  # (t,3) vertices of the file
    uvs: tuple[Float64, ...]  # (n,2) each set, origin at the top
    groups: tuple[Group, ...]
    shifted: bool = False  # whether triangles may begin at another corner than the model's

    @property
    def has_materials(self) -> bool:
        """Whether triangles have materials of the model; either all have, or none."""
        return self.groups[0].material is not None


def lay_out_mesh(model: SkinnedModel) -> MeshLayout:
    """Split vertices where texture coordinates or normals differ, and sort triangles by primitive and material."""
    vertices, normals, corners, uvs = _split(model)
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
    return MeshLayout(vertices, normals, order, corners[order], uvs, tuple(groups))


def _split(model: SkinnedModel) -> tuple[Int32, Int32, Int32, tuple[Float64, ...]]:
    """The model's vertex and normal for each vertex of the file, corners (t,3), and texture coordinates."""
    own, uvs = model.asset.normals, uv_sets(model.asset)
    if not uvs and own is None:
        same = np.arange(model.n_vertices, dtype=np.int32)
        return same, same, model.faces, ()
    unused = np.setdiff1d(np.arange(model.n_vertices), model.faces)
    n_corners = 3 * len(model.faces)
    rows = np.zeros((n_corners + len(unused), 2 + 2 * max(1, len(uvs))), np.int64)
    rows[:, 0] = np.concatenate([model.faces.reshape(-1), unused])
    rows[:n_corners, 1] = model.faces.reshape(-1) if own is None else own.of_corner.reshape(-1)
    rows[n_corners:, 1] = unused if own is None else 0
    flat = np.zeros((len(uvs), len(rows), 2), np.float32)
    for n, each in enumerate(uvs):
        flat[n, :n_corners] = each.reshape(-1, 2) + np.float32(0)  # -0 becomes 0
        rows[:, 2 + 2 * n : 4 + 2 * n] = flat[n].view(np.uint32)
    order = np.lexsort(rows.T[::-1])
    begins = np.ones(len(rows), bool)
    begins[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    number = np.empty(len(rows), np.int32)
    number[order] = (np.cumsum(begins) - 1).astype(np.int32)
    first = order[begins]
    corners = number[:n_corners].reshape(-1, 3)
    vertices, normals = rows[first, 0].astype(np.int32), rows[first, 1].astype(np.int32)
    return vertices, normals, corners, tuple(each[first].astype(np.float64) * [1, -1] + [0, 1] for each in flat)


def uv_sets(asset: Asset) -> tuple[Float32, ...]:
    """(t,3,2) all sets of texture coordinates."""
    return () if asset.uvs is None else (asset.uvs, *asset.more_uvs)


def write_mesh(
    model: SkinnedModel,
    layout: MeshLayout,
    influences: StoredInfluences,
    buffer: BufferWriter,
    options: SaveOptions,
    grid: Grid = REAL_NUMBERS,
    names: Sequence[str] = (),
) -> tuple[JsonObject, PackedMesh]:
    """Write all vertices once, and a primitive for each group; returns the JSON and the mesh with its scales.

    `grid` is the quantisation grid of positions and targets, `names` those of the targets.
    """
    pick = layout.vertices
    normals = None
    if options.normals and not model.asset.faceted:
        from osteon.deform.normals import rest_normals, surface_normals  # compiled: not needed to import the formats

        on_surface = engine_of(options.engine).normals == "the surface"
        normals = (surface_normals if on_surface else rest_normals)(model.mesh)
    packed = pack_mesh(model, normals, grid)
    points = packed.points[pick]
    stored = points if packed.dequantize is None else packed.dequantize.quantize(points)
    whole = packed.dequantize is not None
    attributes = {"POSITION": buffer.add(stored, "vertices", normalized=whole, bounds=True)}
    unit = Packing("OCTAHEDRAL") if options.compress else None
    attributes |= _write_surface(model, layout, normals, packed, buffer, unit) | influences.write(buffer, pick)
    targets = _write_targets(packed, layout, buffer)
    short = len(pick) <= MOST_SHORT
    corners = layout.corners.astype(np.uint16 if short else np.uint32)
    primitives = []
    for group in layout.groups:
        indices = buffer.add(corners[group.start : group.stop].reshape(-1), "indices")
        # Triangles without a material get the plain one after those of the model.
        material = len(model.asset.materials) if group.material is None else group.material
        entry: JsonObject = {"attributes": attributes, "indices": indices, "material": material}
        primitives.append(entry | ({"targets": targets} if targets else {}))
    mesh: JsonObject = {"primitives": primitives}
    if targets:
        mesh["extras"] = {"targetNames": list(names) or target_names(len(targets))}
    return mesh, packed


def _write_surface(
    model: SkinnedModel,
    layout: MeshLayout,
    normals: Float64 | None,
    packed: PackedMesh,
    buffer: BufferWriter,
    unit: Packing | None,
) -> dict[str, int]:
    """Normals, tangents for a normal map, texture coordinates and colours.

    `unit` is the packing of unit vectors in a compressed file.
    """
    pick, found, quantize = layout.vertices, {}, packed.dequantize is not None
    kind = np.int8 if quantize else None
    if normals is not None and packed.normals is not None:
        found["NORMAL"] = _add_signed(buffer, packed.normals[layout.normals], kind, packing=unit)
        uvs = _uvs_of_normal_map(model.asset, layout)
        if uvs is not None:
            rest = model.rest[pick].astype(np.float64)
            tangents = vertex_tangents(rest, normals[layout.normals], uvs, layout.corners)
            found["TANGENT"] = _add_signed(buffer, tangents, kind, packing=unit)
    for n, uvs in enumerate(layout.uvs):
        found[f"TEXCOORD_{n}"] = _add_unsigned(buffer, uvs, np.uint16 if quantize else None)
    if model.asset.colors is not None:
        for n, colors in enumerate((model.asset.colors, *model.asset.more_colors)):
            exact = bool((quantize_unsigned(colors[pick], np.uint8) / np.float32(255) == colors[pick]).all())
            bits = np.uint8 if exact else np.uint16 if quantize else None
            found[f"COLOR_{n}"] = _add_unsigned(buffer, colors[pick], bits)
    return found


def _uvs_of_normal_map(asset: Asset, layout: MeshLayout) -> Float64 | None:
    """(n,2) the coordinates that a normal map uses; None without one."""
    sets = [material.uv_set("normal") for material in asset.materials if material.texture("normal") is not None]
    return layout.uvs[sets[0]] if sets and sets[0] < len(layout.uvs) else None


def _add_signed(
    buffer: BufferWriter,
    values: NDArray[Any],
    kind: type[np.signedinteger[Any]] | None,
    bounds: bool = False,
    packing: Packing | None = None,
) -> int:
    """Add numbers in -1 … 1 as normalised integers of a `kind`, or as floats."""
    if packing is not None:
        return buffer.add(values, "vertices", normalized=True, packing=packing)
    if kind is None:
        return buffer.add(values, "vertices", bounds=bounds)
    return buffer.add(quantize_signed(values, kind), "vertices", normalized=True, bounds=bounds)


def _add_unsigned(buffer: BufferWriter, values: NDArray[Any], kind: type[np.unsignedinteger[Any]] | None) -> int:
    """Add numbers as normalised integers of a `kind` if they are in 0 … 1, else as floats."""
    if kind is None or values.min(initial=0) < 0 or values.max(initial=0) > 1:
        return buffer.add(values, "vertices")
    return buffer.add(quantize_unsigned(values, kind), "vertices", normalized=True)


def _write_targets(packed: PackedMesh, layout: MeshLayout, buffer: BufferWriter) -> list[JsonObject]:
    """The morph targets of the corrections.

    If some target moves normals every one has both attributes; those without displacements share one accessor of zeros:
    three.js uses the mesh's own positions and normals for an attribute that a target does not have, and Cesium refuses
    an accessor without a view (docs/engines.md).
    """
    quantize, nothing = packed.dequantize is not None, -1
    found: list[JsonObject] = []
    for r in range(packed.rank):
        moved, normals = packed.target(r), None if packed.normal_targets is None else packed.normal_targets[r]
        if nothing < 0 and normals is not None and not (moved.any() and normals.any()):
            zeros = np.zeros((len(layout.vertices), 3), np.int8 if quantize else np.float32)
            nothing = buffer.add(zeros, "vertices", normalized=quantize, bounds=True)
        target = {"POSITION": nothing}
        if normals is None or moved.any():
            kind = np.int16 if quantize else None
            target["POSITION"] = _add_signed(buffer, moved[layout.vertices], kind, bounds=True)
        if normals is not None:
            kind8 = np.int8 if quantize else None
            target["NORMAL"] = _add_signed(buffer, normals[layout.normals], kind8) if normals.any() else nothing
        found.append(target)
    return found


def vertex_tangents(points: Float64, normals: Float64, uvs: Float64, corners: Int32) -> Float64:
    """(n,4) unit tangents and their sign, from points and normals (n,3), uvs (n,2) with v down, and corners (t,3)."""
    edges = points[corners[:, 1:]] - points[corners[:, :1]]
    steps = uvs[corners[:, 1:]] - uvs[corners[:, :1]]
    area = steps[:, 0, 0] * steps[:, 1, 1] - steps[:, 1, 0] * steps[:, 0, 1]
    sign = np.where(area < 0, -1.0, 1.0)[:, None]  # the area itself would only favour stretched triangles
    along_u = sign * (edges[:, 0] * steps[:, 1, 1:] - edges[:, 1] * steps[:, 0, 1:])
    along_v = sign * (edges[:, 1] * steps[:, 0, :1] - edges[:, 0] * steps[:, 1, :1])
    tangents, across = np.zeros_like(points), np.zeros_like(points)
    for corner in range(3):
        np.add.at(tangents, corners[:, corner], along_u)
        np.add.at(across, corners[:, corner], along_v)
    tangents = _unit_or(tangents - normals * (normals * tangents).sum(axis=1, keepdims=True), _perpendicular(normals))
    # glTF's bitangent points up in the image, against v as it is stored.
    side = np.where((np.cross(normals, tangents) * across).sum(axis=1, keepdims=True) > 0, -1.0, 1.0)
    return np.concatenate([tangents, side], axis=1)


def _unit_or(vectors: Float64, otherwise: Float64) -> Float64:
    """Normalised vectors; `otherwise` for zero vectors."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    none = length <= 1e-12 * max(1e-300, float(length.max(initial=0.0)))
    return np.asarray(np.where(none, otherwise, vectors / np.where(none, 1, length)))


def _perpendicular(normals: Float64) -> Float64:
    """A unit vector perpendicular to each normal."""
    axis = np.eye(3)[np.abs(normals).argmin(axis=1)]
    across = np.cross(normals, axis)
    return np.asarray(across / np.linalg.norm(across, axis=1, keepdims=True))
