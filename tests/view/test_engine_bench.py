"""`osteon bench view` on a subject small enough for a test: every bound is there, and figures are those of the page."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.deform.pose import pose_frames
from osteon.synth.baked import bake_cylinder
from osteon.view import bundle
from osteon_bench import browser_pages, eigenskin_page, lod_page, view
from osteon_bench.lod import LevelCase
from osteon_bench.run import BenchRun

from ..posable import posable_model
from ..tolerance import assert_same_points
from .eigenskin_case import arm
from .engine_page import why_no_engine
from .level_cases import made_levels


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A tube in place of the horse, and a crowd of a few."""
    baked = bake_cylinder(2)
    monkeypatch.setattr(view, "horse_or_fox", lambda run: baked.sequence)
    monkeypatch.setattr(view, "_fit", lambda sequence, threads: baked.model)
    monkeypatch.setattr(view, "CROWD", 5)
    monkeypatch.setattr(view, "OPENINGS", 1)
    return baked.model


def watch_stored_frames(monkeypatch) -> dict[str, np.ndarray]:
    """Fills with what the page keeps of the frames, once they are measured, and with the center it keeps them about."""
    found: dict[str, np.ndarray] = {}
    measure = view._measure

    def measure_and_look(page, method):
        cost = measure(page, method)
        if method == "stored":
            frames = page.evaluate("bench.engine.group.stream.frames[0].map((frame) => Array.from(frame))")
            found["positions"] = np.array(frames).reshape(len(frames), -1, 6)[:, :, :3]
            found["vertex"] = np.array(page.evaluate("Array.from(bench.engine.group.stream.shapes[0].numbers)"), int)
            found["center"] = np.array(page.evaluate("bench.engine.group.characters[0].center"))
            found["color"] = np.array(page.evaluate(COLORS))
        return cost

    monkeypatch.setattr(view, "_measure", measure_and_look)
    return found


#: How many colours are seen, of the crowd by stored frames.
COLORS = """(() => {
  const gl = bench.engine.renderer.getContext();
  const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
  bench.engine.draw();
  const pixels = new Uint8Array(4 * width * height);
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
  return new Set(new Uint32Array(pixels.buffer)).size;
})()"""


def test_every_bound_is_measured(small, tmp_path, monkeypatch):
    if why_no_engine() or not (browser_pages.PACKAGES / "esbuild").is_dir() or not (bundle.STATIC / "app.js").is_file():
        pytest.skip("the page was not built here")
    told: list[str] = []
    kept = watch_stored_frames(monkeypatch)
    run = BenchRun(tmp_path, 1, told.append)
    rows = {row.metric: row for row in view.bench_view(run)}
    assert run.missing == []
    assert {row.bound for row in rows.values()} == {None, 1 / 6, 1 / 50, 2.0, 350.0}
    sent = 24 * 5 * small.n_vertices
    assert sent <= rows["bytes a picture, streaming"].value <= sent + 2000
    assert rows["bytes sent a picture, palettes / streaming"].value < 1 / 50
    assert rows["ms of that for posing"].value <= rows["ms of script a picture, streaming"].value
    assert rows["ms, page"].value > 0
    assert sent <= rows["bytes a picture, streaming of stored frames"].value <= sent + 2000
    assert rows["bytes of frames that are kept"].value == 24 * small.n_vertices * small.n_frames
    assert_same_points(kept["positions"] + kept["center"], pose_frames(small)[:, kept["vertex"]], 1e-5)
    assert kept["color"] > 20  # the bodies are shaded
    assert any("crowd of 5" in line for line in told)


def test_levels_are_measured_in_the_page(tmp_path, monkeypatch):
    if why_no_engine() or not (browser_pages.PACKAGES / "esbuild").is_dir():
        pytest.skip("the page was not built here")
    monkeypatch.setattr(lod_page, "CROWD", 200)
    monkeypatch.setattr(lod_page, "ROUNDS", 5)
    made = made_levels(posable_model())
    case = LevelCase("branch", made.model, made.skin, measured=True)
    rows = {row.metric: row for row in lod_page.page_rows(BenchRun(tmp_path, 1), case)}
    bound = rows["preparing matrices, a quarter of the bones / all"]
    assert (bound.bound, bound.kind) == (0.35, "max")
    assert 0 < bound.value < 1.5  # so few bones are mostly overhead
    assert 0 < rows["bytes sent a picture, a quarter of the bones / all"].value < 1
    assert rows["ms for 200 characters, all bones"].value > 0


def test_what_levels_in_the_page_lack_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(browser_pages, "find_chromium", lambda: None)
    run = BenchRun(tmp_path, 1)
    made = made_levels(posable_model())
    assert lod_page.page_rows(run, LevelCase("branch", made.model, made.skin, measured=True)) == []
    assert any("Chromium" in line for line in run.missing)


def test_the_bundle_counts_as_a_browser_gets_it(monkeypatch, tmp_path):
    for name in bundle.BUNDLE:
        (tmp_path / name).write_bytes(name.encode() * 1000)
    monkeypatch.setattr(bundle, "STATIC", tmp_path)
    total = sum(len(gzip.compress(name.encode() * 1000, 9)) for name in bundle.BUNDLE)
    assert view._bundle_rows()[0].value == pytest.approx(total / 1000)


def test_what_is_missing_is_named(small, monkeypatch, tmp_path, refused):
    monkeypatch.setattr(bundle, "STATIC", tmp_path)
    with refused(FileFormatError, "index.html", "is missing"):
        view._bundle_rows()
    monkeypatch.setattr(browser_pages, "PACKAGES", tmp_path)
    monkeypatch.setattr(browser_pages, "find_chromium", lambda: None)
    run = BenchRun(tmp_path, 1)
    assert view.bench_view(run) == []
    for line, name in zip(run.missing, ("is missing", "three", "esbuild", "Chromium"), strict=True):
        assert name in line


def test_the_bundle_is_measured_without_a_browser(small, monkeypatch, tmp_path):
    for name in bundle.BUNDLE:
        (tmp_path / name).write_bytes(b"page")
    monkeypatch.setattr(bundle, "STATIC", tmp_path)
    monkeypatch.setattr(browser_pages, "find_chromium", lambda: None)
    run = BenchRun(tmp_path, 1)
    assert {row.case for row in view.bench_view(run)} == {"bundle"}
    assert any("Chromium" in line for line in run.missing)


def test_eigenskin_is_measured_in_the_pages_shader(tmp_path, monkeypatch):
    if why_no_engine() or not (browser_pages.PACKAGES / "esbuild").is_dir():
        pytest.skip("the page was not built here")
    monkeypatch.setattr(eigenskin_page, "ROUNDS", 2)
    monkeypatch.setattr(eigenskin_page, "TIMES", 2)
    rows = {row.metric: row for row in eigenskin_page.shader_rows(BenchRun(tmp_path, 1), "arm", arm()[1].model)}
    (bound,) = (row for row in rows.values() if row.bound is not None)
    assert (bound.bound, bound.kind) == (1.25, "max")
    assert 0.2 < bound.value < 5
    assert all(row.value > 0 for row in rows.values())
    monkeypatch.setattr(browser_pages, "find_chromium", lambda: None)
    run = BenchRun(tmp_path, 1)
    assert eigenskin_page.shader_rows(run, "arm", arm()[1].model) == []
    assert any("Chromium" in line for line in run.missing)
