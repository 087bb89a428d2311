"""Files that Osteon wrote: the model they were made from, vertex for vertex and triangle for triangle.

The file holds a vertex once for each texture coordinate it has, and its triangles by material; notes say how it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, FloatArray, Int32
from osteon.core.model import BoneTrack, BoneType, Corrections, Skeleton, Skin, SkinnedModel
from osteon.core.sequence import Asset
from osteon.io.doors.source import as_float32
from osteon.io.gltf.morph_range import Fold, unfold_mesh
from osteon.io.gltf.read.accessors import read_floats
from osteon.io.gltf.read.materials import read_materials
from osteon.io.gltf.read.metadata import Notes
from osteon.io.gltf.read.scene import Part, Scene

__all__ = ["OwnMesh", "rest_of_file", "restore_mesh", "restore_model"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OwnMesh:
    """The mesh as the model had it."""

    vertices: IntArray  # (v,) where the file has each vertex of the model
    faces: Int32  # (t,3)
    asset: Asset


def rest_of_file(notes: Notes) -> Float64:
    """(4,4) from stored positions to the rest pose."""
    scale, *shift = notes.numbers("dequantize", [1.0, 0.0, 0.0, 0.0])
    matrix = np.diag([scale, scale, scale, 1.0])
    matrix[:3, 3] = shift
    if not scale > 0:
        raise notes.document.error("'dequantize' of Osteon's notes is not positive; write the file again")
    return matrix


def restore_mesh(notes: Notes, scene: Scene) -> OwnMesh:
    """Triangles and looks in the model's own order."""
    part = _only_part(notes, scene)
    pieces = part.geometry.pieces
    corners = np.concatenate([piece.faces for piece in pieces])
    counts = [len(piece.faces) for piece in pieces]
    vertex = notes.indices("vertices", part.n_vertices)
    vertex = np.arange(part.n_vertices) if vertex is None else vertex
    triangle = notes.indices("triangles", len(corners))
    triangle = np.arange(len(corners)) if triangle is None else triangle
    n_vertices = int(vertex.max()) + 1
    if n_vertices > part.n_vertices or not np.bincount(vertex, minlength=n_vertices).all():
        raise notes.document.error("'vertices' of Osteon's notes leaves some out; write the file again")
    if not np.array_equal(np.sort(triangle), np.arange(len(corners))):
        raise notes.document.error("'triangles' of Osteon's notes leaves some out; write the file again")
    first = np.empty(n_vertices, np.int64)
    first[vertex[::-1]] = np.arange(part.n_vertices)[::-1]
    order = np.argsort(triangle)  # model's triangle i is number order[i] of the file
    faces = vertex[corners][order].astype(np.int32)
    return OwnMesh(first, faces, _asset(notes, part, corners, counts, (first, order)))


def _only_part(notes: Notes, scene: Scene) -> Part:
    if len(scene.parts) != 1 or scene.parts[0].skin is None:
        raise notes.document.error("is not the one skinned mesh that Osteon's notes speak of; write it again")
    return scene.parts[0]


def _asset(notes: Notes, part: Part, corners: IntArray, counts: list[int], taken: tuple[IntArray, IntArray]) -> Asset:
    """The looks; `corners` as in the file, `taken` the numbers there of the model's vertices and triangles."""
    document, geometry = notes.document, part.geometry
    first, order = taken
    n_materials = len(document.items("materials"))
    plain = document.whole(notes.entries, "plain", "Osteon's notes", n_materials)
    if plain < n_materials - 1:
        raise document.error("'plain' of Osteon's notes is not the last material; write the file again")
    materials = [None if piece.material == plain else piece.material for piece in geometry.pieces]
    primitives = notes.wholes("primitives")
    if primitives is not None and len(primitives) != len(counts):
        raise document.error("'primitives' of Osteon's notes does not fit the file; write it again")
    polygons = notes.indices("polygons", len(corners))
    used = None not in materials
    return Asset(
        uvs=None if geometry.uvs is None else as_float32((geometry.uvs * [1, -1] + [0, 1])[corners][order]),
        colors=None if geometry.colors is None else as_float32(geometry.colors[first]),
        materials=tuple(read_materials(document, list(range(min(plain, n_materials))))),
        triangle_material=np.repeat(np.array(materials, np.int32), counts)[order] if used else None,
        polygon_of_triangle=None if polygons is None else polygons.astype(np.int32),
        primitive_of_triangle=None if primitives is None else np.repeat(np.array(primitives), counts)[order],
        primitive_names=notes.texts("primitive_names") or (),
    )


