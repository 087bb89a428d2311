"""Batches: every asset once, whatever happens to its process, to the batch, or to its output."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from osteon.core.errors import FileFormatError, OptionError
from osteon.scale.batch import Batch, BatchOptions, load_plan, locked, save_plan
from osteon.scale.child import Outcome
from osteon.scale.manifest import Asset

DIED = Outcome("died", message="ended its process (signal 9)")
REFUSED = Outcome("done", 2, "walk.npz: is damaged")


class FakeExecutor:
    """Runs commands by writing their outputs; `outcomes` are those of a name, one after the other."""

    def __init__(self, capacity=2, outcomes=(), stop_after=None):
        self.capacity, self.outcomes = capacity, {name: list(of) for name, of in dict(outcomes).items()}
        self.flying, self.most, self.order, self.stop_after = [], [], [], stop_after

    def submit(self, task):
        self.flying.append(task)
        self.order.append(task.name)
        self.most.append(len(self.flying))
        assert len(self.flying) <= self.capacity

    def next_done(self, timeout):
        task = self.flying.pop()
        if self.stop_after is not None and len(self.order) > self.stop_after:
            raise KeyboardInterrupt
        outcome = (self.outcomes.get(task.name) or [Outcome("done")]).pop(0)
        if outcome.kind == "done" and outcome.exit_code in (0, 1):
            values = dict(part.split("=", 1) for part in task.arguments if part.startswith("--") and "=" in part)
            Path(values["--output"]).write_text(task.name)
            Path(values["--json"]).write_text(json.dumps({"error_percent": 1.5, "bones": 3}))
        return task, outcome

    def close(self):
        pass


@pytest.fixture
def assets(tmp_path):
    found = []
    for number, name in enumerate(("walk", "run", "jump", "fall")):
        (tmp_path / f"{name}.npz").write_bytes(b"x" * (number + 1))
        found.append(Asset(name, "skin", (f"{name}.npz",), f"{name}.glb", ("--bones=3",), str(tmp_path)))
    return found


def run(assets, folder, executor=None, **options):
    executor = executor or FakeExecutor()
    batch = Batch(assets, folder, options=BatchOptions(**options))
    try:
        left = batch.plan()
        return left, batch.run(executor)
    finally:
        batch.close()


def states(result):
    return {record.name: record.state for record in result.records}


def test_everything_runs_once_the_largest_first(assets, tmp_path):
    executor = FakeExecutor()
    left, result = run(assets, tmp_path / "out", executor)
    assert (left, result.kept, result.left) == (4, 0, 0)
    assert set(states(result).values()) == {"finished"}
    assert executor.order == ["fall", "jump", "run", "walk"]
    assert result.records[0].facts == {"error_percent": 1.5, "bones": 3}
    assert (tmp_path / "out" / "walk.glb").read_text() == "walk"
    assert not (tmp_path / "out" / ".osteon-batch" / "work").exists()
    left, result = run(assets, tmp_path / "out", executor)
    assert (left, result.kept) == (0, 4)
    assert [record.runs for record in result.records] == [1, 1, 1, 1]


def test_what_changed_runs_again(assets, tmp_path):
    run(assets, tmp_path / "out")
    (tmp_path / "run.npz").write_bytes(b"other")
    (tmp_path / "out" / "jump.glb").unlink()
    assets[3] = replace(assets[3], arguments=("--bones=4",))
    executor = FakeExecutor()
    left, result = run(assets, tmp_path / "out", executor)
    assert left == 3
    assert sorted(executor.order) == ["fall", "jump", "run"]
    assert [record.runs for record in result.records] == [1, 2, 2, 2]


def test_files_that_options_name_count(assets, tmp_path):
    (tmp_path / "hero.glb").write_bytes(b"hero")
    assets[0] = replace(assets[0], arguments=("--rig=hero.glb",))
    run(assets, tmp_path / "out")
    (tmp_path / "hero.glb").write_bytes(b"heroine")
    assert run(assets, tmp_path / "out")[0] == 1


def test_a_refused_input_fails_at_once_and_stays_failed(assets, tmp_path):
    executor = FakeExecutor(outcomes={"walk": [REFUSED]})
    _, result = run(assets, tmp_path / "out", executor)
    assert states(result)["walk"] == "failed"
    assert result.failed[0].reason == "walk.npz: is damaged"
    assert executor.order.count("walk") == 1
    assert run(assets, tmp_path / "out")[0] == 0
    left, result = run(assets, tmp_path / "out", retry_failed=True)
    assert left == 1
    assert states(result)["walk"] == "finished"


def test_a_process_that_died_is_tried_again_alone(assets, tmp_path):
    executor = FakeExecutor(outcomes={"walk": [DIED, DIED], "fall": [DIED]})
    _, result = run(assets, tmp_path / "out", executor)
    assert set(states(result).values()) == {"finished"}
    assert executor.order[:4] == ["fall", "jump", "run", "walk"]
    assert sorted(executor.order[4:]) == ["fall", "walk", "walk"]
    assert executor.most[4:] == [1, 1, 1]


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_poisonous_asset_is_not_tried_for_ever(assets, tmp_path, retries):
    executor = FakeExecutor(outcomes={"walk": [DIED] * 9})
    _, result = run(assets, tmp_path / "out", executor, retries=retries)
    assert executor.order.count("walk") == retries + 1
    assert states(result)["walk"] == "failed"
    assert "signal 9" in result.failed[0].reason
    assert run(assets, tmp_path / "out")[0] == 0


def test_an_exceeded_limit_is_tried_once_more(assets, tmp_path):
    long = Outcome("time", message="did not end within the limit of 5 s")
    executor = FakeExecutor(outcomes={"walk": [long] * 9})
    _, result = run(assets, tmp_path / "out", executor)
    assert executor.order.count("walk") == 2
    assert "limit of 5 s" in result.failed[0].reason


def test_a_missed_bound_is_finished_with_its_note(assets, tmp_path):
    missed = Outcome("done", 1, "E is 2 %, not 1 %")
    _, result = run(assets, tmp_path / "out", FakeExecutor(outcomes={"walk": [missed]}))
    assert states(result)["walk"] == "finished"
    assert (result.records[0].exit_code, result.records[0].reason) == (1, "E is 2 %, not 1 %")


def test_a_command_without_output_has_failed(assets, tmp_path):
    _, result = run(assets, tmp_path / "out", FakeExecutor(outcomes={"walk": [Outcome("done", 3)]}))
    assert result.failed[0].reason == "ended with exit code 3"


def test_a_full_disk_stops_the_batch_and_blames_no_asset(assets, tmp_path):
    full = Outcome("done", 2, "'fall.glb': No space left on device")
    _, result = run(assets, tmp_path / "out", FakeExecutor(capacity=1, outcomes={"fall": [full]}))
    assert "disk is full" in result.stopped_by
    assert (result.left, result.failed) == (4, ())
    assert set(states(run(assets, tmp_path / "out")[1]).values()) == {"finished"}


@pytest.mark.parametrize("stop_after", [0, 1, 2, 3])
def test_a_stopped_batch_goes_on(assets, tmp_path, stop_after):
    with pytest.raises(KeyboardInterrupt):
        run(assets, tmp_path / "out", FakeExecutor(capacity=1, stop_after=stop_after))
    left, result = run(assets, tmp_path / "out")
    assert left == 4 - stop_after
    assert [record.runs for record in result.records] == [1, 1, 1, 1]


def test_an_asset_in_flight_at_every_kill_runs_alone(assets, tmp_path):
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run(assets, tmp_path / "out", FakeExecutor(capacity=1, stop_after=0))
    executor = FakeExecutor()
    run(assets, tmp_path / "out", executor)
    assert executor.order[-1] == "fall"
    assert executor.most[-1] == 1


def test_one_batch_per_folder(tmp_path, refused):
    with locked(tmp_path), refused(OptionError, "another batch (process", str(tmp_path)), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_a_plan_is_restored(assets, tmp_path, refused):
    save_plan(assets, tmp_path, "batch.toml")
    assert load_plan(tmp_path) == tuple(assets)
    with refused(FileFormatError, "is not the folder of a batch"):
        load_plan(tmp_path / "other")
    (tmp_path / ".osteon-batch" / "batch.json").write_text("[")
    with refused(FileFormatError, "batch.json"):
        load_plan(tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"retries": -1}, "retries")],
)
def test_bad_options(options, words, refused):
    with refused(OptionError, words):
        BatchOptions(**options)
