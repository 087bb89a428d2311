"""The page as one file that a browser opens from disk: script, style, scene and models are all inside it.

<meta name="osteon-mode" content="file">          nothing is asked of anybody
<script type="application/json" id="scene">       what there is to see
<script type="text/plain" data-pack="ID">         the bytes of a model in base64, in pieces of at most PIECE bytes
<style>, <script>                                 the page; its policy allows these two by their sums, and nothing else
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from osteon.core.errors import FileFormatError, OptionError
from osteon.io import atomic_file
from osteon.io.load.source import PathLike
from osteon.io.save import GENERATOR
from osteon.view.bundle import read_bundle
from osteon.view.server.collection import Item

__all__ = ["SLOW_BYTES", "export_page", "is_single_page"]

#: Suffixes of a page in one file; other names are folders.
SUFFIXES = (".html", ".htm")
#: Larger files than this are refused: browsers take minutes for them, or give up.
MOST_BYTES = 400_000_000
#: Larger files than this open slowly.
SLOW_BYTES = 60_000_000
#: Bytes in a piece of base64; a multiple of 3, so that the pieces can be decoded one by one.
PIECE = 12_000_000
_TAG = {
    "mode": re.compile(r'<meta\s+name="osteon-mode"\s+content="server"\s*/?>'),
    "style": re.compile(r'<link\s+rel="stylesheet"\s+href="app\.css"\s*/?>'),
    "script": re.compile(r'<script\s+defer\s+src="app\.js"></script>'),
}


def is_single_page(path: PathLike) -> bool:
    """Whether a name means one file."""
    return Path(path).suffix.lower() in SUFFIXES


def export_page(path: PathLike, scene: dict[str, Any], items: Sequence[Item]) -> int:
    """Write the page with its models to one file, whole or not at all; gives its size in bytes."""
    style, script = _text("app.css"), _inside_tag(_text("app.js"))
    head, tail = _page(style, script)
    _check_size(path, len(head) + len(script) + sum(4 * item.pack.stat().st_size // 3 for item in items))
    with atomic_file(path) as out, out.open("wb") as file:
        file.write(head)
        file.write(b'<script type="application/json" id="scene">' + _json_inside(scene) + b"</script>\n")
        for item in items:
            file.writelines(_pieces(item))
        file.write(b"<script>" + script.encode() + b"</script>\n" + tail)
        return file.tell()


def _check_size(path: PathLike, size: int) -> None:
    if size > MOST_BYTES:
        raise OptionError(
            f"--export: {path} would have {size / 1e6:,.0f} MB, and browsers open at most {MOST_BYTES / 1e6:,.0f} MB "
            "well; name a folder instead, or show fewer frames"
        )


def _page(style: str, script: str) -> tuple[bytes, bytes]:
    """What comes before the models and what after the script; the page is told that all it needs is inside."""
    page = _text("index.html")
    policy = (
        f"default-src 'none'; script-src {_sum(script)}; style-src {_sum(style)}; img-src blob: data:; "
        "base-uri 'none'; form-action 'none'"
    )
    meta = (
        f'<meta name="osteon-mode" content="file">\n<meta name="generator" content="{GENERATOR}">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    )
    for name, text in (("mode", meta), ("style", f"<style>{style}</style>"), ("script", "")):
        page = _replaced(page, _TAG[name], text)
    head, body_end, tail = page.partition("</body>")
    if not body_end:
        raise _broken()
    return head.encode(), (body_end + tail).encode()


def _replaced(page: str, tag: re.Pattern[str], text: str) -> str:
    replaced, count = tag.subn(lambda _: text, page)
    if count != 1:
        raise _broken()
    return replaced


def _broken() -> FileFormatError:
    return FileFormatError("index.html: the page is not the one that was bundled; install Osteon again")


def _text(name: str) -> str:
    return read_bundle(name).decode("utf-8")


def _inside_tag(script: str) -> str:
    """A script that nothing in it ends early; what these words are part of, a string or a pattern, means the same."""
    return re.sub(r"<(/script|!--)", r"<\\\1", script, flags=re.IGNORECASE)


def _json_inside(value: dict[str, Any]) -> bytes:
    """JSON that a name such as `</script>` cannot leave."""
    return json.dumps(value).replace("<", "\\u003c").encode()


def _sum(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _pieces(item: Item) -> Iterator[bytes]:
    """The bytes of a model, as much at a time as is held in memory."""
    opening = f'<script type="text/plain" data-pack="{item.id}">'.encode()
    with item.pack.open("rb") as file:
        while data := file.read(PIECE):
            yield opening + base64.b64encode(data) + b"</script>\n"
