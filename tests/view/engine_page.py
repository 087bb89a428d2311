"""The engine's modules in Chromium, unbundled, and a few questions to it; nothing goes over a network."""

from __future__ import annotations

import base64
import mimetypes
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon_bench.players.browser import ARGUMENTS
from osteon_bench.players.tools import PACKAGES, find_chromium

HERE = Path(__file__).resolve().parent
#: Pictures that tests leave to be looked at.
ARTIFACTS = HERE / "artifacts"
PAGE = HERE.parents[1] / "src" / "osteon" / "view" / "page"
SCHEMA = PAGE.parent / "pack" / "schema.json"
ORIGIN = "http://engine.invalid"
TYPES = {"Float32Array": "<f4", "Float64Array": "<f8", "Uint8Array": "u1"}


def packages() -> Path:
    """Where three.js is: beside the page, or beside the players."""
    own = PAGE / "node_modules"
    return own if (own / "three").is_dir() else PACKAGES


def why_no_engine() -> str:
    """Why the engine cannot run here; empty if it can."""
    if not (packages() / "three").is_dir():
        return "the package three is not installed; run scripts/install-players"
    if find_chromium() is None:
        return "Chromium is not installed; run scripts/install-players"
    return "" if find_spec("playwright") else "playwright is not installed; install the extra osteon[test]"


def decode(found: dict[str, str]) -> np.ndarray:
    """A list of numbers that the page sent."""
    return np.frombuffer(base64.b64decode(found["base64"]), TYPES[found["type"]])


class EnginePage:
    """A page with nothing but a canvas and the engine."""

    def __init__(self, browser: Browser, width: int = 640, height: int = 480) -> None:
        self.complaints: list[str] = []
        self._packs: dict[str, bytes] = {}
        self._call = browser.call
        self._call(self._open, browser.chromium, width, height)

    def _open(self, chromium: Any, width: int, height: int) -> None:
        self.page = chromium.new_page(viewport={"width": width, "height": height})
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._hear)
        self.page.route("**/*", self._serve)
        self.page.goto(f"{ORIGIN}/engine_page.html")
        self.page.wait_for_function("window.page !== undefined", timeout=300_000)

    def _hear(self, message: Any) -> None:
        # Chromium tells how slow it is to read from a software renderer; that is no fault of the page.
        if message.type in ("error", "warning") and "ReadPixels" not in message.text:
            self.complaints.append(message.text)

    def _serve(self, route: Any) -> None:
        asked = route.request.url.removeprefix(ORIGIN).lstrip("/")
        if asked in self._packs:
            route.fulfill(body=self._packs[asked], content_type="application/octet-stream")
            return
        roots = {"packages/": packages(), "engine/": PAGE / "engine", "light/": PAGE / "light", "pack/": SCHEMA.parent}
        root = next((folder for start, folder in roots.items() if asked.startswith(start)), HERE)
        path = root / asked.split("/", 1)[-1]
        if not path.is_file():
            route.fulfill(status=204 if asked == "favicon.ico" else 404)
            return
        kind = "text/javascript" if path.suffix == ".js" else mimetypes.guess_type(path.name)[0]
        route.fulfill(body=path.read_bytes(), content_type=kind or "application/octet-stream")

    def put(self, pack: bytes) -> str:
        """The address of a pack."""
        name = f"pack{len(self._packs)}"
        self._packs[name] = pack
        return f"/{name}"

    def run(self, code: str, *given: Any) -> Any:
        """Evaluate `code` with `page`, `engine` and `given` at hand."""
        body = f"async (given) => {{ const {{ page }} = window; const {{ engine }} = page; return {code}; }}"
        return self._call(self.page.evaluate, body, list(given))

    def load(self, pack: bytes) -> bool:
        return bool(self.run("await page.load(given[0])", self.put(pack)))

    def said(self) -> list[str]:
        """What the engine told its user."""
        return list(self.run("page.said"))

    def positions(self, frame: float, **options: Any) -> np.ndarray:
        """(v,3) what the shader computes."""
        return decode(self.run("await page.positions(...given)", frame, options)).reshape(-1, 3)

    def resize(self, width: int, height: int) -> None:
        self._call(self.page.set_viewport_size, {"width": width, "height": height})
        self.run("engine.resize()")

    def close(self) -> None:
        self._call(self.page.close)

    def set_view(self, **view: Any) -> None:
        self.run("void Object.assign(engine.view, given[0])", view)

    def picture(self, name: str | Path) -> np.ndarray:
        """(h,w,3) a drawn frame, also kept among the artefacts under its name, or at a path."""
        from PIL import Image

        path = name if isinstance(name, Path) else ARTIFACTS / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_relative_to(ARTIFACTS):
            (ARTIFACTS / ".gitignore").write_text("*\n")
        self.run("page.draw()")
        self._call(lambda: self.page.screenshot(path=str(path)))
        return np.asarray(Image.open(path).convert("RGB"))


@dataclass(frozen=True)
class Browser:
    """Chromium in a thread of its own: playwright leaves an event loop there, in which nobody else could start one."""

    chromium: Any
    thread: Executor

    def call(self, work: Callable[..., Any], *given: Any) -> Any:
        return self.thread.submit(work, *given).result()


@contextmanager
def start_browser() -> Iterator[Browser]:
    """Chromium for as long as the block lasts."""
    with ThreadPoolExecutor(1) as thread, ExitStack() as stack:
        try:
            yield Browser(thread.submit(_launch, stack).result(), thread)
        finally:
            thread.submit(stack.close).result()


def _launch(stack: ExitStack) -> Any:
    from playwright.sync_api import sync_playwright

    playwright = stack.enter_context(sync_playwright())
    browser = playwright.chromium.launch(executable_path=str(find_chromium()), args=list(ARGUMENTS))
    stack.callback(browser.close)
    return browser


@contextmanager
def engine_page(width: int = 640, height: int = 480) -> Iterator[EnginePage]:
    """The engine in a browser of its own; skips where there is none, and fails there with CI=true."""
    reason = why_no_engine()
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    with start_browser() as browser:
        yield EnginePage(browser, width, height)
