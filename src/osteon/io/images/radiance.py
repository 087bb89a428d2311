"""Radiance images (.hdr).

A file has lines of text, the size of the image, and four bytes per pixel: a mantissa for each of red, green and blue,
and their common exponent e, value (r, g, b) 2^(e - 136). Rows are plain, or each of the four channels is run-length
encoded: a byte n above 128 repeats the next byte n - 128 times, any other is followed by n plain bytes.

Based on: Ward, Real Pixels, Graphics Gems II, 1991; the file format of Radiance (radiance-online.org, refer/filefmts).
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32
from osteon.core.errors import FileFormatError
from osteon.io.images.exr import MOST_PIXELS

_MAGIC = (b"#?RADIANCE", b"#?RGBE")
_SIZE = re.compile(rb"-Y (\d{1,6}) \+X (\d{1,6})\n")
#: Widths for which the format has run-length encoded channels.
_ENCODED = range(8, 32768)


def read_radiance(data: bytes, name: str) -> Float32:
    """(h,w,3) linear radiance of a file; `name` is used in errors."""
    if not data.startswith(_MAGIC):
        raise FileFormatError(f"{name}: is no Radiance image: it does not begin with #?RADIANCE")
    header, _, _ = data.partition(b"\n\n")
    size = _SIZE.match(data, len(header) + 2)
    if size is None or b"32-bit_rle_xyze" in header:
        raise FileFormatError(f"{name}: expected RGB pixels with rows from the top (-Y height +X width)")
    height, width = int(size[1]), int(size[2])
    if not 0 < height * width <= MOST_PIXELS:
        raise FileFormatError(f"{name}: has {width} x {height} pixels, expected 1 … {MOST_PIXELS}")
    if 4 * height > len(data):
        raise FileFormatError(f"{name}: ends before its last row; it is truncated")
    pixels, at = np.empty((height, width, 4), np.uint8), size.end()
    encoded = width in _ENCODED and data[at : at + 2] == b"\2\2"
    try:
        if not encoded:
            pixels[:] = np.frombuffer(data, np.uint8, 4 * height * width, at).reshape(pixels.shape)
        for row in pixels if encoded else ():
            at = _decode_row(data, at, row)
    except (IndexError, ValueError) as error:
        raise FileFormatError(f"{name}: ends before its last row, or is damaged; save it again") from error
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
