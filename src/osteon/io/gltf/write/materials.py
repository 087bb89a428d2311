"""Materials and their images, each image once. Factors are clamped to the range that glTF allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from osteon.core.mesh import Image, Material, TextureRole
from osteon.io.gltf import TEXTURE_EXTENSIONS, JsonObject
from osteon.io.gltf.write.buffer import BufferWriter

_TEXTURES: dict[TextureRole, str] = {
    "base_color": "baseColorTexture",
    "metallic_roughness": "metallicRoughnessTexture",
    "normal": "normalTexture",
    "occlusion": "occlusionTexture",
    "emissive": "emissiveTexture",
}

_EXTENSIONS = {mime: extension for extension, mime in TEXTURE_EXTENSIONS.items()}


def plain_material(colored: bool) -> Material:
    """The material of a mesh without one: glTF's own default is metal, which is black without reflections."""
    grey = 1.0 if colored else 0.8  # multiplied by vertex colours
    return Material("default", (grey, grey, grey, 1.0), double_sided=True)


@dataclass(frozen=True, slots=True)
class UsableTextures:
    """The textures that can be written for a mesh."""

    uv_sets: int
    normals: bool

    def has(self, material: Material, role: TextureRole) -> bool:
        """Whether the mesh has the texture coordinates of a texture, and normals for a normal map."""
        return material.uv_set(role) < self.uv_sets and (self.normals or role != "normal")


def write_materials(materials: tuple[Material, ...], usable: UsableTextures, buffer: BufferWriter) -> JsonObject:
    """The lists materials, textures and images, with the usable textures."""
    textures: dict[Image, int] = {}
    entries = [_entry(material, usable, textures) for material in materials]
    found: JsonObject = {"materials": entries}
    if textures:
        images: dict[Image, int] = {}
        found["textures"] = [_texture(image, images) for image in textures]
        found["images"] = [
            {"name": image.name, "mimeType": image.mime, "bufferView": buffer.add_bytes(image.data)} for image in images
        ]
    return found


def _texture(image: Image, images: dict[Image, int]) -> JsonObject:
    """A texture with its PNG or JPEG as the source and other formats in extensions."""
    entry: JsonObject = {}
    for kind in (replace(image, others=()), *image.others):
        number = images.setdefault(kind, len(images))
        extension = _EXTENSIONS.get(kind.mime)
        if extension is None:
            entry["source"] = number
        else:
            entry.setdefault("extensions", {})[extension] = {"source": number}
    return entry


def texture_extensions(textures: list[JsonObject]) -> tuple[list[str], list[str]]:
    """Extensions that the textures use, and those that some of them require."""
    used = {name for texture in textures for name in texture.get("extensions", {})}
    needed = {name for texture in textures if "source" not in texture for name in texture["extensions"]}
    return sorted(used), sorted(needed)


def _entry(material: Material, usable: UsableTextures, textures: dict[Image, int]) -> JsonObject:
    surface: JsonObject = {
        "baseColorFactor": _within(material.base_color),
        "metallicFactor": _within([material.metallic])[0],
        "roughnessFactor": _within([material.roughness])[0],
    }
    entry: JsonObject = {"name": material.name, "pbrMetallicRoughness": surface}
    if any(material.emissive):
        entry["emissiveFactor"] = _within(material.emissive)
    if material.double_sided:
        entry["doubleSided"] = True
    if material.alpha_mode != "OPAQUE":
        entry["alphaMode"] = material.alpha_mode
    if material.alpha_mode == "MASK":
        entry["alphaCutoff"] = max(0.0, material.alpha_cutoff)
    for role, image in material.textures:
        if usable.has(material, role):
            owner = surface if role in ("base_color", "metallic_roughness") else entry
            owner[_TEXTURES[role]] = {"index": textures.setdefault(image, len(textures))}
            if material.uv_set(role):
                owner[_TEXTURES[role]]["texCoord"] = material.uv_set(role)
    return entry


def _within(values: Sequence[float]) -> list[float]:
    return [min(1.0, max(0.0, float(value))) for value in values]