def restore_model(notes: Notes, scene: Scene, generic: SkinnedModel) -> SkinnedModel:
    """The model that was written, from what its file shows to all programs; bones and clips are the model's already."""
    mesh = restore_mesh(notes, scene)
    kept = notes.document.whole(notes.entries, "influences", "Osteon's notes", generic.skin.n_influences)
    skeleton = _skeleton(notes, generic.track.n_bones, _joint_names(notes, scene))
    names = notes.texts("bones") or _joint_names(notes, scene)
    rest, corrections = _unfolded(notes, scene, generic)
    kind: BoneType = "rigid" if notes.text("bone_type") == "rigid" else "flexible"
    return replace(
        generic,
        rest=notes.document.source.positions(rest[mesh.vertices]),
        faces=mesh.faces,
        skin=Skin(generic.skin.bones[mesh.vertices, :kept], generic.skin.weights[mesh.vertices, :kept]),
        track=BoneTrack(generic.track.transforms, kind, names),
        corrections=None if corrections is None else _picked(corrections, mesh.vertices),
        skeleton=skeleton,
        asset=mesh.asset,
        name=notes.text("name") or generic.name,
    )


def _unfolded(notes: Notes, scene: Scene, generic: SkinnedModel) -> tuple[FloatArray, Corrections | None]:
    """Rest pose and corrections of the file's vertices, as they were before `morph_range`."""
    stored = generic.corrections
    if stored is None or "low" not in notes.entries:
        return generic.rest, stored
    nothing = [0.0] * stored.rank
    fold = Fold(np.array(notes.numbers("low", nothing)), np.array(notes.numbers("span", nothing)))
    if not (fold.span > 0).all():
        raise notes.document.error("'span' of Osteon's notes is not positive; write the file again")
    with np.errstate(over="ignore", invalid="ignore"):  # what grows beyond all bounds is refused by name
        return unfold_mesh(generic.rest, stored, fold, _stored_normals(notes, scene))


def _stored_normals(notes: Notes, scene: Scene) -> Float64 | None:
    """(v,3) unit normals of the file's vertices."""
    part = _only_part(notes, scene)
    mesh = notes.document.item("meshes", notes.document.items("nodes")[part.node].get("mesh"), "the skinned node")
    number = part.geometry.pieces[0].number
    attributes = notes.document.objects(mesh, "primitives", "the mesh")[number].get("attributes", {})
    if "NORMAL" not in attributes:
        return None
    normals = read_floats(notes.document, attributes["NORMAL"], (3,), "NORMAL")
    if len(normals) != part.n_vertices:
        raise notes.document.error(f"NORMAL has {len(normals)} entries for {part.n_vertices} vertices")
    return normals


def _picked(stored: Corrections, vertices: IntArray) -> Corrections:
    normals = None if stored.normal_basis is None else stored.normal_basis[:, vertices]
    return Corrections(stored.basis[:, vertices], stored.coefficients, normals)


def _joint_names(notes: Notes, scene: Scene) -> tuple[str, ...]:
    skin = _only_part(notes, scene).skin
    nodes = [] if skin is None else skin.nodes
    entries = notes.document.items("nodes")
    return tuple(notes.document.text(entries[node], "name", f"bone_{j}") for j, node in enumerate(nodes))


def _skeleton(notes: Notes, n_joints: int, names: tuple[str, ...]) -> Skeleton | None:
    parents = notes.wholes("parents")
    if parents is None:
        return None
    placed = read_floats(notes.document, notes.entries.get("joints"), (1,), "'joints' of Osteon's notes")
    if len(parents) != n_joints or len(placed) != 12 * n_joints:
        raise notes.document.error("'joints' of Osteon's notes does not fit the skin; write the file again")
    return Skeleton(names, np.array(parents), as_float32(placed.reshape(-1, 3, 4)))
