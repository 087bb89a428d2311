"""The ledger: records survive, and an output that is moved while its process is killed is finished or not there."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace

import pytest

from osteon.core.errors import FileFormatError
from osteon.scale.ledger import Record, begin, finish_placing, is_in_place, open_ledger, place


@pytest.fixture(params=[False, True], ids=["sqlite", "files"])
def shared(request):
    return request.param


@pytest.fixture
def ledger(tmp_path, shared):
    held = open_ledger(tmp_path / "state", shared=shared)
    yield held
    held.close()


def outputs(tmp_path, *names):
    work = tmp_path / "state" / "work" / "walk"
    for name in names:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(f"content of {name}")
    return work


def test_records_are_restored(tmp_path, ledger, shared):
    assert ledger.get("walk") == Record("walk")
    kept = replace(begin(ledger, Record("walk"), "a"), reason="ö 'x'", facts={"bones": 3})
    ledger.put(kept)
    ledger.put(Record("run"))
    ledger.close()
    again = open_ledger(tmp_path / "state", shared=shared)
    assert again.get("walk") == kept
    assert [record.name for record in again.records()] == ["run", "walk"]
    again.close()


def test_attempts_are_counted_for_one_fingerprint(ledger):
    once = begin(ledger, ledger.get("walk"), "a")
    assert begin(ledger, once, "a").attempts == 2
    other = begin(ledger, replace(once, deaths=2), "b")
    assert (other.attempts, other.deaths) == (1, 0)


def test_an_output_is_placed(tmp_path, ledger):
    work = outputs(tmp_path, "walk.glb", "reports/walk.json")
    done = place(ledger, begin(ledger, Record("walk"), "a"), work, tmp_path)
    assert (done.state, done.runs) == ("finished", 1)
    assert ledger.get("walk") == done
    assert (tmp_path / "reports" / "walk.json").read_text() == "content of reports/walk.json"
    assert is_in_place(done, tmp_path)
    (tmp_path / "walk.glb").write_text("other")
    assert not is_in_place(done, tmp_path)


def test_frames_of_an_earlier_output_are_removed(tmp_path, ledger):
    first = place(ledger, Record("walk"), outputs(tmp_path, "walk/0.obj", "walk/1.obj", "walk/2.obj"), tmp_path)
    place(ledger, first, outputs(tmp_path, "walk/0.obj"), tmp_path)
    assert sorted(path.name for path in (tmp_path / "walk").iterdir()) == ["0.obj"]


class Killed(BaseException):
    """The end of the process."""


@pytest.mark.parametrize("step", range(8))
def test_a_kill_at_any_step_repeats_nothing_that_is_finished(tmp_path, ledger, monkeypatch, step):
    """Steps: store `placing`, rename each file, store `finished`; the ledger of files renames records as well."""
    work = outputs(tmp_path, "walk.glb", "reports/walk.json")
    begun = begin(ledger, Record("walk"), "a")
    count = [0]

    def killed_at(function):
        def call(*arguments):
            if count[0] == step:
                raise Killed
            count[0] += 1
            return function(*arguments)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed_at(os.replace))
        patch.setattr(ledger, "put", killed_at(ledger.put))
        with suppress(Killed):
            place(ledger, begun, work, tmp_path)
    found = ledger.get("walk")
    if found.state == "placing":
        found = finish_placing(ledger, found, work, tmp_path)
    if found.state == "finished":
        assert is_in_place(found, tmp_path)
        assert found.runs == 1
    else:
        assert found.state == "running"
        assert not (tmp_path / "walk.glb").exists()


def test_lost_files_are_made_again(tmp_path, ledger):
    work = outputs(tmp_path, "walk.glb")
    placing = replace(begin(ledger, Record("walk"), "a"), state="placing", files=())
    assert finish_placing(ledger, placing, work, tmp_path).state == "waiting"


def test_a_damaged_ledger_is_one_line(tmp_path, refused):
    (tmp_path / "ledger.sqlite").write_bytes(b"no database at all, but long enough to be looked at" * 40)
    with refused(FileFormatError, "ledger.sqlite"):
        open_ledger(tmp_path, shared=False)
    held = open_ledger(tmp_path, shared=True)
    (tmp_path / "assets" / "walk.json").write_text("{")
    with refused(FileFormatError, "walk.json"):
        held.get("walk")
