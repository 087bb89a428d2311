"""The rows of a benchmark: one figure each, with its bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

#: Whether a bound is an upper (max) or a lower one (min).
BoundKind = Literal["max", "min"]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. Without a bound it is informative and always ok."""

    case: str  # what was measured
    metric: str  # the measured quantity with its unit
    value: float
    bound: float | None
    kind: BoundKind

    @property
    def ok(self) -> bool:
        if self.bound is None:
            return True
        return self.value <= self.bound if self.kind == "max" else self.value >= self.bound

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}


def at_most(case: str, metric: str, value: float, bound: float) -> Row:
    """A figure that must not exceed its bound."""
    return Row(case, metric, float(value), bound, "max")


def at_least(case: str, metric: str, value: float, bound: float) -> Row:
    """A figure that must reach its bound."""
    return Row(case, metric, float(value), bound, "min")


def figure(case: str, metric: str, value: float) -> Row:
    """A figure without a bound."""
    return Row(case, metric, float(value), None, "max")


def to_json(name: str, rows: Iterable[Row], run: Mapping[str, str]) -> dict[str, Any]:
    """The rows of a benchmark for `--json`; `run` holds the commit, date and machine."""
    return {"bench": name, "run": dict(run), "rows": [row.to_json() for row in rows]}
