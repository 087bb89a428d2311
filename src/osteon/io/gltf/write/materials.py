"""Materials and their pictures, each picture once. What glTF does not allow is brought into range."""

from __future__ import annotations

from collections.abc import Sequence

from osteon.core.asset import Image, Material, TextureRole
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.write.buffer import BufferWriter

__all__ = ["plain_material", "usable_roles", "write_materials"]

_TEXTURES: dict[TextureRole, str] = {
    "base_color": "baseColorTexture",
    "metallic_roughness": "metallicRoughnessTexture",
    "normal": "normalTexture",
    "occlusion": "occlusionTexture",
    "emissive": "emissiveTexture",
}


def plain_material(colored: bool) -> Material:
    """For a mesh without one: glTF's own default is metal, which is black where nothing is mirrored in it."""
    grey = 1.0 if colored else 0.8  # multiplied by the colours of the vertices
    return Material("default", (grey, grey, grey, 1.0), double_sided=True)


def usable_roles(uvs: bool, normals: bool) -> tuple[TextureRole, ...]:
    """No texture without texture coordinates, no picture of normals without normals."""
    return tuple(role for role in _TEXTURES if uvs and (normals or role != "normal"))


def write_materials(
    materials: tuple[Material, ...], roles: tuple[TextureRole, ...], buffer: BufferWriter
) -> JsonObject:
    """The lists materials, textures and images, with the textures whose roles the mesh can serve."""
    images: dict[Image, int] = {}
    entries = [_entry(material, roles, images) for material in materials]
    found: JsonObject = {"materials": entries}
    if images:
        found["textures"] = [{"source": number} for number in images.values()]
        found["images"] = [
            {"name": image.name, "mimeType": image.mime, "bufferView": buffer.add_bytes(image.data)} for image in images
        ]
    return found


def _entry(material: Material, roles: tuple[TextureRole, ...], images: dict[Image, int]) -> JsonObject:
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
        if role in roles:
            owner = surface if role in ("base_color", "metallic_roughness") else entry
            owner[_TEXTURES[role]] = {"index": images.setdefault(image, len(images))}
    return entry


def _within(values: Sequence[float]) -> list[float]:
    return [min(1.0, max(0.0, float(value))) for value in values]
