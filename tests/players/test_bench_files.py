"""`osteon bench files` on a subject small enough for a test; its fits are given."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from osteon.synth.baked import bake_model
from osteon_bench import files
from osteon_bench.players import browser
from osteon_bench.players.cases import make_cases
from osteon_bench.run import BenchRun


@pytest.fixture
def bench_run(monkeypatch, tmp_path):
    """A run whose sequence is a case, moved away from its model so that there is an error."""
    model = next(case.model for case in make_cases() if case.name == "corrections")
    played = bake_model(model.with_corrections(None)).sequence
    moved = replace(played, frames=played.frames * (1 + 0.01 * (played.frames > 0)))
    monkeypatch.setattr(files, "horse_or_fox", lambda run: moved)
    monkeypatch.setattr(files, "_fit", lambda sequence, rank, threads: model.truncate(rank))
    return BenchRun(tmp_path, 1)


def without_players(monkeypatch):
    for name in ("why_no_validator", "why_no_browser", "why_no_usd"):
        monkeypatch.setattr(files, name, lambda: "it is not here")


def test_sizes_and_errors_without_players(monkeypatch, bench_run):
    without_players(monkeypatch)
    rows = files.bench_files(bench_run)
    bounds = {(row.case.rpartition(" bones, ")[2], row.metric): row.bound for row in rows if row.bound is not None}
    assert bounds == {
        ("rank 0", "quantised .glb / float32 positions"): pytest.approx(1 / 12, abs=1e-6),
        ("rank 0", "change of E by quantisation, part of E"): 0.01,
        ("rank 5, positions only", "quantised .glb / float32 positions"): pytest.approx(1 / 6, abs=1e-6),
        ("rank 5, positions only", "change of E by quantisation, part of E"): 0.01,
    }
    assert all(row.value > 0 for row in rows if "change" not in row.metric)
    assert {row.metric for row in rows} >= {"kB, .glb", "kB, .npz", "E %"}
    names = ("USD", "gltf-validator", "three.js and Babylon.js")
    assert bench_run.missing == [f"{name}: omitted, it is not here" for name in names]
    assert "kB, .usdc" not in {row.metric for row in rows}


def test_players_play_every_case(monkeypatch, bench_run, messages, usd, players):
    both = {engine: players[engine] for engine in browser.BOTH}
    monkeypatch.setattr(browser, "start_players", lambda: nullcontext(both))  # one browser a process
    cases = [case for case in make_cases() if case.name in ("rigid", "eight influences")]
    monkeypatch.setattr(files, "make_cases", lambda: tuple(cases))
    rows = files.bench_files(bench_run)
    assert bench_run.missing == []
    for title in ("gltf-validator", "three, from", "three, half", "babylon, from", "UsdValidation", "USD, from"):
        metrics = [row.metric for row in rows if row.case.startswith(title)]
        assert len(metrics) >= len(cases) + 2, title
    assert any("with the plugin" in row.metric for row in rows if row.case.startswith("three"))
    assert not any("with the plugin" in row.metric for row in rows if row.case.startswith("babylon"))
