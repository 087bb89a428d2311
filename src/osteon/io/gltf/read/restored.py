"""Files that Osteon wrote: the model they were made from, with its vertices and triangles in their own order.

The file has a vertex once for each of its texture coordinates, and triangles sorted by material; metadata record the
original order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import BoneTrack, BoneType
from osteon.core.arrays import Float32, Float64, FloatArray, Int32
from osteon.core.character import Corrections, Skeleton, Skin
from osteon.core.mesh import Asset, CornerNormals
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import linear_blend_model
from osteon.io.gltf.corner_shift import undo_corner_shift
from osteon.io.gltf.quantize import MorphRange, unpack_mesh
from osteon.io.gltf.read.accessors import read_floats
from osteon.io.gltf.read.asset import read_materials
from osteon.io.gltf.read.bones import Bones, pick_bones
from osteon.io.gltf.read.metadata import (
    Metadata,
    read_stored_deformer,
    restore_displacements,
    restore_stored_edits,
)
from osteon.io.gltf.read.scene import GltfScene, MeshInstance
from osteon.io.load.source import as_float32

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RestoredMesh:
    """The mesh as the model had it."""

    vertices: IntArray  # (v,) the vertex of the file for each one of the model
    faces: Int32  # (t,3)
    asset: Asset


def rest_of_file(metadata: Metadata) -> Float64:
    """(4,4) from stored positions to the rest pose."""
    scale, *shift = metadata.numbers("dequantize", [1.0, 0.0, 0.0, 0.0])
    matrix = np.diag([scale, scale, scale, 1.0])
    matrix[:3, 3] = shift
    if not scale > 0:
        raise metadata.document.error("'dequantize' of Osteon's metadata is not positive; write the file again")
    return matrix


def bones_of_file(metadata: Metadata, scene: GltfScene, bones: Bones) -> Bones:
    """The joints that are bones, in the order of the bones."""
    chosen = _bone_joints(metadata, scene)
    return bones if chosen is None else pick_bones(bones, chosen)


def _bone_joints(metadata: Metadata, scene: GltfScene) -> list[int] | None:
    """For each bone the index of its joint in the skin; None if the joints are the bones, in their order."""
    chosen = metadata.wholes("bone_joints")
    if chosen is None:
        return None
    skin = _only_instance(metadata, scene).skin
    n_joints = 0 if skin is None else len(set(skin.nodes))
    if not chosen or len(set(chosen)) != len(chosen) or min(chosen) < 0 or max(chosen) >= n_joints:
        raise metadata.document.error("'bone_joints' of Osteon's metadata does not fit the skin; write the file again")
    return chosen


def restore_mesh(metadata: Metadata, scene: GltfScene) -> RestoredMesh:
    """Triangles and materials in the model's order."""
    instance = _only_instance(metadata, scene)
    pieces = instance.geometry.pieces
    corners = np.concatenate([piece.faces for piece in pieces])
    counts = [len(piece.faces) for piece in pieces]
    vertex = metadata.indices("vertices", instance.n_vertices)
    vertex = np.arange(instance.n_vertices) if vertex is None else vertex
    triangle = metadata.indices("triangles", len(corners))
    triangle = np.arange(len(corners)) if triangle is None else triangle
    n_vertices = int(vertex.max()) + 1
    if n_vertices > instance.n_vertices or not np.bincount(vertex, minlength=n_vertices).all():
        raise metadata.document.error("'vertices' of Osteon's metadata omits some; write the file again")
    if not np.array_equal(np.sort(triangle), np.arange(len(corners))):
        raise metadata.document.error("'triangles' of Osteon's metadata omits some; write the file again")
    first = np.empty(n_vertices, np.int64)
    first[vertex[::-1]] = np.arange(instance.n_vertices)[::-1]
    shifts = metadata.indices("turns", len(corners))
    if shifts is not None:
        corners = undo_corner_shift(corners, vertex, shifts[triangle])
    order = np.argsort(triangle)  # the model's triangle i is triangle order[i] of the file
    faces = vertex[corners][order].astype(np.int32)
    return RestoredMesh(first, faces, _asset(metadata, instance, corners, counts, (first, order)))


def _only_instance(metadata: Metadata, scene: GltfScene) -> MeshInstance:
    if len(scene.instances) != 1 or scene.instances[0].skin is None:
        raise metadata.document.error("does not have the one skinned mesh of Osteon's metadata; write it again")
    return scene.instances[0]


