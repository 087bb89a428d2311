"""Wavefront MTL, the materials of an OBJ: base colour (Kd), opacity (d, Tr), metallic (Pm), roughness (Pr).

A library that is missing, or lies outside the mesh's own folder, leaves the materials with their names only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from osteon.core.errors import FileFormatError
from osteon.core.sequence import Material
from osteon.io.source import Source, inside

__all__ = ["plain_name", "read_materials", "write_materials"]


def plain_name(name: str) -> str:
    """A name that survives in a line of OBJ or MTL."""
    return re.sub(r"[\s\\#\x00-\x1f]+", "_", name.strip()) or "default"


def read_materials(source: Source, libraries: Sequence[str], names: Sequence[str]) -> tuple[Material, ...]:
    """The named materials, in this order."""
    known: dict[str, Material] = {}
    for library in libraries:
        path = source.path.parent / library
        try:
            if library and inside(source.path.parent, path) and path.is_file():
                known |= _parse(Source(path).read().decode("utf-8", "replace"))
        except (OSError, ValueError, FileFormatError):
            continue  # the look is a courtesy: an unreadable library does not stop the mesh
    return tuple(known.get(name, Material(name)) for name in names)


def _parse(text: str) -> dict[str, Material]:
    found: dict[str, Material] = {}
    name = ""
    for line in text.splitlines():
        key, _, rest = line.strip().partition(" ")
        if key == "newmtl":
            name = rest.strip() or "default"
            found[name] = Material(name)
        elif name:
            found[name] = _apply(found[name], key, rest.split())
    return found


def _apply(material: Material, key: str, words: list[str]) -> Material:
    """The material after one line; lines that say nothing we keep, or say it wrongly, change nothing."""
    try:
        values = [min(1.0, max(0.0, float(word))) for word in words[:3]]
    except ValueError:
        return material
    red, green, blue, alpha = material.base_color
    if key == "Kd" and len(values) == 3:
        return replace(material, base_color=(values[0], values[1], values[2], alpha))
    if key in ("d", "Tr") and values:
        return replace(material, base_color=(red, green, blue, values[0] if key == "d" else 1 - values[0]))
    if key == "Pm" and values:
        return replace(material, metallic=values[0])
    if key == "Pr" and values:
        return replace(material, roughness=values[0])
    return material


def write_materials(materials: Sequence[Material]) -> bytes:
    """The text of a library that `read_materials` takes back."""
    lines = ["# materials of a mesh sequence, written by Osteon"]
    for material in materials:
        red, green, blue, alpha = material.base_color
        lines += [f"newmtl {plain_name(material.name)}", f"Kd {red!r} {green!r} {blue!r}", f"d {alpha!r}"]
        lines += [f"Pm {material.metallic!r}", f"Pr {material.roughness!r}"]
    return ("\n".join(lines) + "\n").encode()
