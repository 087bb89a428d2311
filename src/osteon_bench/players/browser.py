"""Web engines in headless Chromium: three.js, Babylon.js, PlayCanvas and Cesium with their own loaders and mixers.

Playwright serves pages, packages and files to the browser; nothing uses a network.

three.js supports four joints per vertex: it ignores JOINTS_1 and normalises the rest. The plugin beside this file adds
the second set. Babylon.js reads both sets. PlayCanvas and Cesium skin on the GPU only: their pages read the vertices,
joints, weights and morph targets of the engine and blend them in JavaScript.
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float32, Int32
from osteon.core.errors import OsteonError
from osteon_bench.players.tools import PACKAGES, SCRIPTS, find_chromium, why_no_browser

Engine = Literal["three", "babylon", "playcanvas", "cesium"]
#: The engines that also skin on the CPU.
BOTH: tuple[Engine, ...] = ("three", "babylon")
ALL: tuple[Engine, ...] = (*BOTH, "playcanvas", "cesium")
ORIGIN = "http://players.invalid"
#: Time limit for the start of a page on a loaded machine, in milliseconds.
START_TIMEOUT = 180_000
#: Software WebGL, without background connections.
ARGUMENTS = (
    *("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-sandbox"),
    *("--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update"),
    "--disable-sync",
)


@dataclass(frozen=True, slots=True)
class Primitive:
    """One primitive in a player."""

    name: str
    skinned: bool
    material: str
    textured: bool
    n_vertices: int
    faces: Int32  # (t,3)


class WebPlayer:
    """A page that shows one glTF at a time."""

    def __init__(self, browser: Any, engine: Engine, thread: Executor) -> None:
        self._browser, self._engine, self._thread = browser, engine, thread
        self._page: Any = None  # started with the first file
        self._files: dict[str, Path] = {}
        self._errors: list[str] = []
        self.clips: tuple[str, ...] = ()
        self.durations: tuple[float, ...] = ()
        self.primitives: tuple[Primitive, ...] = ()

    def _start(self) -> None:
        self._page = page = self._browser.new_page()
        page.on("pageerror", lambda error: self._errors.append(str(error)))
        page.on("console", lambda message: self._errors.append(message.text) if message.type == "error" else None)
        page.route("**/*", self._serve)
        page.goto(f"{ORIGIN}/{self._engine}.html", timeout=START_TIMEOUT)
        page.wait_for_function("window.player !== undefined", timeout=START_TIMEOUT)

    def _serve(self, route: Any) -> None:
        requested = route.request.url.removeprefix(ORIGIN).partition("?")[0].lstrip("/")
        package = requested.removeprefix("packages/")
        path = PACKAGES / package if package != requested else self._files.get(requested, SCRIPTS / requested)
        if not path.is_file():
            route.fulfill(status=204 if requested == "favicon.ico" else 404)
            return
        kind = "text/javascript" if path.suffix in (".js", ".mjs") else mimetypes.guess_type(path.name)[0]
        route.fulfill(body=path.read_bytes(), content_type=kind or "application/octet-stream")

    def open(self, path: Path, *, eight_influences: bool = False) -> None:
        """Load a file; `eight_influences` adds the plugin to three.js, which is stock without it."""
        name = f"file{path.suffix}"
        self._files = {name: path}
        if self._page is None:
            self._thread.submit(self._start).result()
        found = self._call("open", [f"/{name}", eight_influences])
        self.clips = tuple(clip["name"] for clip in found["clips"])
        self.durations = tuple(clip["duration"] for clip in found["clips"])
        self.primitives = tuple(
            Primitive(p["name"], p["skinned"], p["material"], p["textured"], p["vertices"], _faces(p["faces"]))
            for p in found["parts"]
        )

    def positions(self, clip: int | None, times: Sequence[float], way: Literal["cpu", "gpu"] = "cpu") -> list[Float32]:
        """For each primitive (f,v,3) world positions at some seconds of a clip; None is the scene without animation.

        "cpu" is what the player reports, "gpu" what the shaders of three.js compute.
        """
        text = self._call("positions", [clip, [float(t) for t in times], way])
        counts = [primitive.n_vertices for primitive in self.primitives]
        frames = np.frombuffer(base64.b64decode(text), "<f4").reshape(len(times), sum(counts), 3)
        return list(np.split(frames, np.cumsum(counts)[:-1], axis=1))

    def describe(self) -> dict[str, Any]:
        """Nodes, skeletons, clips, materials and meshes in three.js."""
        found: dict[str, Any] = self._call("describe", [])
        return found

    def corners(self, clip: int | None, times: Sequence[float], way: Literal["cpu", "gpu"] = "cpu") -> Float32:
        """(f,c,3) positions of all triangle corners, primitive after primitive."""
        shown = zip(self.positions(clip, times, way), self.primitives, strict=True)
        return np.concatenate([vertices[:, primitive.faces.ravel()] for vertices, primitive in shown], axis=1)

    def shades(self, clip: int | None, seconds: float, size: int = 64) -> NDArray[np.uint8]:
        """(size,size,4) a picture from +z, 8 units wide, on blue: normals towards +x are red, towards +z green."""
        text = self._call("shades", [clip, float(seconds), size])
        return np.frombuffer(base64.b64decode(text), np.uint8).reshape(size, size, 4)

    def call(self, name: str, arguments: list[object], files: Mapping[str, Path] | None = None) -> Any:
        """Call a function of the player's page, which may fetch `files` by name, and return its result."""
        self._files |= files or {}
        return self._call(name, arguments)

    def _call(self, name: str, arguments: list[object]) -> Any:
        self._errors.clear()
        result = self._thread.submit(
            self._page.evaluate, f"(values) => window.player.{name}(...values)", arguments
        ).result()
        if self._errors:
            raise OsteonError(f"the player reports: {self._errors[0].splitlines()[0]}")
        return result


@contextmanager
def start_players(engines: Sequence[Engine] = BOTH) -> Iterator[dict[Engine, WebPlayer]]:
    """Start a browser with some players for the duration of the block."""
    reason = why_no_browser(engines)
    if reason:
        raise OsteonError(f"{' and '.join(engines)} cannot play: {reason}")
    # A separate thread: playwright keeps an event loop running, and a thread can run only one.
    with ThreadPoolExecutor(1) as thread, ExitStack() as stack:
        try:
            yield thread.submit(_launch, stack, thread, engines).result()
        finally:
            thread.submit(stack.close).result()


def _launch(stack: ExitStack, thread: Executor, engines: Sequence[Engine]) -> dict[Engine, WebPlayer]:
    from playwright.sync_api import sync_playwright

    playwright = stack.enter_context(sync_playwright())
    browser = playwright.chromium.launch(executable_path=str(find_chromium()), args=list(ARGUMENTS))
    stack.callback(browser.close)
    return {engine: WebPlayer(browser, engine, thread) for engine in engines}


def _faces(text: str) -> Int32:
    return np.frombuffer(base64.b64decode(text), "<u4").reshape(-1, 3).astype(np.int32)
