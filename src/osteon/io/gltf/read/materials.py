"""Materials and their images. Pictures are carried as they are: PNG and JPEG, on the first set of coordinates."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import cast

from osteon.core.errors import FileFormatError
from osteon.core.sequence import AlphaMode, Image, Material, TextureRole
from osteon.io.gltf.json_types import JsonObject
from osteon.io.gltf.read.addresses import read_address
from osteon.io.gltf.read.buffer_views import read_view
from osteon.io.gltf.read.document import Document
from osteon.io.meshes.pictures import picture_mime

__all__ = ["read_materials"]

_ROLES: dict[str, TextureRole] = {
    "baseColorTexture": "base_color",
    "metallicRoughnessTexture": "metallic_roughness",
    "normalTexture": "normal",
    "occlusionTexture": "occlusion",
    "emissiveTexture": "emissive",
}
_UNNAMED = Material("default", (1.0, 1.0, 1.0, 1.0), 1.0, 1.0)  # what glTF shows where no material is named


def read_materials(document: Document, numbers: list[int | None]) -> list[Material]:
    """The materials with these numbers; None is the default one."""
    images: dict[int, Image | None] = {}
    entries = document.items("materials")
    return [_UNNAMED if n is None else _material(document, entries[n], n, images) for n in numbers]


def _material(document: Document, entry: JsonObject, index: int, images: dict[int, Image | None]) -> Material:
    what = f"material {index}"
    surface = document.object(entry, "pbrMetallicRoughness", what)
    red, green, blue, alpha = document.numbers(surface, "baseColorFactor", what, [1.0, 1.0, 1.0, 1.0])
    glow = document.numbers(entry, "emissiveFactor", what, [0.0, 0.0, 0.0])
    mode = entry.get("alphaMode")
    textures = []
    for key, role in _ROLES.items():
        image = _image(document, document.object(entry | surface, key, what), images, what)
        if image is not None:
            textures.append((role, image))
    return Material(
        name=document.text(entry, "name", f"material_{index}"),
        base_color=(red, green, blue, alpha),
        metallic=_factor(document, surface, "metallicFactor", 1.0, what),
        roughness=_factor(document, surface, "roughnessFactor", 1.0, what),
        double_sided=entry.get("doubleSided") is True,
        emissive=(glow[0], glow[1], glow[2]),
        alpha_mode=cast(AlphaMode, mode) if mode in ("MASK", "BLEND") else "OPAQUE",
        alpha_cutoff=_factor(document, entry, "alphaCutoff", 0.5, what),
        textures=tuple(textures),
    )


def _factor(document: Document, owner: JsonObject, key: str, default: float, what: str) -> float:
    return document.numbers({key: [owner.get(key, default)]}, key, what, [default])[0]


def _image(document: Document, use: JsonObject, images: dict[int, Image | None], what: str) -> Image | None:
    """The image of a texture, or None if there is none, or none that is carried.

    A texture that lies on another set of coordinates, or moves them, would come out in the wrong place.
    """
    moved = document.object(document.object(use, "extensions", what), "KHR_texture_transform", what)
    if "index" not in use or use.get("texCoord", 0) != 0 or moved:
        return None
    texture = document.item("textures", use["index"], what)
    if "source" not in texture:
        return None
    number = texture["source"]
    entry = document.item("images", number, f"texture {use['index']}")
    if number not in images:
        images[number] = _read_image(document, entry, number)
    return images[number]


def _read_image(document: Document, entry: JsonObject, number: int) -> Image | None:
    uri = entry.get("uri")
    fallback = f"image_{number}"
    if uri is None:
        data = bytes(read_view(document, entry.get("bufferView"), f"image {number}"))
    else:
        try:
            data = read_address(document.source, uri, f"image {number}")
        except FileFormatError:  # the look is a courtesy: a picture that is not there does not stop the mesh
            return None
        fallback = fallback if uri.startswith("data:") else PurePosixPath(uri).stem or fallback
    mime = picture_mime(data)
    return None if mime is None else Image(document.text(entry, "name", fallback), mime, data)
