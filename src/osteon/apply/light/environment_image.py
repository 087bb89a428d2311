"""Images of environments as linear radiance: Radiance .hdr, OpenEXR .exr, and .png or .jpg, which are taken as sRGB."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from osteon.core.arrays import Float32
from osteon.core.errors import FileFormatError

HDR, EXR, PLAIN = (".hdr", ".pic", ".rgbe"), (".exr",), (".png", ".jpg", ".jpeg")


def read_environment_image(path: Path) -> Float32:
    """(h,w,3) linear radiance, top row first."""
    suffix = path.suffix.lower()
    if suffix not in (*HDR, *EXR, *PLAIN):
        from osteon.apply.light.environment import SKIES

        raise FileFormatError(
            f"{path}: is no image of an environment; expected {', '.join((HDR[0], *EXR, *PLAIN))}, "
            f"or one of the built-in skies {', '.join(SKIES)}"
        )
    if path.is_dir():
        raise FileFormatError(f"{path}: is a folder, expected an image of an environment")
    if not path.exists():
        raise FileFormatError(f"{path}: does not exist; name an image of an environment")
    data = path.read_bytes()
    if not data:
        raise FileFormatError(f"{path}: is empty, expected an image of an environment")
    pixels = _read_plain(path) if suffix in PLAIN else _read_radiance(data, path, suffix)
    if not np.isfinite(pixels).all() or (pixels < 0).any():
        raise FileFormatError(f"{path}: has pixels that are negative or not finite; repair the image")
    return pixels


def _read_radiance(data: bytes, path: Path, suffix: str) -> Float32:
    """An image of linear numbers. Where resampling made an .exr negative, it is black."""
    from osteon.io.images.exr import read_exr
    from osteon.io.images.radiance import read_radiance

    if suffix in HDR:
        return read_radiance(data, str(path))
    pixels = read_exr(data, str(path))
    return np.where(pixels < 0, np.float32(0), pixels)


def _read_plain(path: Path) -> Float32:
    """An image of 8 bits per channel, from sRGB."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            stored = np.asarray(image.convert("RGB"), np.float32) / 255
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FileFormatError(f"{path}: cannot be read as an image; save it again as .png or .hdr") from error
    return np.where(stored <= 0.04045, stored / 12.92, ((stored + 0.055) / 1.055) ** 2.4).astype(np.float32)
