"""The asset of a scene: its instances as one mesh, with materials, texture coordinates, normals and colours.

Images are preserved as bytes, with the set of texture coordinates that they use. Transforms of texture coordinates
(KHR_texture_transform) are applied to the coordinates of the triangles, for each set that of the first texture on it; a
texture on the same set with another transform is omitted, and reported. An image of an extension (KHR_texture_basisu,
EXT_texture_webp, EXT_texture_avif) is preserved besides the PNG or JPEG that the texture has for other programs, or
alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import cast

import numpy as np

from osteon.core.animation import distinct_names
from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.errors import FileFormatError
from osteon.core.mesh import AlphaMode, Asset, CornerNormals, Image, Material, Origin, TextureRole
from osteon.io.gltf import TEXTURE_EXTENSIONS, JsonObject
from osteon.io.gltf.read.accessors import read_view
from osteon.io.gltf.read.bones import rest_placements
from osteon.io.gltf.read.document import Document, read_address
from osteon.io.gltf.read.scene import GltfScene
from osteon.io.load.source import as_float32, quote
from osteon.io.meshes.mtl import picture_mime, rare_picture_mime

_ROLES: dict[str, TextureRole] = {
    "baseColorTexture": "base_color",
    "metallicRoughnessTexture": "metallic_roughness",
    "normalTexture": "normal",
    "occlusionTexture": "occlusion",
    "emissiveTexture": "emissive",
}
#: Images by the extensions and image indices of a texture.
Images = dict[tuple[tuple[str, object], ...], Image | None]
Transform = tuple[float, float, float, float, float]  # offset u and v, rotation, scale u and v
_IDENTITY: Transform = (0.0, 0.0, 0.0, 1.0, 1.0)
_DEFAULT = Material("default", (1.0, 1.0, 1.0, 1.0), 1.0, 1.0)  # glTF's material for primitives without one


@dataclass(frozen=True, slots=True)
class FoundTextures:
    """The images of some materials, and the textures that are omitted."""

    images: Images = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)  # one sentence for each omitted texture

    def lose(self, role: TextureRole, material: str, why: str) -> None:
        self.lost.append(f"the {role.replace('_', ' ')} texture of material {quote(material)} {why}; it is omitted")


def read_materials(document: Document, numbers: list[int | None]) -> tuple[list[Material], tuple[str, ...]]:
    """The materials with these indices, None for the default one; and sentences on textures that are omitted."""
    found = FoundTextures()
    entries = document.items("materials")
    materials = [_DEFAULT if n is None else _material(document, entries[n], n, found) for n in numbers]
    return materials, tuple(found.lost)


def _material(document: Document, entry: JsonObject, index: int, found: FoundTextures) -> Material:
    what = f"material {index}"
    surface = document.object(entry, "pbrMetallicRoughness", what)
    red, green, blue, alpha = document.numbers(surface, "baseColorFactor", what, [1.0, 1.0, 1.0, 1.0])
    glow = document.numbers(entry, "emissiveFactor", what, [0.0, 0.0, 0.0])
    mode = entry.get("alphaMode")
    name = document.text(entry, "name", f"material_{index}")
    textures, sets = [], []
    for role, use in _uses(document, entry, what):
        if _transform(document, use, what) != _first_transform(
            document, entry, _coordinates(document, use, what), what
        ):
            found.lose(role, name, "transforms its coordinates differently from others on the same set")
            continue
        image = _image(document, use, found.images, what)
        if image is None:
            found.lose(role, name, "has an image that is missing or of an unknown format")
            continue
        textures.append((role, image))
        number = _coordinates(document, use, what)
        sets += [(role, number)] if number else []
    return Material(
        name=name,
        base_color=(red, green, blue, alpha),
        metallic=_factor(document, surface, "metallicFactor", 1.0, what),
        roughness=_factor(document, surface, "roughnessFactor", 1.0, what),
        double_sided=entry.get("doubleSided") is True,
        emissive=(glow[0], glow[1], glow[2]),
        alpha_mode=cast(AlphaMode, mode) if mode in ("MASK", "BLEND") else "OPAQUE",
        alpha_cutoff=_factor(document, entry, "alphaCutoff", 0.5, what),
        textures=tuple(textures),
        uv_sets=tuple(sets),
    )


def _factor(document: Document, owner: JsonObject, key: str, default: float, what: str) -> float:
    return document.numbers({key: [owner.get(key, default)]}, key, what, [default])[0]


def read_uv_transform(document: Document, number: int | None, uv_set: int = 0) -> Float64 | None:
    """(2,3) transform of a set of texture coordinates (v down) by a material; None for the identity."""
    entry = None if number is None else document.items("materials")[number]
    transform = None if entry is None else _first_transform(document, entry, uv_set, "a material")
    if transform is None or transform == _IDENTITY:
        return None
    u, v, angle, scale_u, scale_v = transform
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine * scale_u, sine * scale_v, u], [-sine * scale_u, cosine * scale_v, v]])


def _uses(document: Document, entry: JsonObject, what: str) -> list[tuple[TextureRole, JsonObject]]:
    """The texture references of a material by role."""
    surface = document.object(entry, "pbrMetallicRoughness", what)
    uses = [(role, document.object(entry | surface, key, what)) for key, role in _ROLES.items()]
    return [(role, use) for role, use in uses if "index" in use]


def _coordinates(document: Document, use: JsonObject, what: str) -> int:
    """The set of coordinates that a texture uses."""
    transform = _transform_entry(document, use, what)
    return document.whole(transform if "texCoord" in transform else use, "texCoord", what, 0)


def _transform_entry(document: Document, use: JsonObject, what: str) -> JsonObject:
    return document.object(document.object(use, "extensions", what), "KHR_texture_transform", what)


def _first_transform(document: Document, entry: JsonObject, uv_set: int, what: str) -> Transform | None:
    """The transform of the first texture of a material on a set of coordinates."""
    uses = [use for _, use in _uses(document, entry, what) if _coordinates(document, use, what) == uv_set]
    return next((_transform(document, use, what) for use in uses), None)


def _transform(document: Document, use: JsonObject, what: str) -> Transform:
    entry = _transform_entry(document, use, what)
    u, v = document.numbers(entry, "offset", what, [0.0, 0.0])
    scale_u, scale_v = document.numbers(entry, "scale", what, [1.0, 1.0])
    return u, v, _factor(document, entry, "rotation", 0.0, what), scale_u, scale_v


def _image(document: Document, use: JsonObject, images: Images, what: str) -> Image | None:
    """The image of a texture in all supported formats, or None if there is none."""
    texture = document.item("textures", use["index"], what)
    what = f"texture {use['index']}"
    extensions = document.object(texture, "extensions", what)
    named: dict[str, object] = {"": texture["source"]} if "source" in texture else {}
    for extension in TEXTURE_EXTENSIONS:
        entry = document.object(extensions, extension, what)
        named |= {extension: entry["source"]} if "source" in entry else {}
    for number in named.values():
        document.item("images", number, what)
    key = tuple(named.items())
    if key not in images:
        found = [_read_image(document, number, extension, what) for extension, number in key]
        kinds = [image for image in found if image is not None]
        images[key] = replace(kinds[0], others=tuple(kinds[1:])) if kinds else None
    return images[key]


def _read_image(document: Document, number: object, extension: str, what: str) -> Image | None:
    """An image in the format of the extension; without one, PNG or JPEG."""
    entry = document.item("images", number, what)
    uri = entry.get("uri")
    fallback = f"image_{number}"
    if uri is None:
        data = bytes(read_view(document, entry.get("bufferView"), f"image {number}"))
    else:
        try:
            data = read_address(document.source, uri, f"image {number}")
        except FileFormatError:  # a missing image does not prevent reading the mesh
            return None
        fallback = fallback if uri.startswith("data:") else PurePosixPath(uri).stem or fallback
    mime = rare_picture_mime(data) if extension else picture_mime(data)
    if mime is None or (extension and mime != TEXTURE_EXTENSIONS[extension]):
        return None
    return Image(document.text(entry, "name", fallback), mime, data)


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
    materials, numbers, lost = _used_materials(document, scene)
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


def _used_materials(document: Document, scene: GltfScene) -> tuple[tuple[Material, ...], list[int], tuple[str, ...]]:
    """The materials in use, the index of that of each piece, and sentences on textures that are omitted."""
    used = [piece.material for instance in scene.instances for piece in instance.geometry.pieces]
    if all(number is None for number in used):
        return (), [], ()
    order = list(dict.fromkeys(used))
    place = {number: i for i, number in enumerate(order)}
    materials, lost = read_materials(document, order)
    return tuple(materials), [place[number] for number in used], lost
