"""Materials and images of meshes: .mtl files, and the kinds and file names of images, which are never decoded."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from osteon.core.errors import FileFormatError
from osteon.core.mesh import Image, Material
from osteon.io.load.source import Source, inside

#: Options before the name of a picture: a dash and a word, then numbers, `on` or `off`, or a channel.
_OPTION = re.compile(r"^(-[a-z]+\s+((on|off|[a-z])\s+|([-+.\d][-+.\deE]*\s+)*))+")


def plain_name(name: str) -> str:
    """A name that survives in a line of OBJ or MTL."""
    return re.sub(r"[\s\\#\x00-\x1f]+", "_", name.strip()) or "default"


def read_materials(source: Source, libraries: Sequence[str], names: Sequence[str]) -> tuple[Material, ...]:
    """The named materials, in this order."""
    known: dict[str, Material] = {}
    folder = source.path.parent
    for library in libraries:
        data = _read_beside(folder, folder / library) if library else None
        if data is not None:
            known |= _parse(data.decode("utf-8", "replace"), folder, (folder / library).parent)
    return tuple(known.get(name, Material(name)) for name in names)


def _read_beside(folder: Path, path: Path) -> bytes | None:
    """The bytes of a file in `folder`; None if it cannot be read, because materials are optional."""
    try:
        return Source(path).read() if inside(folder, path) and path.is_file() else None
    except (OSError, ValueError, FileFormatError):
        return None


def _parse(text: str, folder: Path, base: Path) -> dict[str, Material]:
    """Materials of a library that is in `base`; pictures must be in `folder`."""
    found: dict[str, Material] = {}
    pictures: dict[str, Image | None] = {}
    name = ""
    for line in text.splitlines():
        key, _, rest = line.strip().partition(" ")
        if key == "newmtl":
            name = rest.strip() or "default"
            found[name] = Material(name)
        elif key == "map_Kd" and name:
            image = _picture(rest, folder, base, pictures)
            found[name] = replace(found[name], textures=() if image is None else (("base_color", image),))
        elif name:
            found[name] = _apply(found[name], key, rest.split())
    return found


def _picture(statement: str, folder: Path, base: Path, pictures: dict[str, Image | None]) -> Image | None:
    """The picture that a map_Kd names, after options such as `-s 1 1 1` or `-clamp on`; each file is read once."""
    path = base / _OPTION.sub("", statement.strip()).strip().replace("\\", "/")
    key = os.path.normpath(path)
    if key not in pictures:
        data = _read_beside(folder, path)
        mime = None if data is None else picture_mime(data)
        pictures[key] = None if data is None or mime is None else Image(path.stem, mime, data)
    return pictures[key]


def _apply(material: Material, key: str, words: list[str]) -> Material:
    """The material after one line; unsupported or malformed lines change nothing."""
    try:
        values = [min(1.0, max(0.0, float(word))) for word in words[:3]]
    except ValueError:
        return material
    red, green, blue, alpha = material.base_color
    if key == "Kd" and len(values) == 3:
        return replace(material, base_color=(values[0], values[1], values[2], alpha))
    if key in ("d", "Tr") and values:
        return replace(material, base_color=(red, green, blue, values[0] if key == "d" else 1 - values[0]))
    if key == "Ke" and len(values) == 3:
        return replace(material, emissive=(values[0], values[1], values[2]))
    if key == "Pm" and values:
        return replace(material, metallic=values[0])
    if key == "Pr" and values:
        return replace(material, roughness=values[0])
    return material


def write_materials(materials: Sequence[Material], pictures: Mapping[Image, str]) -> bytes:
    """The text of a library for `read_materials`; `pictures` are the names of the images' files."""
    lines = ["# materials of a mesh sequence, written by Osteon"]
    for material in materials:
        red, green, blue, alpha = material.base_color
        lines += [f"newmtl {plain_name(material.name)}", f"Kd {red!r} {green!r} {blue!r}", f"d {alpha!r}"]
        lines += [f"Pm {material.metallic!r}", f"Pr {material.roughness!r}"]
        if any(material.emissive):
            lines.append("Ke " + " ".join(repr(c) for c in material.emissive))
        image = material.texture("base_color")
        if image is not None:
            lines.append(f"map_Kd {pictures[image]}")
    return ("\n".join(lines) + "\n").encode()


_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg"}


def picture_mime(data: bytes) -> str | None:
    """The kind of a picture by its first bytes, or None if it is neither PNG nor JPEG."""
    return next((mime for signature, mime in _SIGNATURES.items() if data.startswith(signature)), None)


def rare_picture_mime(data: bytes) -> str | None:
    """The same for kinds that only glTF carries, and only some programs read: KTX2, WebP and AVIF."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp" and data[8:12] in (b"avif", b"avis"):
        return "image/avif"
    return "image/ktx2" if data.startswith(b"\xabKTX 20\xbb\r\n\x1a\n") else None


def picture_name(image: Image, stem: str) -> str:
    """A file name for an image: `stem`, the safe characters of its name, and the suffix of its kind."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", image.name).strip("-")[:60]
    return f"{stem}_{plain or 'image'}{_SUFFIXES.get(image.mime, '.png')}"
