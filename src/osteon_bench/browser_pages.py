"""Pages of the benches: bundled from `view_pages/`, served from a folder, opened in a separate browser."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import osteon
from osteon.core.errors import OsteonError
from osteon_bench.players.browser import ARGUMENTS
from osteon_bench.players.tools import PACKAGES as PLAYER_PACKAGES
from osteon_bench.players.tools import find_chromium

PAGES = Path(__file__).resolve().parent / "view_pages"
PACKAGES = Path(osteon.__file__).resolve().parent / "view" / "page" / "node_modules"


def lacking_tools() -> list[str]:
    """Missing packages that the pages of the benchmark need, one line each."""
    return [
        *(
            f"the page's package {name} is not installed; run scripts/install in a checkout"
            for name in ("three", "esbuild")
            if not (PACKAGES / name).is_dir()
        ),
        *([] if find_chromium() else ["Chromium is not installed; run scripts/install-players"]),
        *([] if find_spec("playwright") else ["playwright is not installed; install the extra osteon[test]"]),
    ]


def bench_page(name: str, folder: Path) -> None:
    """NAME.html in a folder, with the script NAME.mjs bundled by the tool that bundles the page."""
    (folder / f"{name}.html").write_text((PAGES / "page.html").read_text().replace("NAME", name))
    _bundle(PAGES / f"{name}.mjs", folder / f"{name}.js")


def _bundle(module: Path, out: Path) -> None:
    program = PACKAGES / "esbuild" / "bin" / "esbuild"
    command = [str(program), str(module), f"--outfile={out}", "--bundle", "--minify", "--format=esm", "--target=es2022"]
    paths = os.pathsep.join(map(str, (PACKAGES, PLAYER_PACKAGES)))  # those of the players for peers
    done = subprocess.run(
        [*command, "--log-level=error"], env={**os.environ, "NODE_PATH": paths}, capture_output=True, text=True
    )
    if done.returncode:
        raise OsteonError(f"{module.name}: esbuild reports: {' '.join(done.stderr.split())[:300]}")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def served_folder(folder: Path) -> Iterator[str]:
    """The address at which a folder is served."""
    (folder / "packs").mkdir(exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def open_page(width: int, height: int) -> Iterator[Any]:
    """A page in a browser that was just started."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(find_chromium()), args=list(ARGUMENTS))
        try:
            # The page's policy forbids code from outside, which a benchmark needs to run.
            yield browser.new_page(viewport={"width": width, "height": height}, bypass_csp=True)
        finally:
            browser.close()
