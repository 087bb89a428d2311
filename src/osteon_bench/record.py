"""The record of a benchmark: one CSV file in long form, one line per figure, to which every run appends."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from osteon.core.errors import FileFormatError, InputError
from osteon_bench.rows import BoundKind, Row
from osteon_bench.stamp import RunStamp

COLUMNS = ("version", "commit", "date", "machine", "case", "metric", "value", "bound", "kind", "ok")
_KINDS: dict[str, BoundKind] = {"max": "max", "min": "min"}


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The figures of one run."""

    stamp: RunStamp
    rows: tuple[Row, ...]


def record_path(folder: Path, name: str) -> Path:
    """The file of a benchmark in a folder of records."""
    return folder / f"{name}.csv"


def check_record(path: Path) -> None:
    """Refuse a file to which no run can be appended, before the measurement starts."""
    if path.exists():
        _lines(path)


def append_run(path: Path, stamp: RunStamp, rows: Sequence[Row]) -> None:
    """Add a run at the end; the file is changed as a whole or not at all."""
    from osteon.io import atomic_file

    check_record(path)
    before = path.read_text(encoding="utf-8") if path.exists() else _text([COLUMNS])
    separator = "" if before.endswith("\n") else "\n"
    with atomic_file(path) as temporary:
        temporary.write_text(before + separator + _text(_cells(stamp, row) for row in rows), encoding="utf-8")


def _text(lines: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _cells(stamp: RunStamp, row: Row) -> tuple[str, ...]:
    value, bound = f"{row.value:.5g}", "" if row.bound is None else f"{row.bound:.7g}"
    if row.bound is not None and Row("", "", float(value), float(bound), row.kind).ok != row.ok:
        value, bound = repr(row.value), repr(row.bound)  # so close that rounding would change the verdict
    return (*astuple(stamp), row.case, row.metric, value, bound, row.kind, str(row.ok).lower())


def read_record(path: Path) -> list[RecordedRun]:
    """All runs, oldest first. A run ends where the stamp changes or a figure repeats."""
    if not path.is_file():
        raise InputError(f"'{path}' is not there; `osteon bench {path.stem} --record FOLDER` begins a record")
    runs: list[tuple[RunStamp, dict[tuple[str, str], Row]]] = []
    for number, line in enumerate(_lines(path), 2):
        stamp, row = _read_line(path, number, line)
        if not runs or runs[-1][0] != stamp or (row.case, row.metric) in runs[-1][1]:
            runs.append((stamp, {}))
        runs[-1][1][row.case, row.metric] = row
    return [RecordedRun(stamp, tuple(rows.values())) for stamp, rows in runs]


def _lines(path: Path) -> list[list[str]]:
    try:
        lines = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(f"'{path}' is not a record of a bench: {error}") from error
    if not lines or tuple(lines[0]) != COLUMNS:
        raise FileFormatError(f"'{path}' is not a record of a bench: its first line is not {','.join(COLUMNS)}")
    return lines[1:]


def _read_line(path: Path, number: int, line: list[str]) -> tuple[RunStamp, Row]:
    try:
        version, commit, date, machine, case, metric, value, bound, kind, _ = line
        row = Row(case, metric, float(value), float(bound) if bound else None, _KINDS[kind])
        return RunStamp(version, commit, date, machine), row
    except (ValueError, KeyError) as error:
        raise FileFormatError(f"'{path}', line {number}: expected the cells of one figure ({error})") from error
