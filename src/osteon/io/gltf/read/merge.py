"""All instances of a scene as one mesh: triangles with offset indices, and the asset."""

from __future__ import annotations

import numpy as np

from osteon.core.animation import distinct_names
from osteon.core.arrays import Float32, Int32
from osteon.core.asset import Asset, CornerNormals, Material, Origin
from osteon.io.gltf.read.bones import rest_placements
from osteon.io.gltf.read.document import Document
from osteon.io.gltf.read.materials import read_materials, read_uv_transform
from osteon.io.gltf.read.scene import GltfScene
from osteon.io.load.source import as_float32, quote

__all__ = ["merge_instances"]


def merge_instances(document: Document, scene: GltfScene) -> tuple[Int32, Asset]:
    """Triangles (t,3) of all instances, and the asset; a primitive of the file stays one primitive."""
    world = scene.tree.world_from_node({}, 1)
    faces, counts, names = [], [], []
    offset = 0
    for instance in scene.instances:
        with np.errstate(over="ignore", invalid="ignore"):
            mirrored = instance.skin is None and np.linalg.det(world[instance.node][0, :3, :3]) < 0
        for piece, name in zip(instance.geometry.pieces, instance.names, strict=True):
            faces.append(piece.faces[:, ::-1] + offset if mirrored else piece.faces + offset)
            counts.append(len(piece.faces))
            names.append(name)
        offset += instance.n_vertices
    merged = np.concatenate(faces).astype(np.int32)
    materials, numbers, lost = _materials(document, scene)
    normals = _normals(scene, merged)
    geometry = [instance.geometry for instance in scene.instances]
    uvs = [_uvs(document, scene, merged, n) for n in range(max(len(one.uvs) for one in geometry))]
    colors = [_colors(scene, n) for n in range(max(len(one.colors) for one in geometry))]
    tangents: tuple[str, ...] = ()
    if any(one.has_tangents for one in geometry):
        tangents = ("authored tangents (TANGENT) are omitted; the writer computes those that a normal map needs",)
    return merged, Asset(
        normals=normals,
        faceted=normals is None,
        uvs=uvs[0] if uvs else None,
        colors=colors[0] if colors else None,
        more_uvs=tuple(uvs[1:]),
        more_colors=tuple(colors[1:]),
        materials=tuple(material.on_sets(len(uvs)) for material in materials),
        triangle_material=np.repeat(np.array(numbers, np.int32), counts) if materials else None,
        primitive_of_triangle=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        primitive_names=distinct_names(names),
        origin=Origin(lost=tangents + lost + _off_sets(materials, len(uvs))),
    )


def _uvs(document: Document, scene: GltfScene, faces: Int32, number: int) -> Float32:
    """(t,3,2) one set with the origin at the bottom left, as in all other formats; zero where an instance has none."""
    per_vertex = [
        p.geometry.uvs[number] if number < len(p.geometry.uvs) else np.tile([0.0, 1.0], (p.n_vertices, 1))
        for p in scene.instances
    ]
    uvs = np.concatenate(per_vertex)[faces]
    start = 0
    for instance in scene.instances:
        for piece in instance.geometry.pieces:
            stop = start + len(piece.faces)
            has = number < len(instance.geometry.uvs)
            matrix = read_uv_transform(document, piece.material, number) if has else None
            if matrix is not None:
                uvs[start:stop] = uvs[start:stop] @ matrix[:, :2].T + matrix[:, 2]
            start = stop
    return as_float32(uvs * [1, -1] + [0, 1])


def _normals(scene: GltfScene, faces: Int32) -> CornerNormals | None:
    """Unit normals in the rest pose, one for each vertex; None if an instance has none, or one of length zero."""
    found = []
    for instance, matrix in zip(scene.instances, rest_placements(scene), strict=True):
        stored = instance.geometry.normals
        if stored is None:
            return None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            rotated = stored @ np.linalg.inv(matrix[:3, :3])  # the inverse transpose
            found.append(rotated / np.linalg.norm(rotated, axis=1, keepdims=True))
    values = np.concatenate(found)
    used = np.unique(faces)
    if not np.isfinite(values[used]).all():
        return None
    return CornerNormals(as_float32(np.nan_to_num(values)), faces)


def _colors(scene: GltfScene, number: int) -> Float32:
    """(v,4) one set; white where an instance has none."""
    instances = [
        p.geometry.colors[number] if number < len(p.geometry.colors) else np.ones((p.n_vertices, 4))
        for p in scene.instances
    ]
    return np.concatenate(instances).astype(np.float32)


def _off_sets(materials: tuple[Material, ...], count: int) -> tuple[str, ...]:
    """A sentence for each texture on a set of coordinates that the mesh does not have; such a texture is omitted."""
    return tuple(
        f"the {role.replace('_', ' ')} texture of material {quote(material.name)} uses texture coordinates "
        f"{number}, which the mesh does not have; it is omitted"
        for material in materials
        for role, number in material.uv_sets
        if number >= max(1, count)
    )


def _materials(document: Document, scene: GltfScene) -> tuple[tuple[Material, ...], list[int], tuple[str, ...]]:
    """The materials in use, the index of that of each piece, and sentences on textures that are omitted."""
    used = [piece.material for instance in scene.instances for piece in instance.geometry.pieces]
    if all(number is None for number in used):
        return (), [], ()
    order = list(dict.fromkeys(used))
    place = {number: i for i, number in enumerate(order)}
    materials, lost = read_materials(document, order)
    return tuple(materials), [place[number] for number in used], lost
