"""A bench is a list of rows: one figure each, with the bound it must keep."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from osteon import __version__

__all__ = ["Row", "at_least", "at_most", "figure", "record_rows", "to_json"]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. Without a bound it is told for information, and is always ok."""

    case: str
    metric: str
    value: float
    bound: float | None
    kind: Literal["max", "min"]

    @property
    def ok(self) -> bool:
        if self.bound is None:
            return True
        return self.value <= self.bound if self.kind == "max" else self.value >= self.bound

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}


def at_most(case: str, metric: str, value: float, bound: float) -> Row:
    return Row(case, metric, float(value), bound, "max")


def at_least(case: str, metric: str, value: float, bound: float) -> Row:
    return Row(case, metric, float(value), bound, "min")


def figure(case: str, metric: str, value: float) -> Row:
    return Row(case, metric, float(value), None, "max")


def to_json(name: str, rows: Iterable[Row]) -> dict[str, Any]:
    return {"bench": name, "rows": [row.to_json() for row in rows]}


def record_rows(name: str, rows: list[Row], folder: Path) -> Path:
    """Keep the figures in folder/NAME.csv: a row a version, a column a figure; this version's row is replaced."""
    path = folder / f"{name}.csv"
    table: dict[str, dict[str, str]] = {}
    if path.exists():
        with path.open(newline="") as file:
            table = {line["version"]: dict(line) for line in csv.DictReader(file)}
    line = {f"{row.case}: {row.metric}": f"{row.value:.5g}" for row in rows}
    table[__version__] = {"version": __version__, **line}
    columns = ["version", *dict.fromkeys(key for entry in table.values() for key in entry if key != "version")]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.values())

    from osteon.io import atomic_file

    with atomic_file(path) as temporary:
        temporary.write_text(text.getvalue())
    return path
