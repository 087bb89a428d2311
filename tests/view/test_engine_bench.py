"""`osteon bench view` on a subject small enough for a test: every bound is there, and figures are those of the page."""

from __future__ import annotations

import gzip
import os

import pytest

from osteon.bench import view
from osteon.bench.run import BenchRun
from osteon.core.errors import FileFormatError
from osteon.synth.baked import bake_cylinder
from osteon.view import bundle

from .engine_page import why_no_engine


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A tube in place of the horse, and a crowd of a few."""
    baked = bake_cylinder(2)
    monkeypatch.setattr(view, "horse_or_fox", lambda run: baked.sequence)
    monkeypatch.setattr(view, "_fit", lambda sequence, threads: baked.model)
    monkeypatch.setattr(view, "CROWD", 5)
    monkeypatch.setattr(view, "OPENINGS", 1)
    return baked.model


def test_every_bound_is_measured(small, tmp_path):
    if why_no_engine() or not (view.PACKAGES / "esbuild").is_dir() or not (bundle.STATIC / "app.js").is_file():
        assert os.environ.get("CI") != "true", "the page was not built here"
        pytest.skip("the page was not built here")
    told: list[str] = []
    run = BenchRun(tmp_path, 1, told.append)
    rows = {row.metric: row for row in view.bench_view(run)}
    assert run.missing == []
    assert {row.bound for row in rows.values()} == {None, 1 / 6, 1 / 50, 2.0, 350.0}
    sent = 24 * 5 * small.n_vertices
    assert sent <= rows["bytes a picture, streaming"].value <= sent + 2000
    assert rows["bytes sent a picture, palettes / streaming"].value < 1 / 50
    assert rows["ms of that for posing"].value <= rows["ms of script a picture, streaming"].value
    assert rows["ms, page"].value > 0
    assert any("crowd of 5" in line for line in told)


def test_the_bundle_counts_as_a_browser_gets_it(monkeypatch, tmp_path):
    for name in bundle.BUNDLE:
        (tmp_path / name).write_bytes(name.encode() * 1000)
    monkeypatch.setattr(bundle, "STATIC", tmp_path)
    total = sum(len(gzip.compress(name.encode() * 1000, 9)) for name in bundle.BUNDLE)
    assert view._bundle_rows()[0].value == pytest.approx(total / 1000)


def test_what_is_missing_is_named(small, monkeypatch, tmp_path, refused):
    monkeypatch.setattr(bundle, "STATIC", tmp_path)
    with refused(FileFormatError, "index.html", "not built"):
        view._bundle_rows()
    monkeypatch.setattr(view, "PACKAGES", tmp_path)
    monkeypatch.setattr(view, "find_chromium", lambda: None)
    run = BenchRun(tmp_path, 1)
    assert view.bench_view(run) == []
    for line, name in zip(run.missing, ("not built", "three", "esbuild", "Chromium"), strict=True):
        assert name in line


def test_the_bundle_is_measured_without_a_browser(small, monkeypatch, tmp_path):
    for name in bundle.BUNDLE:
        (tmp_path / name).write_bytes(b"page")
    monkeypatch.setattr(bundle, "STATIC", tmp_path)
    monkeypatch.setattr(view, "find_chromium", lambda: None)
    run = BenchRun(tmp_path, 1)
    assert {row.case for row in view.bench_view(run)} == {"bundle"}
    assert any("Chromium" in line for line in run.missing)
