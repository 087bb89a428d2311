"""An asset and clips as arrays and plain JSON, for our own files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from numpy.typing import NDArray

from osteon.core.sequence import Asset, Clip, Material
from osteon.io.archive import Archive
from osteon.io.source import Source

__all__ = ["damage_named", "pack_asset", "pack_clips", "unpack_asset", "unpack_clips"]

ASSET_ARRAYS = ("uvs", "colors", "triangle_material", "polygon_of_triangle", "primitive_of_triangle")


def pack_asset(asset: Asset) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays, and what goes into the header."""
    arrays = {key: getattr(asset, key) for key in ASSET_ARRAYS if getattr(asset, key) is not None}
    header = {"materials": [asdict(m) for m in asset.materials], "primitive_names": list(asset.primitive_names)}
    return arrays, header


def unpack_asset(archive: Archive, header: dict[str, Any]) -> Asset:
    """The asset that `pack_asset` took apart; absent parts stay absent."""
    return Asset(
        **{key: archive.optional(key) for key in ASSET_ARRAYS},
        materials=tuple(_material(m) for m in header.get("materials", [])),
        primitive_names=tuple(str(name) for name in header.get("primitive_names", [])),
    )


def _material(stored: dict[str, Any]) -> Material:
    red, green, blue, alpha = (float(c) for c in stored["base_color"])
    return Material(
        name=str(stored["name"]),
        base_color=(red, green, blue, alpha),
        metallic=float(stored["metallic"]),
        roughness=float(stored["roughness"]),
        double_sided=bool(stored["double_sided"]),
    )


def pack_clips(clips: tuple[Clip, ...]) -> list[dict[str, Any]]:
    return [{"name": c.name, "start": int(c.start), "stop": int(c.stop), "fps": float(c.fps)} for c in clips]


def unpack_clips(stored: list[dict[str, Any]]) -> tuple[Clip, ...]:
    return tuple(Clip(str(c["name"]), int(c["start"]), int(c["stop"]), float(c["fps"])) for c in stored)


@contextmanager
def damage_named(source: Source) -> Iterator[None]:
    """A header whose parts are missing or of the wrong type is told as a damaged file."""
    try:
        with source.naming():
            yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise source.format_error(f"its header cannot be used ({type(error).__name__}: {error})") from error
