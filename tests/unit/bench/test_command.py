"""What a whole command costs beside its fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from osteon_bench import command
from osteon_bench.run import BenchRun


def test_overhead_is_all_but_the_fit_over_the_fit() -> None:
    assert command.overhead({"process": 3.0, "fit": 2.0, "import": 0.7}) == pytest.approx(0.5)


def test_rows_are_of_the_run_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "horse.npz").touch()
    runs = iter([9.0, 3.0, 8.0, 3.4])  # the first one compiles
    monkeypatch.setattr(command, "time_command", lambda *_: {"process": next(runs), "fit": 2.0, "load": 0.1})
    rows = {row.metric: row for row in command.command_rows(BenchRun(tmp_path, 2))}
    bounded = rows["all but the fit / fit, from command to file"]
    assert bounded.value == pytest.approx(0.7)
    assert bounded.bound == command.BOUND
    assert not bounded.ok
    assert rows["seconds, process"].value == 3.4
    assert rows["seconds, load"].value == 0.1


def test_a_missing_horse_is_missed(tmp_path: Path) -> None:
    run = BenchRun(tmp_path, 2)
    assert command.command_rows(run) == []
    assert "horse.npz" in run.missing[0]


def test_a_run_from_outside_takes_longer_than_from_inside(tmp_path: Path) -> None:
    from osteon.io import save_sequence
    from osteon.synth.baked import bake_cylinder

    save_sequence(bake_cylinder(2).sequence, tmp_path / "horse.npz")
    seconds = command.time_command(tmp_path / "horse.npz", 1)
    assert seconds["process"] > seconds["wall"] > seconds["fit"]
