"""Images of environments as linear radiance: Radiance .hdr, and .png or .jpg, which are taken as sRGB.

A Radiance file is a text header, a line with its size, and rows of pixels r, g, b, e with the value (r, g, b) 2^(e -
136). Rows are plain, or each of the four channels is run-length encoded: a byte n above 128 repeats the next byte n -
128 times, any other is followed by n plain bytes.

Based on: Ward, Real Pixels, Graphics Gems II, 1991; the file format of Radiance (radiance-online.org, refer/filefmts).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32
from osteon.core.errors import FileFormatError

HDR, PLAIN = (".hdr", ".pic", ".rgbe"), (".png", ".jpg", ".jpeg")
_MAGIC = (b"#?RADIANCE", b"#?RGBE")
_SIZE = re.compile(rb"-Y (\d{1,6}) \+X (\d{1,6})\n")
#: Widths for which the format has run-length encoded channels, and the largest image.
_ENCODED, MOST_PIXELS = range(8, 32768), 1 << 28


def read_environment_image(path: Path) -> Float32:
    """(h,w,3) linear radiance, top row first."""
    suffix = path.suffix.lower()
    if suffix not in (*HDR, *PLAIN):
        from osteon.apply.light.environment import SKIES

        raise FileFormatError(
            f"{path}: is no image of an environment; expected {', '.join((HDR[0], *PLAIN))}, "
            f"or one of the built-in skies {', '.join(SKIES)}"
        )
    if path.is_dir():
        raise FileFormatError(f"{path}: is a folder, expected an image of an environment")
    if not path.exists():
        raise FileFormatError(f"{path}: does not exist; name an image of an environment")
    data = path.read_bytes()
    if not data:
        raise FileFormatError(f"{path}: is empty, expected an image of an environment")
    pixels = _read_hdr(data, path) if suffix in HDR else _read_plain(path)
    if not np.isfinite(pixels).all() or (pixels < 0).any():
        raise FileFormatError(f"{path}: has pixels that are negative or not finite; repair the image")
    return pixels


def _read_plain(path: Path) -> Float32:
    """An image of 8 bits per channel, from sRGB."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            stored = np.asarray(image.convert("RGB"), np.float32) / 255
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FileFormatError(f"{path}: cannot be read as an image; save it again as .png or .hdr") from error
    return np.where(stored <= 0.04045, stored / 12.92, ((stored + 0.055) / 1.055) ** 2.4).astype(np.float32)


def _read_hdr(data: bytes, path: Path) -> Float32:
    """The pixels of a Radiance file."""
    if not data.startswith(_MAGIC):
        raise FileFormatError(f"{path}: is no Radiance image: it does not begin with #?RADIANCE")
    header, _, _ = data.partition(b"\n\n")
    size = _SIZE.match(data, len(header) + 2)
    if size is None or b"32-bit_rle_xyze" in header:
        raise FileFormatError(f"{path}: expected RGB pixels with rows from the top (-Y height +X width)")
    height, width = int(size[1]), int(size[2])
    if not 0 < height * width <= MOST_PIXELS:
        raise FileFormatError(f"{path}: has {width} x {height} pixels, expected 1 … {MOST_PIXELS}")
    if 4 * height > len(data):
        raise FileFormatError(f"{path}: ends before its last row; it is truncated")
    pixels, at = np.empty((height, width, 4), np.uint8), size.end()
    encoded = width in _ENCODED and data[at : at + 2] == b"\2\2"
    try:
        if not encoded:
            pixels[:] = np.frombuffer(data, np.uint8, 4 * height * width, at).reshape(pixels.shape)
        for row in pixels if encoded else ():
            at = _decode_row(data, at, row)
    except (IndexError, ValueError) as error:
        raise FileFormatError(f"{path}: ends before its last row, or is damaged; save it again") from error
    scale = np.ldexp(np.float32(1), pixels[..., 3:].astype(np.int32) - 136)
    return np.where(pixels[..., 3:] > 0, pixels[..., :3] * scale, np.float32(0)).astype(np.float32)


def _decode_row(data: bytes, at: int, row: NDArray[np.uint8]) -> int:
    """Fill a row (w,4) from its four encoded channels; returns where the next one begins."""
    width = len(row)
    if data[at : at + 2] != b"\2\2" or data[at + 2] << 8 | data[at + 3] != width:
        raise ValueError("the row is of another width")
    at += 4
    for channel in range(4):
        found = 0
        while found < width:
            count = data[at]
            if count > 128:
                count -= 128
                row[found : found + count, channel] = data[at + 1]
                at += 2
            else:
                row[found : found + count, channel] = np.frombuffer(data, np.uint8, count, at + 1)
                at += 1 + count
            found += count
            if not count or found > width:
                raise ValueError("a run leaves the row")
    return at