def _asset(
    metadata: Metadata, instance: MeshInstance, corners: IntArray, counts: list[int], taken: tuple[IntArray, IntArray]
) -> Asset:
    """The asset; `corners` as in the file, `taken` the indices there of the model's vertices and triangles."""
    document, geometry = metadata.document, instance.geometry
    first, order = taken
    n_materials = len(document.items("materials"))
    plain = document.whole(metadata.entries, "plain", "Osteon's metadata", n_materials)
    if plain < n_materials - 1:
        raise document.error("'plain' of Osteon's metadata is not the last material; write the file again")
    materials = [None if piece.material == plain else piece.material for piece in geometry.pieces]
    primitives = metadata.wholes("primitives")
    if primitives is not None and len(primitives) != len(counts):
        raise document.error("'primitives' of Osteon's metadata does not fit the file; write it again")
    polygons = metadata.indices("polygons", len(corners))
    used = None not in materials
    uvs = [as_float32((each * [1, -1] + [0, 1])[corners][order]) for each in geometry.uvs]
    colors = _own_colors(metadata, [as_float32(each[first]) for each in geometry.colors])
    return Asset(
        uvs=uvs[0] if uvs else None,
        colors=colors[0] if colors else None,
        more_uvs=tuple(uvs[1:]),
        more_colors=tuple(colors[1:]),
        materials=tuple(read_materials(document, list(range(min(plain, n_materials))))[0]),
        triangle_material=np.repeat(np.array(materials, np.int32), counts)[order] if used else None,
        polygon_of_triangle=None if polygons is None else polygons.astype(np.int32),
        primitive_of_triangle=None if primitives is None else np.repeat(np.array(primitives), counts)[order],
        primitive_names=metadata.texts("primitive_names") or (),
        normals=_own_normals(metadata, instance, corners[order]),
        faceted=metadata.entries.get("faceted") is True,
    )


def _own_colors(metadata: Metadata, shown: list[Float32]) -> list[Float32]:
    """The model's own sets of colours (v,4); the first set of a painted mesh holds light."""
    painted = metadata.entries.get("painted")
    if not isinstance(painted, dict) or not shown:
        return shown
    if "colors" not in painted:
        return shown[1:]
    own = read_floats(metadata.document, painted["colors"], (1,), "'painted' of Osteon's metadata")
    if own.size != shown[0].size:
        raise metadata.document.error("'painted' of Osteon's metadata does not fit the mesh; write the file again")
    return [as_float32(own.reshape(shown[0].shape)), *shown[1:]]


def _without_light(metadata: Metadata, generic: SkinnedModel) -> SkinnedModel:
    """The model without morph targets of light, which come last."""
    painted = metadata.entries.get("painted")
    count = painted.get("targets", 0) if isinstance(painted, dict) else 0
    stored = generic.corrections
    if not count or stored is None:
        return generic
    if type(count) is not int or not 0 < count <= stored.n_columns:
        raise metadata.document.error("'painted' of Osteon's metadata has more targets than the mesh; write it again")
    kept = stored.n_columns - count
    return generic.with_corrections(stored.take(np.arange(kept)) if kept else None)


def _own_normals(metadata: Metadata, instance: MeshInstance, corners: IntArray) -> CornerNormals | None:
    """The model's own normals, one for each vertex of the file; None if it had none."""
    normals = instance.geometry.normals
    if metadata.entries.get("normals") is not True or normals is None:
        return None
    deltas, spans = instance.geometry.normal_deltas, metadata.numbers("span", [])
    if deltas is not None and len(spans) == len(deltas):
        low = np.array(metadata.numbers("low", [0.0] * len(spans)))
        normals = normals + np.tensordot(-low / np.array(spans), deltas, axes=1)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    unit = np.where(length > 0, normals / np.where(length > 0, length, 1), [0.0, 0.0, 1.0])
    return CornerNormals(as_float32(unit), corners.astype(np.int32))


