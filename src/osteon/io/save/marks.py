"""The mark of Osteon in the files it writes, by which it knows its own again.

Every format that has a place for it says `Osteon VERSION` or `written by Osteon` near its beginning: glTF its
generator, USD the comment of its layer, Alembic its application, .npz its `format`, OBJ and PLY a comment, JSON the key
`generator`, a page a meta tag, a PNG a text. Pictures beside an OBJ are copies of someone's own; the material library
that names them also has their sums. Those beside a USD stage have theirs in their names, so one that is there is never
written again. An .npy has no place for a mark.
"""

from __future__ import annotations

import hashlib
import mmap
import re
from pathlib import Path

from osteon import __version__
from osteon.core.errors import FileFormatError
from osteon.io.archives.archive import open_archive
from osteon.io.load.source import Source

__all__ = ["MARK", "MARK_KEY", "check_marked", "is_ours", "picture_line"]

MARK = f"Osteon {__version__}"
#: Of JSON files; the first of them.
MARK_KEY = "generator"

#: Bytes that are looked at. A comment, a key or a tag comes before that.
_HEAD = 1024
#: How files begin that Osteon wrote.
_BEGINNINGS = re.compile(
    rb"|".join(
        (
            rb'glTF.{16}\{"asset":\{"version":"2\.0","generator":"Osteon ',
            rb'\{"asset":\{"version":"2\.0","generator":"Osteon ',
            rb'\s*\{\s*"generator":\s*"Osteon ',
            rb"# (a frame|materials) of a mesh sequence, written by Osteon\n",
            rb"ply\nformat [^\n]*\ncomment a frame of a mesh sequence, written by Osteon\n",
            rb'<!doctype html>.*?<meta name="(generator" content="Osteon |osteon-mode" content="static")',
            rb"/\* Osteon ",
            rb"OSTP",  # a pack of the page
            rb"version,commit,date,machine,case,metric,value,bound,kind,ok\n",  # the record of a bench
            rb"rater,question,character,candidate,view,score,time\n",  # the answers of a study
            rb"\x89PNG.{29}.{0,64}tEXtSoftware\0Osteon ",
        )
    ),
    re.DOTALL,
)
_ALEMBIC_MARK = b"_ai_Application=Osteon "
_USD = (b"PXR-USDC", b"#usda")
_PICTURE = "# picture {name} sha256 {sum}"


def is_ours(path: Path) -> bool:
    """Whether Osteon wrote this file, by its mark. What cannot be read is not ours."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        return _has_mark(path, head)
    except (OSError, ValueError, FileFormatError):
        return False


def check_marked(folder: Path) -> None:
    """Refuse a folder that holds a file, in it or below, that Osteon did not write: to replace it would delete that."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not (path.is_dir() or is_ours(path)):
            name = path.relative_to(folder)
            raise FileFormatError(f"{folder}: holds '{name}', which Osteon did not write; name an empty folder")


def picture_line(name: str, data: bytes) -> str:
    """What a material library says of a picture beside it, so that it is known again."""
    return _PICTURE.format(name=name, sum=hashlib.sha256(data).hexdigest())


def _has_mark(path: Path, head: bytes) -> bool:
    if _BEGINNINGS.match(head):
        return True
    if head.startswith(b"Ogawa"):
        return _holds(path, _ALEMBIC_MARK)
    if head.startswith(b"PK\x03\x04") and path.suffix.lower() != ".usdz":
        with open_archive(Source(path)) as archive:
            return archive.text("format").startswith("osteon-")
    if head.startswith((b"PK\x03\x04", *_USD)):
        return _usd_comment(path).startswith("Osteon ")
    return head.startswith((b"\x89PNG", b"\xff\xd8")) and _is_known_picture(path)


def _holds(path: Path, words: bytes) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return mapped.find(words) >= 0


def _usd_comment(path: Path) -> str:
    """Of the layer, which may be anyone's: a child looks. Empty where USD is not installed or cannot read it."""
    from osteon.io.usd.client import usd_comment

    return usd_comment(path)


def _is_known_picture(path: Path) -> bool:
    """Whether a material library of ours beside the picture knows just these bytes."""
    line = picture_line(path.name, path.read_bytes()).encode()
    libraries = path.parent.glob("*.mtl")
    return any(line in library.read_bytes().splitlines() for library in libraries if is_ours(library))
