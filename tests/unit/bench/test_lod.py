"""The bench of levels, on small characters."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from osteon.lod.fit_progressive import fit_progressive
from osteon.lod.search.fit_orders import FrameRun, fit_order, runs_of
from osteon.lod.search.merge_search import MergeProblem
from osteon.lod.search.pair_moments import motion_grams, pair_moments
from osteon.lod.search.skin_motion import read_skin_motion
from osteon_bench import lod, lod_bones, lod_files, lod_mesh, lod_play
from osteon_bench.lod import LevelCase, bench_lod
from osteon_bench.lod_play import largest_pop
from osteon_bench.lod_references import _set_error, direct_search_seconds, exhaust, literal_basic_error
from osteon_bench.run import BenchRun
from osteon_bench.subjects import JointedOptions, make_jointed


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


def test_a_jump_and_an_arc_are_pops() -> None:
    """Straight on is 1; an arc between the same ends is longer; a jump in one of the places looked at is 100."""
    places = {
        "straight": lambda at: [at, 0.0, 0.0],
        "half a circle": lambda at: [np.cos(np.pi * at), np.sin(np.pi * at), 0.0],
        "a jump": lambda at: [float(at > 0.505), 0.0, 0.0],
        "nothing": lambda at: [0.0, 0.0, 0.0],
    }
    found = {words: largest_pop(lambda at, x=x: np.array([[x(at)]]), 0, 1e-9) for words, x in places.items()}
    assert found["straight"] == pytest.approx(1)
    assert found["half a circle"] == pytest.approx(np.pi / 2, rel=1e-3)
    assert found["a jump"] == pytest.approx(100)
    assert found["nothing"] == 0


def test_an_error_that_rises_is_counted() -> None:
    """Posed errors, not those that an order states: these never rise by how it counts."""
    model = make_jointed(1, JointedOptions(joints=5))
    case = LevelCase("five", model, fit_progressive(model).skin, True)
    order = case.levels.orders[0]
    posed = lod_bones._posed_errors(case, order, FrameRun("clip", 0, model.n_frames))
    assert lod_bones._rises(case, order, posed) == 0
    assert lod_bones._disagreement(case, order, posed) < 1e-10
    wrong = posed.copy()
    wrong[3] = 1.01 * wrong[2]
    assert lod_bones._rises(case, order, wrong) == 1
    assert lod_bones._disagreement(case, order, wrong) > 0.01


def test_the_best_of_all_orders_is_the_best() -> None:
    """No order of four bones is better, at the worst of the counts that it is judged at; and ours is not as good."""
    motion = read_skin_motion(make_jointed(3, JointedOptions(joints=4)))
    pairs, frames = pair_moments(motion.owners, motion.holds, 4), runs_of(motion)[0]
    problem = MergeProblem(pairs, motion_grams(motion.transforms[frames.start : frames.stop]), motion.rigid)
    best = exhaust(problem, {1, 2, 3})
    worst = []
    for order in permutations(range(4)):
        sets = [frozenset(order[:n]) for n in (1, 2, 3)]
        worst.append(max(_set_error(problem, s) / best.sets[len(s)] for s in sets))
    assert best.orders == pytest.approx(min(worst))
    assert max(worst) > best.orders  # a worse order would be told


def test_a_direct_search_takes_longer_with_more_frames() -> None:
    few, many = (read_skin_motion(make_jointed(1, JointedOptions(frames=f, vertices=60))) for f in (4, 64))
    quick, slow = (min(direct_search_seconds(motion, 2) for _ in range(3)) for motion in (few, many))
    assert 0 < quick < slow
