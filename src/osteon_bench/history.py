"""The figures of a benchmark over all runs, for tables, charts and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from osteon_bench.record import RecordedRun
from osteon_bench.rows import Row
from osteon_bench.stamp import RunStamp

_LEVELS = "▁▂▃▄▅▆▇█"
#: A run that did not measure the figure.
_GAP = "·"


@dataclass(frozen=True, slots=True)
class MetricHistory:
    """One figure over all runs."""

    case: str
    metric: str
    rows: tuple[Row | None, ...]  # one per run, oldest first; None if the run did not measure it

    @property
    def measured(self) -> list[Row]:
        return [row for row in self.rows if row is not None]

    @property
    def newest(self) -> Row:
        return self.measured[-1]

    @property
    def before(self) -> Row | None:
        """The row of the second-last run that measured it."""
        return self.measured[-2] if len(self.measured) > 1 else None

    @property
    def change(self) -> float | None:
        """The relative change of the newest value; None without an earlier value, or if that was 0."""
        if self.before is None or self.before.value == 0:
            return 0.0 if self.before is not None and self.newest.value == 0 else None
        return (self.newest.value - self.before.value) / abs(self.before.value)

    @property
    def current(self) -> bool:
        """Whether the newest run measured it."""
        return self.rows[-1] is not None

    @property
    def moved(self) -> bool:
        """Whether any two runs differ."""
        return len({row.value for row in self.measured}) > 1


@dataclass(frozen=True, slots=True)
class BenchHistory:
    """All figures that a benchmark ever measured, in the order of the newest run that has them."""

    bench: str
    runs: tuple[RunStamp, ...]  # oldest first
    metrics: tuple[MetricHistory, ...]

    @property
    def cases(self) -> dict[str, list[MetricHistory]]:
        """Figures by case."""
        found: dict[str, list[MetricHistory]] = {}
        for metric in self.metrics:
            found.setdefault(metric.case, []).append(metric)
        return found

    @property
    def missed(self) -> list[MetricHistory]:
        """Figures that miss their bound in the newest run."""
        return [metric for metric in self.metrics if metric.current and not metric.newest.ok]


def make_history(bench: str, recorded: Sequence[RecordedRun]) -> BenchHistory:
    """Figures over runs instead of runs of figures."""
    by_run = [{(row.case, row.metric): row for row in run.rows} for run in recorded]
    keys = dict.fromkeys(key for rows in reversed(by_run) for key in rows)
    metrics = tuple(MetricHistory(*key, tuple(rows.get(key) for rows in by_run)) for key in keys)
    return BenchHistory(bench, tuple(run.stamp for run in recorded), metrics)


def run_name(stamp: RunStamp) -> str:
    """A short label of a run: its commit, else its date, else its version."""
    return stamp.commit or stamp.date[:10] or stamp.version


def sparkline(metric: MetricHistory) -> str:
    """One character per run: the value between the least and the largest of all runs."""
    values = [row.value for row in metric.measured]
    low, span = min(values), max(values) - min(values)
    middle = len(_LEVELS) // 2 - 1

    def level(value: float) -> str:
        return _LEVELS[round((value - low) / span * (len(_LEVELS) - 1)) if span > 0 else middle]

    return "".join(_GAP if row is None else level(row.value) for row in metric.rows)


def to_json(history: BenchHistory) -> dict[str, Any]:
    """Runs, and the points of every figure; a point refers to its run by number."""
    return {
        "bench": history.bench,
        "runs": [asdict(stamp) for stamp in history.runs],
        "metrics": [
            {
                "case": metric.case,
                "metric": metric.metric,
                "kind": metric.newest.kind,
                "change": metric.change,
                "points": [
                    {"run": number, "value": row.value, "bound": row.bound, "ok": row.ok}
                    for number, row in enumerate(metric.rows)
                    if row is not None
                ],
            }
            for metric in history.metrics
        ],
    }
