"""What counts as a failure, which lines count, and the rows of the bench."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import pytest

from osteon.core.errors import FileFormatError
from osteon_bench import fuzz
from osteon_bench.fuzz import bench_fuzz
from osteon_bench.fuzzing import attempt
from osteon_bench.fuzzing.attempt import Failure, attempt_file
from osteon_bench.fuzzing.campaign import Campaign, FailedInput, fuzz_reader
from osteon_bench.fuzzing.forked import Fork
from osteon_bench.fuzzing.line_coverage import LineCoverage, own_lines
from osteon_bench.fuzzing.readers import READERS
from osteon_bench.run import BenchRun


def _raising(make):
    def loader(path):
        raise make(path)

    return loader


def _warning(path):
    warnings.warn("overflow", RuntimeWarning, stacklevel=1)


@pytest.mark.parametrize(
    ("loader", "says"),
    [
        (_raising(lambda path: ValueError("bad")), "ValueError"),
        (_raising(lambda path: MemoryError()), "MemoryError"),
        (_raising(lambda path: FileFormatError(f"{path}: two\nlines")), "one line"),
        (_raising(lambda path: FileFormatError(f"{path}: {'x' * 5000}")), "too long"),
        (_raising(lambda path: FileFormatError("it is damaged")), "no file"),
        (_warning, "RuntimeWarning"),
    ],
)
def test_what_is_a_crash(tmp_path, loader, says):
    found = attempt_file((lambda path: None, loader), tmp_path / "a.obj")
    assert found is not None
    assert found.kind == "crash"
    assert says in found.what


def test_read_and_refused_are_both_fine(tmp_path):
    refuse = _raising(lambda path: FileFormatError(f"{path}: holds no vertices"))
    assert attempt_file((lambda path: None, refuse), tmp_path / "a.obj") is None


def test_what_takes_too_long_is_a_hang(tmp_path, monkeypatch):
    monkeypatch.setattr(attempt, "SLOWEST", 0.05)
    started = time.monotonic()
    found = attempt_file((lambda path: time.sleep(900),), tmp_path / "a.obj")
    assert found is not None
    assert found.kind == "hang"
    assert time.monotonic() - started < 300


def test_lines_are_those_of_functions_that_read():
    from osteon.io.archives import archive

    count = LineCoverage(("archives.archive",))
    text = Path(archive.__file__).read_text(encoding="utf-8").splitlines()
    counted = {text[line - 1].strip() for _, line in count.own}
    assert "zipped = zipfile.ZipFile(file)" in counted
    assert not [line for line in counted if line.startswith(("import ", "def ", "info = zipfile.ZipInfo"))]
    with count.counting():
        archive.Archive.__contains__.__get__(type("Fake", (), {"_members": {}})())("x")
    assert [text[line - 1].strip() for _, line in count.run] == ["return key in self._members"]
    assert len(own_lines(("archives",))) > len(count.own)


def test_a_campaign_reads_as_many_as_asked_and_counts_lines():
    found = fuzz_reader(READERS["alembic"], 300)
    assert (found.inputs, found.failed) == (300, [])
    assert 0.5 < found.coverage <= 1


def test_deaths_of_a_library_are_counted_and_reported(tmp_path, monkeypatch):
    """Refused like any other file, they have a row without a bound."""
    pytest.importorskip("alembic3d")
    alembic = READERS["alembic"]
    deadly = Path(__file__).parents[2] / "fuzz" / "corpus" / "alembic" / "the-library-dies.abc"
    path = tmp_path / "input.abc"
    path.write_bytes(deadly.read_bytes())
    before = Fork.deaths
    assert attempt_file(alembic.loaders(), path) is None
    assert Fork.deaths == before + 1
    monkeypatch.setattr(fuzz, "fuzz_reader", lambda reader, inputs: Campaign(reader, inputs, 2.0, deaths=7))
    monkeypatch.setattr(fuzz, "READERS", {"alembic": alembic, "ply": READERS["ply"]})
    said: list[str] = []
    rows = [row for row in bench_fuzz(BenchRun(tmp_path, 1, said.append, inputs=50)) if "deaths" in row.metric]
    assert [(row.case, row.value, row.bound) for row in rows] == [("alembic", 7, None)]
    assert "7 crashes of the library" in said[0]


def test_rows_of_a_trial(monkeypatch, tmp_path):
    def fuzzed(reader, inputs):
        crash = FailedInput(3, Failure("crash", "ValueError"), b"")
        return Campaign(reader, inputs, 2.0, [crash] if reader.name == "ply" else [])

    monkeypatch.setattr(fuzz, "fuzz_reader", fuzzed)
    monkeypatch.setattr(fuzz, "is_installed", lambda reader: reader.package != "ufbx")
    said: list[str] = []
    run = BenchRun(tmp_path, 2, said.append, inputs=50)
    rows = bench_fuzz(run)
    assert {row.case for row in rows} == set(READERS) - {"fbx"}
    missed = {(row.case, row.metric) for row in rows if not row.ok}
    assert ("ply", "crashes") in missed
    assert {metric for _, metric in missed} == {"crashes", "inputs"}
    assert "ufbx" in run.missing[0]
    assert any("ValueError" in line for line in said)
