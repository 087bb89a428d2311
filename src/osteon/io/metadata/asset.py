"""Assets, materials and clips as arrays and plain JSON, for formats without a place for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Clip
from osteon.core.mesh import Asset, CornerNormals, Image, Material
from osteon.io.archives.archive import NamedArrays
from osteon.io.load.source import Source, quote

KEPT = tuple(field.name for field in fields(Material) if field.name != "textures")


def pack_materials(materials: tuple[Material, ...]) -> list[dict[str, Any]]:
    """Materials without their images."""
    return [{key: getattr(material, key) for key in KEPT} for material in materials]


def unpack_materials(stored: list[dict[str, Any]]) -> tuple[Material, ...]:
    """The inverse of `pack_materials`; raises KeyError, TypeError or ValueError for other data."""
    return tuple(unpack_material(one) for one in stored)


def unpack_material(stored: dict[str, Any]) -> Material:
    """A material without images; fields that were added after the first release may be absent."""
    red, green, blue, alpha = (float(c) for c in stored["base_color"])
    glow_red, glow_green, glow_blue = (float(c) for c in stored.get("emissive", (0, 0, 0)))
    return Material(
        name=str(stored["name"]),
        base_color=(red, green, blue, alpha),
        metallic=float(stored["metallic"]),
        roughness=float(stored["roughness"]),
        double_sided=bool(stored["double_sided"]),
        emissive=(glow_red, glow_green, glow_blue),
        alpha_mode=stored.get("alpha_mode", "OPAQUE"),
        alpha_cutoff=float(stored.get("alpha_cutoff", 0.5)),
        uv_sets=tuple((role, int(number)) for role, number in stored.get("uv_sets", ())),
    )


ASSET_ARRAYS = ("uvs", "colors", "triangle_material", "polygon_of_triangle", "primitive_of_triangle")


def pack_asset(asset: Asset) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays, and the entries of the header. Each image is an array of bytes, `image_0`, `image_1`, …"""
    shown = dict.fromkeys(image for m in asset.materials for _, image in m.textures)
    images = list(shown | dict.fromkeys(other for image in shown for other in image.others))
    arrays = {key: getattr(asset, key) for key in ASSET_ARRAYS if getattr(asset, key) is not None}
    arrays |= {f"uvs_{n}": uvs for n, uvs in enumerate(asset.more_uvs, 1)}
    arrays |= {f"colors_{n}": colors for n, colors in enumerate(asset.more_colors, 1)}
    if asset.normals is not None:
        arrays |= {"normals": asset.normals.values, "normal_of_corner": asset.normals.of_corner}
    arrays |= {f"image_{i}": np.frombuffer(image.data, np.uint8) for i, image in enumerate(images)}
    header = {
        "materials": [_packed(m, images) for m in asset.materials],
        "images": [_packed_image(image, images) for image in images],
        "primitive_names": list(asset.primitive_names),
    } | ({"faceted": True} if asset.faceted else {})
    return arrays, header


def _packed_image(image: Image, images: list[Image]) -> dict[str, Any]:
    others = {"others": [images.index(other) for other in image.others]} if image.others else {}
    return {"name": image.name, "mime": image.mime} | others


def _packed(material: Material, images: list[Image]) -> dict[str, Any]:
    stored = {f.name: getattr(material, f.name) for f in fields(material)}
    return stored | {"textures": [[role, images.index(image)] for role, image in material.textures]}


def unpack_asset(archive: NamedArrays, header: dict[str, Any]) -> Asset:
    """The inverse of `pack_asset`; absent parts stay absent."""
    stored = header.get("images", [])
    alone = [Image(str(s["name"]), str(s["mime"]), _bytes(archive, f"image_{i}")) for i, s in enumerate(stored)]
    images = [
        replace(image, others=tuple(_picked(alone, s.get("others", []), f"image '{image.name}'")))
        for image, s in zip(alone, stored, strict=True)
    ]
    stored_arrays: dict[str, Any] = {key: archive.optional(key) for key in ASSET_ARRAYS}
    return Asset(
        **stored_arrays,
        materials=tuple(_material(m, images) for m in header.get("materials", [])),
        primitive_names=tuple(str(name) for name in header.get("primitive_names", [])),
        joint_names=(),
        more_uvs=_sets(archive, "uvs"),
        more_colors=_sets(archive, "colors"),
        normals=_normals(archive),
        faceted=header.get("faceted") is True,
    )


def _sets(archive: NamedArrays, name: str) -> tuple[NDArray[Any], ...]:
    """The second set and those after it: NAME_1, NAME_2, …"""
    found: list[NDArray[Any]] = []
    while (array := archive.optional(f"{name}_{len(found) + 1}")) is not None:
        found.append(array)
    return tuple(found)


def _normals(archive: NamedArrays) -> CornerNormals | None:
    values, of_corner = archive.optional("normals"), archive.optional("normal_of_corner")
    return None if values is None or of_corner is None else CornerNormals(values, of_corner)


def _bytes(archive: NamedArrays, key: str) -> bytes:
    array = archive.array(key)
    if array.dtype != np.uint8 or array.ndim != 1:
        raise archive.source.format_error(f"'{key}' is {array.dtype} of shape {array.shape}, expected bytes in a row")
    return array.tobytes()


def _picked(images: list[Image], numbers: list[Any], user: str) -> list[Image]:
    if any(not 0 <= int(number) < len(images) for number in numbers):
        raise ValueError(f"{user} refers to an image that does not exist")
    return [images[int(number)] for number in numbers]


def _material(stored: dict[str, Any], images: list[Image]) -> Material:
    textures = stored.get("textures", [])
    chosen = _picked(images, [number for _, number in textures], f"material '{stored['name']}'")
    named = tuple((role, image) for (role, _), image in zip(textures, chosen, strict=True))
    return replace(unpack_material(stored), textures=named)


def pack_clips(clips: tuple[Clip, ...]) -> list[dict[str, Any]]:
    return [{"name": c.name, "start": int(c.start), "stop": int(c.stop), "fps": float(c.fps)} for c in clips]


def unpack_clips(stored: list[dict[str, Any]]) -> tuple[Clip, ...]:
    return tuple(Clip(str(c["name"]), int(c["start"]), int(c["stop"]), float(c["fps"])) for c in stored)


@contextmanager
def damage_named(source: Source) -> Iterator[None]:
    """Report a header whose parts are missing or of the wrong type as a damaged file."""
    try:
        with source.naming():
            yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise source.format_error(f"its header cannot be used ({type(error).__name__}: {quote(str(error))})") from error
