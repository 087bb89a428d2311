"""Materials as plain JSON, for formats that have no place of their own for them. Images stay behind."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from osteon.core.asset import Material

__all__ = ["pack_materials", "unpack_material", "unpack_materials"]

KEPT = tuple(field.name for field in fields(Material) if field.name != "textures")


def pack_materials(materials: tuple[Material, ...]) -> list[dict[str, Any]]:
    """All but the images."""
    return [{key: getattr(material, key) for key in KEPT} for material in materials]


def unpack_materials(stored: list[dict[str, Any]]) -> tuple[Material, ...]:
    """What `pack_materials` took apart; raises KeyError, TypeError or ValueError if it is something else."""
    return tuple(unpack_material(one) for one in stored)


def unpack_material(stored: dict[str, Any]) -> Material:
    """A material without images; what came later than the first release may be absent."""
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
