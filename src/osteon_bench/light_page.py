"""Rows about precomputed light in the page: its shader against Python, and the cost of a picture.

The page of view_pages/light.mjs draws every vertex as one pixel, by the shader code that lights surfaces, in sRGB of 8
bits; the ground likewise. Python computes the same colours in double precision from what the file stores. Both are
compared for several frames, also between two of them, rotations of the environment and ranks.

Notes. A picture is timed on a software rasteriser, which runs shaders on the processor; rank 10 of order 4 reads 44
texels per vertex, linear blending of 4 bones 12.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from osteon.apply.light.environment import rotated
from osteon.apply.light.harmonics import cosine_transfer
from osteon.apply.light.model_light import BakedColors, Environment, ModelLight
from osteon.apply.light.shade import LUMINANCE, ground_colors, light_colors
from osteon.core.arrays import Float64
from osteon.core.model import SkinnedModel
from osteon.view.pack.model_pack import Evidence, write_pack
from osteon_bench.browser_pages import bench_page, lacking_tools, open_page, served_folder
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun

#: Parts of a frame, between which coefficients are interpolated, and degrees by which the environment is rotated.
PARTS, DEGREES = (0.0, 0.31, 0.5, 0.77, 1.0), (0.0, 35.0, 110.0, 200.0, 290.0)
#: Steps of 255 by which a colour may differ.
STEPS = 1.0
#: Mean irradiance of a white surface at exposure 0, as engine/light.js has it, and the first harmonic.
MEAN, Y00 = 0.74, 0.282095
#: Rounds of which the fastest counts, and pictures per round.
ROUNDS, TIMES = 6, 6


def empty_ground(light: ModelLight, environment: Environment) -> Float64:
    """(3,) the light of a plane without shadows."""
    plane = cosine_transfer(np.eye(3)["xyz".index(light.up)], light.order)
    return np.maximum(0, plane @ environment.coefficients[: len(plane)].astype(np.float64))


def ground_parts(light: ModelLight, environment: Environment, moment: float, rank: int) -> Float64:
    """(g,3) the part of its light that each point of the ground receives."""
    colors = ground_colors(light, environment, moment, rank)
    return np.asarray(np.minimum(1, colors / np.maximum(1e-4, empty_ground(light, environment))))


def baked_colors(baked: BakedColors, moment: float, rank: int) -> Float64:
    """(n,3) baked colours of white points."""
    colors = baked.at(moment, rank)
    return np.asarray(np.broadcast_to(colors, (len(colors), 3)))


def baked_ground_parts(light: ModelLight, moment: float, rank: int) -> Float64:
    """(g,3) the part of its light that each point of the ground receives, in baked colours."""
    baked, environment = light.baked, light.environments[0]
    if baked is None or baked.ground is None:
        return np.zeros((0, 3))
    colors = np.tensordot(baked.weights_at(moment, rank), baked.ground.astype(np.float64), axes=1)
    empty = empty_ground(light, environment)
    if baked.ground.shape[2] == 1:
        empty = np.repeat(empty @ LUMINANCE, 3)
    return np.asarray(np.minimum(1, colors / empty))


def exposure_of(environment: Environment) -> float:
    """The factor by which the page makes all environments equally bright."""
    return float(MEAN / (Y00 * environment.coefficients[0].mean()))


def screen_colors(linear: Float64) -> Float64:
    """sRGB in 0 … 255."""
    c = np.clip(linear, 0, 1)
    return 255 * np.where(c <= 0.0031308, 12.92 * c, 1.055 * np.maximum(c, 1e-5) ** (1 / 2.4) - 0.055)


def page_settings(environment: Environment, **changes: Any) -> dict[str, Any]:
    """Settings of the page."""
    how = {"by": "live", "left": None, "rank": 0, "occlusion": False, "ground": True, "turn": 0.0, "power": 1.0}
    return {**how, "environment": environment.coefficients.T.tolist(), **changes}


def shader_rows(run: BenchRun, case: str, model: SkinnedModel, light: ModelLight) -> list[Row]:
    """The page's shader against Python, and the time of its pictures."""
    lacking = lacking_tools()
    for line in lacking:
        run.report_missing(line)
    if lacking or not light.environments:
        return []
    run.report(f"{case}: light in the page's shader")
    # A separate thread: playwright keeps an event loop running, and a thread can run only one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_measure, case, model, light).result()


def _measure(case: str, model: SkinnedModel, light: ModelLight) -> list[Row]:
    with _opened(model, light) as page:
        rows = [
            at_most(case, f"page's shader and Python, {what}: largest difference, steps of 255", steps, STEPS)
            for what, steps in _differences(page, model, light).items()
        ]
        environment = light.environments[0]
        lit = page_settings(environment, rank=light.transfer.rank)
        ways = {"lit": lit, "bare": {**lit, "rank": 0}, "plain": None}
        least = page.evaluate("(settings) => bench.measure(...settings)", [ways, ROUNDS, TIMES])
    full = f"page: picture at rank {light.transfer.rank} with its ground"
    return [
        *rows,
        figure(case, f"{full}, time / without light", least["lit"] / least["plain"]),
        figure(case, "page: picture at rank 0, time / without light", least["bare"] / least["plain"]),
        figure(case, f"{full}, ms", least["lit"]),
    ]


@contextmanager
def _opened(model: SkinnedModel, light: ModelLight) -> Iterator[Any]:
    """The page with a model."""
    with tempfile.TemporaryDirectory(prefix="osteon-bench-") as name, served_folder(Path(name)) as address:
        write_pack(Path(name) / "model.bin", model, Evidence(light=light))
        bench_page("light", Path(name))
        with open_page(480, 270) as page:
            page.goto(f"{address}/light.html")
            page.wait_for_function("window.bench !== undefined", timeout=60_000)
            page.evaluate("(url) => bench.load(url)", "model.bin")
            yield page


def _differences(page: Any, model: SkinnedModel, light: ModelLight) -> dict[str, float]:
    """The largest difference of a colour, in steps of 255, of everything that the page lights."""
    environment, last = light.environments[0], model.clips[0].n_frames - 1
    exposure = exposure_of(environment)
    found: dict[str, float] = {}

    def compare(what: str, expected: Float64, changes: dict[str, Any], moment: float, *, ground: bool = False) -> None:
        settings = [page_settings(environment, **changes), moment, ground]
        shown = np.array(page.evaluate("(settings) => bench.read(...settings)", settings)).reshape(-1, 3)
        steps = float(np.abs(shown[: len(expected)] - screen_colors(expected)).max(initial=0))
        found[what] = max(found.get(what, 0.0), steps)

    for rank in sorted({0, 1, light.transfer.rank // 2, light.transfer.rank}):
        for part, degrees in zip(PARTS, DEGREES, strict=True):
            moment, turned = part * last, rotated(environment, degrees, light.up)
            changes: dict[str, Any] = {"rank": rank, "turn": float(np.radians(degrees))}
            colors = exposure * light_colors(model, light, turned, moment, rank=rank)
            compare("live", colors[model.mesh.normal_of_vertex], changes, moment)
            if light.ground is not None:
                compare("ground", ground_parts(light, turned, moment, rank), changes, moment, ground=True)
            if light.baked is not None and 0 < rank <= len(light.baked.weights):
                colors = exposure * baked_colors(light.baked, moment, rank)
                changes = {"rank": rank, "by": "baked"}
                compare("baked", colors[model.mesh.normal_of_vertex], changes, moment)
                compare("baked ground", baked_ground_parts(light, moment, rank), changes, moment, ground=True)
    return found
