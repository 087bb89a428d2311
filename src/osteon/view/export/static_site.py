"""The page without a server: as static files, which any web server can show (`python -m http.server` does), or as one
file, NAME.html, which a browser opens from disk (single_page.py).

index.html, app.js, app.css      the page, told that there is no server behind it
scene.json                       what there is to see
packs/ID.bin                     one file for each model
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from typing import Any

from osteon.core.errors import FileFormatError
from osteon.io import atomic_folder
from osteon.io.load.source import PathLike
from osteon.io.save import GENERATOR, GENERATOR_KEY
from osteon.io.save.atomic import check_folder
from osteon.view.bundle import BUNDLE, POLICY, read_bundle
from osteon.view.export.single_page import export_page, is_single_page
from osteon.view.server.collection import Item

__all__ = ["check_export", "export_view"]

SCENE = "scene.json"
PACKS = "packs"
_EXPECTED = re.compile("|".join((*map(re.escape, (*BUNDLE, SCENE)), f"{PACKS}/", rf"{PACKS}/m\d+\.bin")))
_MODE = re.compile(rb'<meta\s+name="osteon-mode"\s+content="server"\s*/?>')


def export_view(target: PathLike, items: Sequence[Item]) -> int:
    """Write the page and its models, whole or not at all; gives their size in bytes. An earlier export is replaced."""
    models = [{**item.to_json(), "can_save": False} for item in items]
    scene = {GENERATOR_KEY: GENERATOR, "models": models, "can_fit": False, "limits": {}}
    if is_single_page(target):
        return export_page(target, scene, items)
    return _export_folder(target, scene, items)


def _export_folder(folder: PathLike, scene: dict[str, Any], items: Sequence[Item]) -> int:
    page = {name: read_bundle(name) for name in BUNDLE}
    page["index.html"] = _without_server(page["index.html"])
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
    """Refuse a folder that holds anything but an earlier export: it would be deleted."""
    check_folder(folder, _EXPECTED)


def _without_server(page: bytes) -> bytes:
    """The page as it looks for files instead of a server; it keeps its policy, which the server sent as a header."""
    meta = f'<meta name="osteon-mode" content="static">\n<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    replaced, count = _MODE.subn(meta.encode(), page)
    if count != 1:
        raise FileFormatError("index.html: the page does not say how it gets its models; install Osteon again")
    return replaced
