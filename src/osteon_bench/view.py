"""The cost of the page: a crowd by matrix palettes against streamed vertices, its first picture, its bundle.

A software rasteriser hides what a graphics card would gain: the frame rates are for
information, and the bounds are on what does not depend on it.
"""

from __future__ import annotations

import gzip
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from osteon.core.errors import FileFormatError
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.io import save_model
from osteon.view.bundle import BUNDLE, read_bundle
from osteon.view.export import export_view
from osteon.view.pack.model_pack import write_pack
from osteon.view.server.collection import Collection, prepare_item
from osteon_bench.browser_pages import bench_page, lacking_tools, open_page, served_folder
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun, horse_or_fox

BONES = 30
#: Number of times that each page is opened, each in a new browser.
OPENINGS = 5
FIRST_BOUND = 2.0
BUNDLE_BOUND = 350.0  # kB
#: Says when the first draw call with all triangles of the model is finished, on any page that uses WebGL 2.
WATCH = """
const least = %d;
for (const name of ["drawElements", "drawElementsInstanced", "drawArrays", "drawArraysInstanced"]) {
  const draw = WebGL2RenderingContext.prototype[name];
  WebGL2RenderingContext.prototype[name] = function (...values) {
    draw.apply(this, values);
    if (window.firstPicture !== undefined || Math.max(values[1], values[2]) < least) return;
    window.firstPicture = null;
    queueMicrotask(() => {
      this.readPixels(0, 0, 1, 1, this.RGBA, this.UNSIGNED_BYTE, new Uint8Array(4));
      window.firstPicture = performance.now();
    });
  };
}
"""


def bench_view(run: BenchRun) -> list[Row]:
    """Rows for the bundle, and for the horse in a browser, or the built-in fox where there is none."""
    rows, sequence = _bundle_rows_if_built(run), horse_or_fox(run)
    lacking = lacking_tools()
    for line in lacking:
        run.report_missing(line)
    if lacking or not rows:
        return rows
    run.report(f"{sequence.name}: {BONES} bones")
    model = _fit(sequence, run.threads)
    # A separate thread: playwright keeps an event loop running, and a thread can run only one.
    with ThreadPoolExecutor(1) as thread:
        return rows + thread.submit(_browser_rows, run, model).result()


def _browser_rows(run: BenchRun, model: SkinnedModel) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="osteon-bench-") as name, served_folder(Path(name)) as address:
        _prepare(model, Path(name))
        run.report("first picture, and that of a bare three.js page")
        rows = _first_rows(model, address)
        run.report(f"a crowd of {CROWD}, by palettes and by streaming; minutes on a software rasteriser")
        with open_page(480, 270) as page:
            page.goto(f"{address}/crowd.html")
            return rows + crowd_rows(model.name, page)


def _bundle_rows_if_built(run: BenchRun) -> list[Row]:
    try:
        return _bundle_rows()
    except FileFormatError as error:  # the page was not built
        run.report_missing(str(error))
        return []


def _bundle_rows() -> list[Row]:
    """Kilobytes of the page as a browser gets it."""
    packed = {name: len(gzip.compress(read_bundle(name), 9)) / 1000 for name in BUNDLE}
    parts = [figure("bundle", f"kB gzipped, {name}", size) for name, size in packed.items()]
    return [at_most("bundle", "kB gzipped", sum(packed.values()), BUNDLE_BOUND), *parts]


def _fit(sequence: MeshSequence, threads: int) -> SkinnedModel:
    from osteon.pipeline.skin import skin_sequence

    return skin_sequence(sequence, options=SkinOptions(bones=BONES, threads=threads)).model


def _prepare(model: SkinnedModel, folder: Path) -> None:
    """The page as an export, and the two pages of the bench, bundled by the same tool."""
    save_model(model, folder / "model.glb")
    write_pack(folder / "model.bin", model)
    collection = Collection(folder / "packs")
    item_id = collection.new_id()
    export_view(folder / "page", [prepare_item(item_id, (str(folder / "model.glb"),), collection.pack_of(item_id))])
    for name in ("bare", "crowd"):
        bench_page(name, folder)


