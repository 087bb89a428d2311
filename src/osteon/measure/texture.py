"""Textures as programs read them: decoded pictures with all their mipmaps, in linear light.

A texture is sampled between the two mipmaps whose texels are nearest to a pixel in size, each bilinearly, and repeats.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Int64
from osteon.core.mesh import Image
from osteon.measure.flip import linear_from_srgb

#: Mipmaps of a texture; a picture of more than 2^(MIPMAPS - 1) texels across is reduced first.
MIPMAPS = 12


@dataclass(frozen=True, slots=True)
class Textures:
    """Several textures in one array of texels."""

    texels: Float32  # (n,3) linear light
    levels: Int64  # (m,MIPMAPS,3) of every mipmap of every texture: its first texel, width and height

    @staticmethod
    def of(images: Sequence[Image]) -> Textures:
        """Decode pictures; one that Pillow cannot read is white."""
        texels: list[Float32] = []
        levels = np.zeros((len(images), MIPMAPS, 3), np.int64)
        start = 0
        for number, image in enumerate(images):
            mipmap = linear_from_srgb(decode(image))
            for level in range(MIPMAPS):
                levels[number, level] = start, mipmap.shape[1], mipmap.shape[0]
                texels.append(mipmap.reshape(-1, 3))
                start += len(texels[-1])
                mipmap = _halved(mipmap)
        return Textures(np.concatenate(texels) if texels else np.ones((1, 3), np.float32), levels)


def decode(image: Image) -> Float32:
    """(h,w,3) sRGB values in 0 … 1, with at most 2^(MIPMAPS - 1) texels across."""
    from PIL import Image as Canvas
    from PIL import UnidentifiedImageError

    try:
        with Canvas.open(io.BytesIO(image.data)) as picture:
            most = 2 ** (MIPMAPS - 1)
            if max(picture.size) > most:
                picture.thumbnail((most, most))
            pixels = np.asarray(picture.convert("RGB"), np.float32)
    except (UnidentifiedImageError, OSError, ValueError, Canvas.DecompressionBombError):
        return np.ones((1, 1, 3), np.float32)
    return np.asarray(pixels / np.float32(255), np.float32)


def _halved(mipmap: Float32) -> Float32:
    """The next mipmap: means of two by two texels; an odd last row or column is left out."""
    height, width = mipmap.shape[:2]
    if height > 1:
        mipmap = 0.5 * (mipmap[0 : height // 2 * 2 : 2] + mipmap[1 : height // 2 * 2 : 2])
    if width > 1:
        mipmap = 0.5 * (mipmap[:, 0 : width // 2 * 2 : 2] + mipmap[:, 1 : width // 2 * 2 : 2])
    return np.asarray(mipmap, np.float32)
