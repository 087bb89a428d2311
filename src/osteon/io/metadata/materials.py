"""Materials as plain JSON, for formats that have no place of their own for them. Images stay behind."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from osteon.core.asset import Material

__all__ = ["pack_materials", "unpack_materials"]

KEPT = tuple(field.name for field in fields(Material) if field.name != "textures")


def pack_materials(materials: tuple[Material, ...]) -> list[dict[str, Any]]:
    """All but the images."""
    return [{key: getattr(material, key) for key in KEPT} for material in materials]


def unpack_materials(stored: list[dict[str, Any]]) -> tuple[Material, ...]:
    """What `pack_materials` took apart; raises TypeError or KeyError if it is something else."""
    return tuple(Material(**_fields(m)) for m in stored)


def _fields(stored: dict[str, Any]) -> dict[str, Any]:
    """Lists become the tuples they were."""
    return {key: tuple(map(float, v)) if isinstance(v, list) else v for key, v in stored.items() if key in KEPT}
