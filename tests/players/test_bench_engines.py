"""`osteon bench engines` with engines and fits made up here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.errors import OsteonError
from osteon.deform.pose import pose_frames
from osteon.synth.baked import bake_cylinder
from osteon_bench import engine_files, engines
from osteon_bench.dem_bones import PeerFit
from osteon_bench.players.cases import Case, make_cases
from osteon_bench.players.engines import ReferenceEngine
from osteon_bench.run import BenchRun

CASE = next(case for case in make_cases() if case.name == "rigid")


def exact(path, model):
    """An engine that shows frames as they are, and stands between them."""
    frames = pose_frames(model)

    def play(clip, times):
        at = [round(t * model.clips[clip].fps + 1e-6) for t in times]
        return frames[np.minimum(at, len(frames) - 1)][:, model.faces.ravel()]

    return play


def broken(path, model):
    def play(clip, times):
        raise OsteonError("it fails")

    return play


@pytest.fixture
def rows(monkeypatch, tmp_path):
    engines = (
        ReferenceEngine("here", lambda: "", exact),
        ReferenceEngine("limited", lambda: "", exact, lambda model: "it stands between frames"),
        ReferenceEngine("broken", lambda: "", broken),
        ReferenceEngine("absent", lambda: "it is not here", exact),
    )
    monkeypatch.setattr(engine_files, "ENGINES", engines)
    monkeypatch.setattr(engine_files, "default_files", lambda run: [CASE, Case("again", CASE.model)])
    monkeypatch.setattr(engine_files, "why_no_browser", lambda names: "no browser")
    run = BenchRun(tmp_path, 1)
    return run, engine_files.file_rows(run)


def test_every_file_in_every_engine(rows):
    found = rows[1]
    here = [row for row in found if row.case.startswith("here")]
    assert [row.metric for row in here] == [
        f"{name}, {when} frames" for name in ("rigid", "again") for when in ("at", "between")
    ]
    assert [row.bound for row in here] == [1e-4, 1e-3] * 2
    assert [row.ok for row in here] == [True, False] * 2


def test_what_is_not_there_is_missed(rows):
    run, found = rows
    assert "absent: omitted, it is not here" in run.missing
    assert {line.partition(":")[0] for line in run.missing} == {
        "three.js",
        "Babylon.js",
        "PlayCanvas",
        "Cesium",
        "absent",
    }
    assert not any(row.case.startswith("absent") for row in found)


def test_what_an_engine_lacks_is_a_row_without_a_bound(rows):
    limited = [row for row in rows[1] if row.case.startswith("limited")]
    assert len(limited) == 4
    assert all(row.bound is None and "it stands between frames" in row.metric for row in limited)
    assert max(row.value for row in limited) > 1e-3


def test_an_engine_that_fails_is_no_silence(rows):
    failed = [row for row in rows[1] if row.case.startswith("broken")]
    assert len(failed) == 4
    assert not any(row.ok for row in failed)


def test_fits_are_held_to_rigid_flexible_and_dem_bones(monkeypatch, tmp_path):
    sequence = replace(bake_cylinder(2).sequence, name="horse")
    errors = {("rigid", 0): 1.4, ("scaled", 0): 1.1, ("scaled", 10): 0.5, ("flexible", 10): 0.4}
    seconds = {"rigid": 1.0, "scaled": 1.2, "flexible": 1.0}

    def fit(run, name, sequence, kind, rank=0):
        return PeerFit(seconds[kind], errors[kind, rank], 30)

    monkeypatch.setattr(engines, "_fit", fit)
    monkeypatch.setattr(engines, "run_dem_bones", lambda *values, **options: PeerFit(4.0, 2.2, 30))
    monkeypatch.setattr(engines, "find_spec", lambda name: True)
    monkeypatch.setattr(engines, "find_sequence", lambda run, name: sequence if name == "horse" else None)
    monkeypatch.setattr(engines, "file_rows", lambda run: [])
    monkeypatch.setattr(engines, "compress_rows", lambda run: [])
    held = {row.metric: row for row in engines.bench_engines(BenchRun(tmp_path, 1)) if row.bound is not None}
    assert {metric: row.bound for metric, row in held.items()} == {
        "E %": 1.16,
        "time / rigid bones": 1.3,
        "E / Dem Bones": 1.0,
        "time / Dem Bones": 1.0,
        "E at rank 10 / flexible bones": 1.15,
    }
    assert [metric for metric, row in held.items() if not row.ok] == ["E at rank 10 / flexible bones"]
    assert held["time / Dem Bones"].value == pytest.approx(0.3)
