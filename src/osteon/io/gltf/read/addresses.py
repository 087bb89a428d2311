"""Where the bytes of a glTF come from: the file itself, or its own folder. Nothing outside that folder is opened."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from osteon.io.load.source import Source, inside, quote

__all__ = ["check_address", "read_address"]


def check_address(source: Source, uri: Any, what: str) -> None:
    """Refuse what is no text, or leads out of the folder of `source` or to the network."""
    if not isinstance(uri, str):
        raise source.format_error(f"the address of {what} is not a text")
    if not uri.startswith("data:"):
        _beside(source, uri, what)


def read_address(source: Source, uri: Any, what: str) -> bytes:
    """The bytes at an address: a data URI, or a file in the folder of `source` (or below it)."""
    check_address(source, uri, what)
    if uri.startswith("data:"):
        return _embedded(source, uri, what)
    path = _beside(source, uri, what)
    if not _is_file(path):
        raise source.format_error(f"{what} is missing: there is no file {quote(uri)} beside it")
    return Source(path).read()


def _embedded(source: Source, uri: str, what: str) -> bytes:
    head, comma, body = uri.partition(",")
    if not comma:
        raise source.format_error(f"the data of {what} breaks off before its first byte")
    if not head.endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(unquote(body), validate=True)
    except (binascii.Error, ValueError) as error:
        raise source.format_error(f"the data of {what} is not base64") from error


def _beside(source: Source, uri: str, what: str) -> Path:
    """The file that an address names, all links followed; it need not exist."""
    name = unquote(uri)
    folder = source.path.parent
    if ":" in name or "\\" in name or "\0" in name or name.startswith("/"):
        raise source.format_error(f"{what} lies at {quote(uri)}; only files in the folder of the input are read")
    path = folder / name
    if not inside(folder, path):
        raise source.format_error(f"{what} lies at {quote(uri)}, outside the folder of the input; move it there")
    return path


def _is_file(path: Path) -> bool:
    """A regular file; a pipe or a device would be waited for, and a name the system cannot hold is no file."""
    try:
        return path.is_file()
    except OSError:
        return False
