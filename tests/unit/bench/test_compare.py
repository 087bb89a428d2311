"""The bench of models, on small subjects."""

from __future__ import annotations

from pathlib import Path

import pytest

from osteon.fit.models.registry import CONTESTANTS
from osteon.io import save_sequence
from osteon_bench import compare
from osteon_bench.compare import BOUNDS, bench_compare
from osteon_bench.run import BenchRun

from ...subjects import bent_tube


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BenchRun:
    """A tube instead of the horse; beside it a sequence to compare and one of too few poses."""
    save_sequence(bent_tube(2, n_frames=9).sequence.with_parts(name="other"), tmp_path / "other.npz")
    save_sequence(bent_tube(2, n_frames=4).sequence.with_parts(name="short"), tmp_path / "short.npz")
    horse = bent_tube(3, n_frames=13).sequence.with_parts(name="horse")
    monkeypatch.setattr(compare, "horse_or_fox", lambda run: horse)
    monkeypatch.setattr(compare, "BONES", 2)
    return BenchRun(tmp_path, 1)


def test_rows(run: BenchRun) -> None:
    pytest.importorskip("igl")
    rows = bench_compare(run)
    cases = {row.case for row in rows}
    assert {"horse, 2 bones, 10 of 13 poses", "other, 2 bones, 7 of 9 poses"} <= cases
    assert not any(case.startswith("short") for case in cases)
    ratios = [row.metric for row in rows if row.case.startswith("horse") and "on unseen poses over ssd" in row.metric]
    assert ratios == [f"RMS on unseen poses over ssd, {word}" for word in CONTESTANTS if word != "ssd"]
    agreement = next(row for row in rows if "difference from libigl" in row.metric)
    assert agreement.ok
    assert run.missing == []


def test_bounds_are_of_models_and_hold_twice() -> None:
    assert all(on_horse < elsewhere <= 1 for on_horse, elsewhere in BOUNDS.values())
