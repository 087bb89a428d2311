"""Rows about EigenSkin in the page's shader: five eigendisplacements per joint compared with the skin alone.

The page of view_pages/eigenskin.mjs draws both alternately and waits for their pixels; the fastest of each counts.

Notes. Without a graphics card, SwiftShader runs shaders on the processor, where a texture fetch costs far more than
arithmetic: linear blending reads 12 texels per vertex, an entry of EigenSkin two, with normals three. Evaluated
wherever a vertex is shaded, a picture took 1.07 of the skin alone on the measured hand (3.9 entries per vertex) and
1.27 to 1.47 on the built-in one (8.4). Tried on the latter, each within the noise of a busy machine: displacement,
normal and column in one texel of 128 bits; coefficients as uniforms; ten entries as vertex attributes, which took 1.5
of posing and left no attribute for eight influences. Evaluating displacements once per picture
(engine/displaced_rest.js): 0.9 to 1.1 on both. Reading positions back without a picture shades each vertex once, so
nothing is shared: 1.2 to 1.6 and 1.5 to 1.9.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from osteon.core.model import SkinnedModel
from osteon.view.pack.model_pack import write_pack
from osteon_bench.browser_pages import bench_page, lacking_tools, open_page, served_folder
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun

#: Time of a picture over that of the skin alone.
COST = 1.25
#: Number of rounds, of which the fastest counts, and of pictures per round.
ROUNDS, TIMES = 20, 8


def shader_rows(run: BenchRun, case: str, model: SkinnedModel) -> list[Row]:
    """The cost of a character's columns in the page."""
    lacking = lacking_tools()
    for line in lacking:
        run.report_missing(line)
    if lacking:
        return []
    run.report(f"{case}: posing in the page's shader")
    # A separate thread: playwright keeps an event loop running, and a thread can run only one.
    with ThreadPoolExecutor(1) as thread:
        best = thread.submit(_measure, model).result()
    ratio = {what: best[f"{what} eigenskin"] / best[f"{what} skin"] for what in ("pictures", "positions")}
    return [
        at_most(case, "five a joint, page's shader: time of a picture / of the skin alone", ratio["pictures"], COST),
        figure(case, "five a joint, page's shader: ms a picture", best["pictures eigenskin"]),
        figure(case, "skin alone, page's shader: ms a picture", best["pictures skin"]),
        figure(case, "five a joint, page's shader: time of positions alone / of the skin alone", ratio["positions"]),
    ]


def _measure(model: SkinnedModel) -> dict[str, float]:
    """Least milliseconds per picture, and for reading all positions."""
    with tempfile.TemporaryDirectory(prefix="osteon-bench-") as name, served_folder(Path(name)) as address:
        write_pack(Path(name) / "model.bin", model)
        bench_page("eigenskin", Path(name))
        with open_page(980, 320) as page:
            page.goto(f"{address}/eigenskin.html")
            page.wait_for_function("window.bench !== undefined", timeout=60_000)
            page.evaluate("(url) => bench.load(url)", "model.bin")
            found: dict[str, list[float]] = page.evaluate("(settings) => bench.measure(...settings)", [ROUNDS, TIMES])
            return {word: min(times) for word, times in found.items()}
