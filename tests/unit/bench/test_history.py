"""Figures of a bench over its runs."""

from __future__ import annotations

import pytest

from osteon_bench.history import make_history, sparkline, to_json
from osteon_bench.history_page import history_page
from osteon_bench.record import RecordedRun
from osteon_bench.rows import at_most, figure
from osteon_bench.stamp import RunStamp


def recorded(*runs):
    return [RecordedRun(RunStamp("0.1.0", f"c{i}"), tuple(rows)) for i, rows in enumerate(runs)]


@pytest.fixture
def history():
    """Time grows beyond its bound, E comes with the second run, bones are gone in the third."""
    return make_history(
        "x",
        recorded(
            [at_most("horse", "time", 1.0, 2.0), figure("horse", "bones", 4)],
            [at_most("horse", "time", 1.5, 2.0), figure("horse", "bones", 4), figure("cow", "E %", 0.0)],
            [at_most("horse", "time", 3.0, 2.0), figure("cow", "E %", 0.0)],
        ),
    )


def test_figures_of_the_newest_run_come_first(history):
    assert [metric.metric for metric in history.metrics] == ["time", "E %", "bones"]
    assert list(history.cases) == ["horse", "cow"]


def test_change_is_against_the_run_before_that_measured_it(history):
    time, error, bones = history.metrics
    assert time.change == pytest.approx(1.0)
    assert error.change == 0.0
    assert bones.change == 0.0
    assert not bones.current
    assert make_history("x", recorded([figure("a", "b", 0)], [figure("a", "b", 1)])).metrics[0].change is None
    assert make_history("x", recorded([figure("a", "b", 1)])).metrics[0].change is None


def test_what_the_newest_run_misses(history):
    assert [metric.metric for metric in history.missed] == ["time"]


def test_a_letter_a_run(history):
    time, error, bones = map(sparkline, history.metrics)
    assert time == "▁▃█"
    assert error == "·▄▄"
    assert bones == "▄▄·"


def test_json_has_every_point(history):
    out = to_json(history)
    assert [run["commit"] for run in out["runs"]] == ["c0", "c1", "c2"]
    assert out["metrics"][0] == {
        "case": "horse",
        "metric": "time",
        "kind": "max",
        "change": pytest.approx(1.0),
        "points": [
            {"run": 0, "value": 1.0, "bound": 2.0, "ok": True},
            {"run": 1, "value": 1.5, "bound": 2.0, "ok": True},
            {"run": 2, "value": 3.0, "bound": 2.0, "ok": False},
        ],
    }
    assert [point["run"] for point in out["metrics"][1]["points"]] == [1, 2]


def test_the_page_draws_what_moved_and_shows_what_is_missed(history):
    page = history_page(history)
    assert page.count('<svg class="plot"') == 1
    assert '<td class="missed">3</td>' in page
    assert "misses 1 bound<" in page


def test_the_page_escapes_names():
    page = history_page(make_history("x", recorded([figure("<b>", "<i>", 1.0)])))
    assert "<b>" not in page
    assert "<i>" not in page