def restore_model(metadata: Metadata, scene: GltfScene, generic: SkinnedModel) -> SkinnedModel:
    """The model that was written; the `generic` one, as any program reads it, already has its bones and clips."""
    generic = _without_light(metadata, generic)
    mesh = restore_mesh(metadata, scene)
    kept = metadata.document.whole(metadata.entries, "influences", "Osteon's metadata", generic.skin.n_influences)
    skeleton = _skeleton(metadata, generic.track.n_bones, _joint_names(metadata, scene))
    names = metadata.texts("bones") or _joint_names(metadata, scene)
    rest, corrections = _unpacked(metadata, scene, generic)
    stored = metadata.text("bone_type")
    kind: BoneType = next((known for known in get_args(BoneType) if known == stored), "flexible")
    skin = Skin(generic.skin.bones[mesh.vertices, :kept], generic.skin.weights[mesh.vertices, :kept])
    model = linear_blend_model(
        metadata.document.source.positions(rest[mesh.vertices]),
        mesh.faces,
        skin,
        BoneTrack(generic.track.transforms, kind, names),
        generic.clips,
        corrections=None if corrections is None else _picked(corrections, mesh),
        skeleton=skeleton,
        asset=mesh.asset,
        name=metadata.text("name") or generic.name,
    )
    deformer = read_stored_deformer(metadata)
    model = model if deformer is None else model.with_character(deformer=deformer, fallback=model.skin)
    return restore_stored_edits(metadata, restore_displacements(metadata, model))


def _unpacked(metadata: Metadata, scene: GltfScene, generic: SkinnedModel) -> tuple[FloatArray, Corrections | None]:
    """Rest pose and corrections of the file's vertices, without the changes of `morph_range`."""
    stored = generic.corrections
    if stored is None or "low" not in metadata.entries:
        return generic.rest, stored
    nothing = [0.0] * stored.n_columns
    morph_range = MorphRange(np.array(metadata.numbers("low", nothing)), np.array(metadata.numbers("span", nothing)))
    if not (morph_range.span > 0).all():
        raise metadata.document.error("'span' of Osteon's metadata is not positive; write the file again")
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is reported later
        return unpack_mesh(generic.rest, stored, morph_range, _stored_normals(metadata, scene))


def _stored_normals(metadata: Metadata, scene: GltfScene) -> Float64 | None:
    """(v,3) unit normals of the file's vertices."""
    instance = _only_instance(metadata, scene)
    mesh = metadata.document.item(
        "meshes", metadata.document.items("nodes")[instance.node].get("mesh"), "the skinned node"
    )
    number = instance.geometry.pieces[0].number
    attributes = metadata.document.objects(mesh, "primitives", "the mesh")[number].get("attributes", {})
    if "NORMAL" not in attributes:
        return None
    normals = read_floats(metadata.document, attributes["NORMAL"], (3,), "NORMAL")
    if len(normals) != instance.n_vertices:
        raise metadata.document.error(f"NORMAL has {len(normals)} entries for {instance.n_vertices} vertices")
    return normals


def _picked(stored: Corrections, mesh: RestoredMesh) -> Corrections:
    """The corrections of the model's vertices; those of normals stay with those of the file if it has its own."""
    normals = stored.normal_basis
    if normals is not None and mesh.asset.normals is None:
        normals = normals[:, mesh.vertices]
    return Corrections(stored.basis[:, mesh.vertices], stored.coefficients, normals)


def _joint_names(metadata: Metadata, scene: GltfScene) -> tuple[str, ...]:
    skin = _only_instance(metadata, scene).skin
    nodes = [] if skin is None else skin.nodes
    chosen = _bone_joints(metadata, scene)
    nodes = nodes if chosen is None else [nodes[joint] for joint in chosen]
    stored = metadata.texts("joint_names")
    if stored is not None and len(stored) == len(nodes):
        return stored
    entries = metadata.document.items("nodes")
    return tuple(metadata.document.text(entries[node], "name", f"bone_{j}") for j, node in enumerate(nodes))


def _skeleton(metadata: Metadata, n_joints: int, names: tuple[str, ...]) -> Skeleton | None:
    parents = metadata.wholes("parents")
    if parents is None:
        return None
    world_from_joint = read_floats(
        metadata.document, metadata.entries.get("joints"), (1,), "'joints' of Osteon's metadata"
    )
    if len(parents) != n_joints or len(world_from_joint) != 12 * n_joints:
        raise metadata.document.error("'joints' of Osteon's metadata does not fit the skin; write the file again")
    return Skeleton(names, np.array(parents), as_float32(world_from_joint.reshape(-1, 3, 4)))
