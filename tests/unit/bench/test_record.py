"""The record of a bench: appended, read again, refused where it is something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from osteon.core.errors import FileFormatError, InputError
from osteon_bench.record import COLUMNS, append_run, check_record, read_record, record_path
from osteon_bench.registry import BENCHES
from osteon_bench.rows import at_least, at_most, figure
from osteon_bench.stamp import RunStamp

FIRST = RunStamp("0.1.0", "abc1234", "2026-01-02T03:04Z", "Xeon, 2 cores, Python 3.11")
SECOND = RunStamp("0.2.0", "def5678+", "2026-02-02T03:04Z", "Xeon, 2 cores, Python 3.11")
ROWS = [at_most("horse, 30 bones", "time", 0.25, 0.33), at_least("cow", "bones", 3, 4), figure("cow", "E %", 1.5)]
RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"


def test_a_line_a_figure(tmp_path):
    path = record_path(tmp_path / "new", "x")
    append_run(path, FIRST, ROWS)
    stamp = '0.1.0,abc1234,2026-01-02T03:04Z,"Xeon, 2 cores, Python 3.11"'
    assert path.read_text().splitlines() == [
        ",".join(COLUMNS),
        f'{stamp},"horse, 30 bones",time,0.25,0.33,max,true',
        f"{stamp},cow,bones,3,4,min,false",
        f"{stamp},cow,E %,1.5,,max,true",
    ]


def test_runs_are_appended_and_read_in_order(tmp_path):
    path = tmp_path / "x.csv"
    append_run(path, FIRST, ROWS)
    before = path.read_text()
    append_run(path, SECOND, ROWS[:1])
    assert path.read_text().startswith(before)
    first, second = read_record(path)
    assert (first.stamp, first.rows) == (FIRST, tuple(ROWS))
    assert (second.stamp, second.rows) == (SECOND, tuple(ROWS[:1]))


def test_two_runs_of_one_minute_stay_two(tmp_path):
    path = tmp_path / "x.csv"
    append_run(path, FIRST, ROWS)
    append_run(path, FIRST, ROWS)
    assert [len(run.rows) for run in read_record(path)] == [3, 3]


@pytest.mark.parametrize("row", [at_most("a", "b", 0.33 + 1e-9, 0.33), at_least("a", "b", 1 / 3, 1 / 3)])
def test_rounding_changes_no_verdict(tmp_path, row):
    path = tmp_path / "x.csv"
    append_run(path, FIRST, [row])
    assert read_record(path)[0].rows[0].ok == row.ok


def test_other_files_are_refused(tmp_path, refused):
    path = tmp_path / "x.csv"
    with refused(InputError, "x.csv", "--record"):
        read_record(path)
    check_record(path)  # a record that does not exist yet can be begun
    path.write_text("version,horse: E\n0.0.1,9\n")
    for use in (check_record, read_record, lambda file: append_run(file, FIRST, ROWS)):
        with refused(FileFormatError, "x.csv", "first line"):
            use(path)
    assert path.read_text() == "version,horse: E\n0.0.1,9\n"
    path.write_text(",".join(COLUMNS) + "\n0.1.0,,,,case,metric,many,,max,true\n")
    with refused(FileFormatError, "x.csv", "line 2"):
        read_record(path)


def test_the_records_of_the_project_can_be_read():
    names = {path.stem for path in RESULTS.glob("*.csv")}
    assert names
    assert names <= BENCHES.keys()
    for name in names:
        runs = read_record(record_path(RESULTS, name))
        assert runs
        assert all(run.rows and run.stamp.version for run in runs)
        assert all(row.case and row.metric for run in runs for row in run.rows)
