"""The bench of levels, on small characters."""

from __future__ import annotations

from pathlib import Path

import pytest

from osteon.bench import lod, lod_bones, lod_files, lod_mesh, lod_play
from osteon.bench.lod import bench_lod
from osteon.bench.lod_references import direct_search_seconds, literal_basic_error
from osteon.bench.run import BenchRun
from osteon.lod.search.fit_orders import fit_order, runs_of
from osteon.lod.search.pair_moments import pair_moments
from osteon.lod.search.skin_motion import read_skin_motion
from osteon.synth.jointed import JointedOptions, make_jointed


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BenchRun:
    monkeypatch.setattr(lod, "BUILT_IN", {"five joints": (1, 5)})
    monkeypatch.setattr(lod_bones, "JOINTED", {4: range(1)})
    monkeypatch.setattr(lod_play, "LEAST_BONES", 5)
    monkeypatch.setattr(lod_play, "RUNS", 2)
    monkeypatch.setattr(lod_files, "file_rows", lambda run: [])  # tests/players judges files
    monkeypatch.setattr(lod_mesh, "mesh_rows", lambda run, cases: [])  # test_lod_mesh.py
    return BenchRun(tmp_path / "sequences", 1)


def test_rows_and_what_is_missing(run: BenchRun) -> None:
    rows = bench_lod(run)
    assert {row.case.split(",")[0] for row in rows} == {"five joints", "4 joints"}
    bounded = [row for row in rows if row.bound is not None and "time" not in row.metric]
    assert [row.metric for row in bounded if not row.ok] == []
    assert {row.bound for row in rows if row.metric.startswith("% of the error")} == {None}  # made for others
    assert len(run.missing) == 1
    assert "no characters" in run.missing[0]


def test_the_basic_form_as_printed_is_no_better_than_with_exact_matrices() -> None:
    motion = read_skin_motion(make_jointed(2, JointedOptions(joints=6)))
    pairs, frames = pair_moments(motion.owners, motion.holds, 6), runs_of(motion)[0]
    for count in (1, 3):
        copy, mean = (literal_basic_error(motion, pairs, frames, count, mean=mean) for mean in (False, True))
        exact = fit_order(motion, pairs, frames, "offset")
        assert copy >= mean >= 0.99 * exact.errors[count] / motion.squared_unit
    assert literal_basic_error(motion, pairs, frames, 1, mean=False) * motion.squared_unit == pytest.approx(exact.base)


def test_a_direct_search_takes_longer_with_more_frames() -> None:
    few, many = (read_skin_motion(make_jointed(1, JointedOptions(frames=f, vertices=60))) for f in (4, 64))
    assert 0 < direct_search_seconds(few, 2) < direct_search_seconds(many, 2)
