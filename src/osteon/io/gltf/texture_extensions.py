"""Extensions by which a texture names a picture that not every program reads."""

from __future__ import annotations

__all__ = ["TEXTURE_EXTENSIONS"]

#: The kind of picture that each names.
TEXTURE_EXTENSIONS = {
    "KHR_texture_basisu": "image/ktx2",
    "EXT_texture_webp": "image/webp",
    "EXT_texture_avif": "image/avif",
}
