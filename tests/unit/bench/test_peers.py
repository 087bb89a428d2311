"""What Osteon is compared with: Dem Bones at its defaults, and at the best that a search over its options finds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from osteon.synth.baked import bake_cylinder
from osteon_bench import peers
from osteon_bench.dem_bones import (
    DEFAULTS,
    MOST_ACCURATE,
    TRIED,
    DemBonesOptions,
    PeerFit,
    run_dem_bones,
    search_options,
    thinned,
)
from osteon_bench.run import BenchRun

SEQUENCE = bake_cylinder(2).sequence
BEST = DemBonesOptions(affine=1.0, smooth=1e-6, iterations=100)


def hill(options: DemBonesOptions) -> float:
    """An error with one valley, which lies at BEST."""
    distance = abs(options.affine - BEST.affine) + abs(np.log10(options.smooth + 1e-9) + 6) / 10
    return 5 + distance + 3 * (options.affine_norm != BEST.affine_norm) + 10 / min(options.iterations, 100)


@pytest.fixture
def no_fits(monkeypatch):
    """Errors by a formula, and times of a second."""
    asked: list[tuple[DemBonesOptions, int]] = []

    def fit(sequence, bones, options=DEFAULTS, influences=4):
        asked.append((options, influences))
        return PeerFit(1.0, hill(options), bones)

    monkeypatch.setattr(peers, "run_dem_bones", fit)
    monkeypatch.setattr(peers, "_run_osteon", lambda *_: PeerFit(0.2, 2.0, 30))
    monkeypatch.setattr(peers, "_conditioning", lambda *_: 0.5)
    monkeypatch.setattr(peers, "_first_run_rows", lambda run: [])
    monkeypatch.setattr(peers, "find_sequence", lambda run, name: SEQUENCE)
    monkeypatch.setattr(peers, "find_spec", lambda name: name)
    return asked


def test_the_search_goes_down_in_all_options():
    tried: list[DemBonesOptions] = []
    found = search_options(lambda options: (tried.append(options), hill(options))[1])
    assert found == BEST
    assert tried[0] == DEFAULTS
    assert len(set(tried)) == len(tried)  # nothing is tried twice
    for name, values in TRIED.items():
        assert {getattr(options, name) for options in tried} == set(values)
    assert max(options.iterations for options in tried) == 300


def test_the_best_of_every_sequence_is_known_beforehand():
    assert MOST_ACCURATE.keys() == peers.BONES.keys()
    assert len(peers.BONES) == 3


def test_options_reach_dem_bones(monkeypatch):
    dem = pytest.importorskip("py_dem_bones")
    told = {}

    def solve(rest, frames, bones, *, max_influences, iterations, solver, **_):
        told.update(bones=bones, influences=max_influences, nIters=iterations)
        told.update({name: getattr(solver, name) for name in DEFAULTS.values() if name != "nIters"})
        still = np.broadcast_to(np.eye(4), (len(frames), 1, 4, 4))
        return SimpleNamespace(weights=np.ones((1, len(rest))), transforms=still)

    monkeypatch.setattr(dem, "solve_skinning", solve)
    fit = run_dem_bones(SEQUENCE, 3, BEST, influences=8)
    assert told == {"bones": 3, "influences": 8, **BEST.values()}
    moved = SEQUENCE.frames - SEQUENCE.rest
    expected = np.linalg.norm(moved) / np.linalg.norm(SEQUENCE.frames - SEQUENCE.frames.mean(axis=0))
    assert fit.error_percent == pytest.approx(100 * expected, rel=1e-4)
    assert fit.bones == 1


def test_a_sample_has_fewer_frames(monkeypatch):
    monkeypatch.setattr("osteon_bench.dem_bones.SAMPLE", 8 * SEQUENCE.n_vertices)
    sample = thinned(SEQUENCE)
    assert 8 <= sample.n_frames < SEQUENCE.n_frames
    assert sample.n_vertices == SEQUENCE.n_vertices


def test_what_was_found_before_is_the_opponent(no_fits, tmp_path):
    rows = {(row.case.split(",")[0], row.metric): row for row in peers.bench_peers(BenchRun(tmp_path, 1))}
    for name, options in MOST_ACCURATE.items():
        assert rows[name, "E %, accurate"].value == hill(options)
        assert rows[name, "Dem Bones at its most accurate, nIters"].value == options.iterations
        row = rows[name, "E, rigid / Dem Bones at its most accurate"]
        assert row.value == pytest.approx(2 / hill(options))
        assert (row.bound is not None) == (name == "horse")
    assert BEST not in [options for options, _ in no_fits]


def test_a_search_prints_what_it_tried_and_judges_what_was_found_before(no_fits, tmp_path):
    rows = peers.bench_peers(BenchRun(tmp_path, 1, search=True))
    found = {(row.case.split(",")[0], row.metric): row for row in rows}
    for name in peers.BONES:
        assert found[name, "E %, accurate"].value == hill(BEST)
        assert found[name, "E %, transAffine 1, weightsSmooth 1e-06, nIters 100"].value == hill(BEST)
        assert not found[name, "E, options found before / best found"].ok
        assert (BEST, 8) in no_fits


def test_the_horse_is_compared_only_where_dem_bones_is(no_fits, tmp_path):
    run = BenchRun(tmp_path, 1)
    alone, both = (peers._horse_rows(run, SEQUENCE, peer) for peer in (False, True))
    assert not any("Dem Bones" in row.metric for row in alone)
    assert sum("/ Dem Bones" in row.metric for row in both) == 9
    assert {row.metric for row in alone} < {row.metric for row in both}
