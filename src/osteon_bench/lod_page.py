"""Rows about levels in the page: the cost of preparing matrices, in the page of view_pages/levels.mjs.

Interpolation, kinematics and palette of a crowd run in the page's script, for active bones only: the constant offset of
a following bone is applied where a vertex reads it.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from osteon.core.model import SkinnedModel
from osteon.lod.model_levels import Level, ModelLevels, with_slots
from osteon.lod.progressive_skin import ProgressiveSkin
from osteon.view.pack.model_pack import Evidence, write_pack
from osteon_bench.browser_pages import bench_page, lacking_tools, open_page, served_folder
from osteon_bench.lod import LevelCase, bounded
from osteon_bench.rows import Row, figure
from osteon_bench.run import BenchRun

#: Time with a quarter of the bones over that with all.
COST = 0.35
#: Characters; rounds, of which the fastest counts; repetitions per round.
CROWD, ROUNDS, TIMES = 256, 20, 16
PARTS = (0.25, 0.5, 1.0)


def page_rows(run: BenchRun, case: LevelCase) -> list[Row]:
    """The cost of a crowd in the page with a quarter, half and all of its bones."""
    lacking = lacking_tools()
    for line in lacking:
        run.report_missing(line)
    if lacking:
        return []
    run.report(f"{case.name}: preparing matrices in the page")
    # A separate thread: playwright keeps an event loop running, and a thread can run only one.
    with ThreadPoolExecutor(1) as thread:
        quarter, half, whole = thread.submit(_measure, case.model, case.levels).result()
    label = f"{case.name}, page"
    return [
        bounded(case, label, "preparing matrices, a quarter of the bones / all", quarter["ms"] / whole["ms"], COST),
        figure(label, "preparing matrices, half of the bones / all", half["ms"] / whole["ms"]),
        figure(label, "ns a bone and character, all bones", 1e6 * whole["ms"] / whole["bones"]),
        figure(label, f"ms for {CROWD} characters, all bones", whole["ms"]),
        figure(label, "bytes sent a picture, a quarter of the bones / all", quarter["bytes"] / whole["bytes"]),
    ]


def _measure(model: SkinnedModel, skin: ProgressiveSkin) -> list[dict[str, Any]]:
    """For every fraction of the bones: ms of preparation, bytes per picture, and number of bones."""
    with tempfile.TemporaryDirectory(prefix="osteon-bench-") as name, served_folder(Path(name)) as address:
        folder = Path(name)
        sorted_model = SkinnedModel(with_slots(model.character, skin.blends.skin), model.animation)
        whole = Level(skin.n_ordered, skin.blends.n_blends, 0, len(model.faces))
        write_pack(folder / "model.bin", sorted_model, Evidence(levels=ModelLevels(sorted_model, skin, (whole,))))
        bench_page("levels", folder)
        with open_page(240, 160) as page:
            page.goto(f"{address}/levels.html")
            page.wait_for_function("window.bench !== undefined", timeout=60_000)
            page.evaluate("(settings) => bench.load(...settings)", ["model.bin", CROWD])
            found: list[dict[str, Any]] = page.evaluate(
                "(settings) => bench.measure(...settings)", [list(PARTS), ROUNDS, TIMES]
            )
            return found
