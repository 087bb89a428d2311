"""Exports the page without a server: as a folder of static files for any web server, or as one file for a browser.

A folder, which for example `python -m http.server` serves:
    index.html, app.js, app.css                       the page in its static mode
    scene.json                                        the list of items
    packs/ID.bin                                      one file for each model

One file, NAME.html, which a browser opens from disk:
    <meta name="osteon-mode" content="file">          the page in its file mode, which sends no requests
    <script type="application/json" id="scene">       the list of items
    <script type="text/plain" data-pack="ID">         a model in base64, in pieces of at most PIECE bytes
    <style>, <script>                                 the page; its policy allows only these two, by their hashes
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from osteon.core.errors import FileFormatError, OptionError
from osteon.io import atomic_file, atomic_folder
from osteon.io.load.source import PathLike
from osteon.io.save import GENERATOR, GENERATOR_KEY
from osteon.io.save.atomic import check_folder
from osteon.view.bundle import BUNDLE, POLICY, read_bundle
from osteon.view.server.collection import Item

SCENE = "scene.json"
PACKS = "packs"
_EXPECTED = re.compile("|".join((*map(re.escape, (*BUNDLE, SCENE)), f"{PACKS}/", rf"{PACKS}/m\d+\.bin")))
#: Suffixes of a page in one file; other names are folders.
SUFFIXES = (".html", ".htm")
#: Larger files are refused: browsers take minutes for them, or fail.
MOST_BYTES = 400_000_000
#: Larger files open slowly.
SLOW_BYTES = 60_000_000
#: Bytes in a piece of base64; a multiple of 3, so that the pieces can be decoded one by one.
PIECE = 12_000_000
_TAG = {
    "mode": re.compile(r'<meta\s+name="osteon-mode"\s+content="server"\s*/?>'),
    "style": re.compile(r'<link\s+rel="stylesheet"\s+href="app\.css"\s*/?>'),
    "script": re.compile(r'<script\s+defer\s+src="app\.js"></script>'),
}


def export_view(target: PathLike, items: Sequence[Item]) -> int:
    """Write the page and its models atomically, replacing an earlier export; returns their size in bytes."""
    models = [{**item.to_json(), "can_save": False} for item in items]
    scene = {GENERATOR_KEY: GENERATOR, "models": models, "can_fit": False, "limits": {}}
    if is_single_page(target):
        return export_page(target, scene, items)
    return _export_folder(target, scene, items)


def _export_folder(folder: PathLike, scene: dict[str, Any], items: Sequence[Item]) -> int:
    # The content policy is a header of the server; here it becomes a meta element.
    meta = f'<meta name="osteon-mode" content="static">\n<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    page = {name: read_bundle(name) for name in BUNDLE}
    page["index.html"] = _replaced(_text("index.html"), _TAG["mode"], meta).encode()
    with atomic_folder(folder, check_export) as out:
        for name, data in page.items():
            mark = b"" if name.endswith(".html") else f"/* {GENERATOR} */\n".encode()
            (out / name).write_bytes(mark + data)
        (out / SCENE).write_text(json.dumps(scene, indent=1) + "\n", encoding="utf-8")
        (out / PACKS).mkdir()
        for item in items:
            shutil.copyfile(item.pack, out / PACKS / f"{item.id}.bin")
        return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())


def check_export(folder: PathLike) -> None:
    """Refuse a folder with files that are not part of an export."""
    check_folder(folder, _EXPECTED)


def is_single_page(path: PathLike) -> bool:
    """Whether a name means one file."""
    return Path(path).suffix.lower() in SUFFIXES


def export_page(path: PathLike, scene: dict[str, Any], items: Sequence[Item]) -> int:
    """Write the page with its models to one file atomically; returns its size in bytes."""
    # Escaped end tags have the same meaning within strings and regular expressions.
    style, script = _text("app.css"), re.sub(r"<(/script|!--)", r"<\\\1", _text("app.js"), flags=re.IGNORECASE)
    head, tail = _page(style, script)
    _check_size(path, len(head) + len(script) + sum(4 * item.pack.stat().st_size // 3 for item in items))
    with atomic_file(path) as out, out.open("wb") as file:
        file.write(head)
        file.write(
            b'<script type="application/json" id="scene">'
            + json.dumps(scene).replace("<", "\\u003c").encode()
            + b"</script>\n"
        )
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
    """The parts of the page in its file mode before the models and after the script."""
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


def _sum(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _pieces(item: Item) -> Iterator[bytes]:
    """The script elements of a model, piece by piece."""
    opening = f'<script type="text/plain" data-pack="{item.id}">'.encode()
    with item.pack.open("rb") as file:
        while data := file.read(PIECE):
            yield opening + base64.b64encode(data) + b"</script>\n"
