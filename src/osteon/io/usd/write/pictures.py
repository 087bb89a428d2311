"""The pictures of materials: inside a package, or as files in a folder beside the stage.

`walk.usda` has its own in `walk_textures/`. A name there ends in the sum of the picture, so a file of that name is that
picture already, is left as it is, and no file of others is in the way.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from osteon.core.asset import Asset, Image
from osteon.io.meshes.pictures import picture_name
from osteon.io.save.atomic import atomic_file, named_path, written_path

__all__ = ["PACKAGE", "picture_names", "write_pictures"]

PACKAGE = ".usdz"
#: Letters of the sum; two different pictures share them once in 10^14.
SUM = 12


def picture_names(asset: Asset, path: Path) -> dict[Image, str]:
    """Every picture once, with the address that the stage at `path` has for it; none without coordinates."""
    if asset.uvs is None:
        return {}
    images = dict.fromkeys(image for material in asset.materials for _, image in material.textures)
    named = {image: picture_name(image, f"image_{i}") for i, image in enumerate(images)}
    if path.suffix.lower() == PACKAGE:
        return {image: f"textures/{name}" for image, name in named.items()}
    # Brackets and the like mean something in an address of USD.
    folder = re.sub(r"[^\w. -]+", "-", named_path(path).stem) + "_textures"
    return {image: f"./{folder}/{_with_sum(name, image)}" for image, name in named.items()}


def _with_sum(name: str, image: Image) -> str:
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}-{hashlib.sha256(image.data).hexdigest()[:SUM]}{dot}{suffix}"


def write_pictures(folder: Path, files: dict[str, bytes]) -> None:
    """Files below `folder` by their addresses; those that are there already are left alone."""
    for address, data in files.items():
        target = folder / address
        there = written_path(target)
        if there.is_file() and there.read_bytes() == data:
            continue
        with atomic_file(target) as temporary:
            temporary.write_bytes(data)