def _first_rows(model: SkinnedModel, address: str) -> list[Row]:
    """Both pages alternately, so that other work of the machine affects both."""
    found: dict[str, list[float]] = {"page/index.html": [], "bare.html": []}
    for _ in range(OPENINGS):
        for name, times in found.items():
            times.append(_first_picture(f"{address}/{name}", 3 * len(model.faces)))
    ours, bare = (median(times) for times in found.values())
    return [
        at_most("first picture", "page / bare three.js page with GLTFLoader", ours / bare, FIRST_BOUND),
        figure("first picture", "ms, page", ours),
        figure("first picture", "ms, bare three.js page", bare),
    ]


def _first_picture(url: str, elements: int) -> float:
    """Milliseconds from the beginning of the navigation until the model is drawn."""
    with open_page(1280, 720) as page:
        page.add_init_script(WATCH % elements)
        page.goto(url, wait_until="commit")
        page.wait_for_function("typeof window.firstPicture === 'number'", timeout=120_000)
        return float(page.evaluate("window.firstPicture"))


# A crowd by matrix palettes against the same crowd by streamed vertices, in the page of view_pages/crowd.mjs.
#
# Based on: James and Twigg, Skinning Mesh Animations, 2005, section 7, "Comparison to vertex buffer objects".
# Vertices are streamed in two ways: every instance is posed in script and sent, as in a player without palettes; or
# stored frames of positions and normals are sent, as in the paper, which needs no posing but stores every frame. Bytes
# are counted at the calls that send them.

CROWD = 1000
#: Pictures of the crowd measured with each method, after one for warm-up.
PICTURES = 2
SCRIPT_BOUND = 1 / 6  # the paper's ratio of frame rates
BYTES_BOUND = 1 / 50


@dataclass(frozen=True, slots=True)
class _Cost:
    """Medians for one picture of the crowd."""

    script: float  # ms on the page's thread
    pose: float  # ms of that spent on posing
    bytes: float  # sent to the graphics card
    picture: float  # ms until it is drawn
    triangles: int
    kept: int  # bytes of stored frames

    @property
    def rate(self) -> float:
        return 1000 / self.picture


def crowd_rows(name: str, page: Any) -> list[Row]:
    """The cost of a picture with each method, on a page that is loading."""
    page.wait_for_function("window.bench !== undefined", timeout=60_000)
    page.evaluate("bench.load('model.bin')")
    palette, stream, stored = (_measure(page, method) for method in ("palette", "stream", "stored"))
    case = f"crowd of {CROWD}, {name}"
    return [
        at_most(case, "script, palettes / streaming without its sending", palette.script / stream.pose, SCRIPT_BOUND),
        at_most(case, "script, palettes / streaming of stored frames", palette.script / stored.script, SCRIPT_BOUND),
        figure(case, "script, palettes / streaming in all", palette.script / stream.script),
        figure(case, "ms of script a picture, palettes", palette.script),
        figure(case, "ms of script a picture, streaming", stream.script),
        figure(case, "ms of that for posing", stream.pose),
        figure(case, "ms of script a picture, streaming of stored frames", stored.script),
        at_most(case, "bytes sent a picture, palettes / streaming", palette.bytes / stream.bytes, BYTES_BOUND),
        figure(case, "bytes a picture, palettes", palette.bytes),
        figure(case, "bytes a picture, streaming", stream.bytes),
        figure(case, "bytes a picture, streaming of stored frames", stored.bytes),
        figure(case, "bytes of frames that are kept", stored.kept),
        figure(case, "pictures a second, palettes", palette.rate),
        figure(case, "pictures a second, streaming", stream.rate),
        figure(case, "pictures a second, streaming of stored frames", stored.rate),
        figure(case, "million triangles a second, palettes", palette.rate * palette.triangles / 1e6),
    ]


def _measure(page: Any, method: str) -> _Cost:
    found = page.evaluate("(settings) => bench.measure(...settings)", [CROWD, method, PICTURES])
    middle = {key: median(row[key] for row in found["rows"]) for key in ("script", "pose", "bytes", "picture")}
    return _Cost(**middle, triangles=found["triangles"], kept=found["kept"])
