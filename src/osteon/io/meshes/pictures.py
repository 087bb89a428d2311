"""Pictures that are carried, never decoded: which kind they are, and how their files are named."""

from __future__ import annotations

import re

from osteon.core.asset import Image

__all__ = ["picture_mime", "picture_name", "rare_picture_mime"]

_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg"}


def picture_mime(data: bytes) -> str | None:
    """The kind of a picture by its first bytes, or None if it is neither PNG nor JPEG."""
    return next((mime for signature, mime in _SIGNATURES.items() if data.startswith(signature)), None)


def rare_picture_mime(data: bytes) -> str | None:
    """The same for kinds that only glTF carries, and only some programs read: KTX2, WebP and AVIF."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp" and data[8:12] in (b"avif", b"avis"):
        return "image/avif"
    return "image/ktx2" if data.startswith(b"\xabKTX 20\xbb\r\n\x1a\n") else None


def picture_name(image: Image, stem: str) -> str:
    """A file name for an image: `stem`, what is harmless of its own name, and the suffix of its kind."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", image.name).strip("-")[:60]
    return f"{stem}_{plain or 'image'}{_SUFFIXES.get(image.mime, '.png')}"
