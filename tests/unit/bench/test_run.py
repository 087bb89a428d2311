"""What a bench misses, and what stands in."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import osteon_bench as package
from osteon.synth import SUBJECTS
from osteon_bench import paper, peers
from osteon_bench.registry import BENCHES, find_bench
from osteon_bench.run import BenchRun, find_sequence, horse_or_fox


def module_of(name: str) -> str:
    """The file of a bench has its name, with underscores."""
    return name.replace("-", "_")


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_is_a_function_of_its_file(name):
    function = find_bench(name)
    assert list(inspect.signature(function).parameters) == ["run"]
    assert Path(inspect.getfile(function)) == Path(package.__file__).with_name(f"{module_of(name)}.py")


def test_a_bench_that_nobody_registered_is_found():
    files = Path(package.__file__).parent.glob("*.py")
    benches = {path.stem for path in files if f"\ndef bench_{path.stem}(" in path.read_text()}
    assert benches == {module_of(name) for name in BENCHES}


@pytest.mark.parametrize("name", BENCHES)
def test_options_are_those_that_a_bench_reads(name):
    """Of its file and those that carry its name, and for data of what looks for data."""
    folder, stem = Path(package.__file__).parent, module_of(name)
    others = {module_of(other) for other in BENCHES} - {stem}
    own = [path for path in sorted(folder.glob(f"{stem}_*.py")) if path.stem not in others]
    text = "".join(path.read_text() for path in [folder / f"{stem}.py", *own])
    assert ("run.threads" in text) == ("threads" in BENCHES[name].options)
    assert ("run.inputs" in text) == ("inputs" in BENCHES[name].options)
    assert ("run.search" in text) == ("search" in BENCHES[name].options)
    assert ("run.against" in text) == ("against" in BENCHES[name].options)
    looking = ("find_sequence(run", "horse_or_fox(run", "load_pose_cases(run", "load_hand(run", "run.data")
    looks_for_data = any(word in text for word in looking)
    assert looks_for_data == ("data" in BENCHES[name].options)


def test_what_is_missed_is_said_once(tmp_path):
    run = BenchRun(tmp_path, 1)
    assert find_sequence(run, "cow") is None
    assert find_sequence(run, "cow") is None
    assert len(run.missing) == 1
    assert str(tmp_path / "cow.npz") in run.missing[0]
    assert "--data" in run.missing[0]


def test_the_fox_stands_in(monkeypatch, tmp_path):
    said: list[str] = []
    monkeypatch.setitem(SUBJECTS, "creature", lambda: "the fox")
    run = BenchRun(tmp_path, 1, said.append)
    assert horse_or_fox(run) == "the fox"
    assert "built-in fox" in said[0]
    assert "horse.npz" in run.missing[0]


def test_paper_misses_each_sequence(tmp_path):
    run = BenchRun(tmp_path, 1)
    assert paper.measured_rows(run) == []
    assert len(run.missing) == len(paper.TABLE)


def test_peers_measures_osteon_without_horse_and_dem_bones(monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    monkeypatch.setattr(peers, "_first_run_rows", lambda run: [])
    run = BenchRun(tmp_path, 1)
    rows = peers.bench_peers(run)
    assert [row.metric for row in rows] == ["bones, Osteon", "E %, Osteon"] * 2
    assert all(row.ok for row in rows)
    assert ["Dem Bones" in line for line in run.missing] == [True, False, False, False]
