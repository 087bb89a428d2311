"""The rows of `--compress` on a subject small enough for a test; its fit is given."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from osteon.synth.baked import bake_model
from osteon_bench import compressed
from osteon_bench.players import browser
from osteon_bench.players.cases import make_cases
from osteon_bench.run import BenchRun


@pytest.fixture
def bench_run(monkeypatch, tmp_path):
    """A run whose sequence is a case without its corrections, so that there is an error."""
    model = next(case.model for case in make_cases() if case.name == "corrections")
    monkeypatch.setattr(compressed, "horse_or_fox", lambda run: bake_model(model.with_corrections(None)).sequence)
    monkeypatch.setattr(compressed, "_fit", lambda sequence, threads: model)
    return BenchRun(tmp_path, 1)


def test_without_players_and_gltfpack(monkeypatch, bench_run):
    monkeypatch.setattr(compressed, "why_no_browser", lambda: "it is not here")
    monkeypatch.setattr(compressed, "PACKAGES", Path("nowhere"))
    rows = {row.metric: row for row in compressed.compress_rows(bench_run)}
    assert set(rows) == {
        *("a vertex moves at most, part of the diagonal", "E %", "E % before compression", "kB", "kB, gzipped")
    }
    assert rows["a vertex moves at most, part of the diagonal"].ok
    assert [line.partition(":")[0] for line in bench_run.missing] == ["gltfpack", "three.js and Babylon.js"]


def test_beside_gltfpack_and_in_players(monkeypatch, bench_run, players):
    monkeypatch.setattr(browser, "start_players", lambda: nullcontext(players))  # one browser a process
    rows = {row.metric: row for row in compressed.compress_rows(bench_run)}
    assert bench_run.missing == []
    assert rows["bytes / gltfpack's"].bound == rows["bytes / gltfpack's, both gzipped"].bound == 1.05
    assert rows["E / gltfpack's"].value > 0
    for engine in ("three", "babylon"):
        assert rows[f"{engine}, from osteon play, part of the diagonal"].ok
