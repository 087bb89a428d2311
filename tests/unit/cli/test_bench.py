"""`osteon bench` with a bench that takes no time."""

from __future__ import annotations

import json

import pytest

from osteon_bench import growth, simplex
from osteon_bench.record import read_record
from osteon_bench.rows import at_most, figure
from osteon_bench.stamp import PACKAGE, find_commit


@pytest.fixture
def measured(monkeypatch):
    """What the next run of `bench growth` measures; it says so."""
    rows = [at_most("horse", "time", 1.0, 2.0), figure("horse", "E %", 0.5)]

    def bench_growth(run):
        run.report("measuring")
        return rows

    monkeypatch.setattr(growth, "bench_growth", bench_growth)
    return rows


def test_rows_are_printed_with_their_bounds(run_here, measured):
    done = run_here("bench", "growth")
    assert done.returncode == 0, done.stderr
    assert "<= 2" in done.stdout
    assert "ok" in done.stdout
    assert "measuring" in done.stderr
    assert f"commit {find_commit(PACKAGE) or 'unknown'}" in done.stdout


def test_json_stands_alone(run_here, measured):
    done = run_here("bench", "growth", "--json", "-")
    told = json.loads(done.stdout)
    run = told.pop("run")
    assert run.keys() == {"version", "commit", "date", "machine"}
    assert run["commit"] == find_commit(PACKAGE)
    assert told == {
        "bench": "growth",
        "rows": [
            {"case": "horse", "metric": "time", "value": 1.0, "bound": 2.0, "kind": "max", "ok": True},
            {"case": "horse", "metric": "E %", "value": 0.5, "bound": None, "kind": "max", "ok": True},
        ],
    }


def test_a_missed_bound_is_exit_code_1(run_here, measured):
    measured[0] = at_most("horse", "time", 3.0, 2.0)
    done = run_here("bench", "growth")
    assert done.returncode == 1
    assert "missed" in done.stdout


def test_what_is_missing_is_a_line_each_and_exit_code_1(run_here, monkeypatch):
    def bench_simplex(run):
        run.report_missing("no armadillo")
        run.report_missing("no hand")
        return [figure("horse", "E %", 0.5)]

    monkeypatch.setattr(simplex, "bench_simplex", bench_simplex)
    done = run_here("bench", "simplex", "--quiet", "--json", "-")
    assert done.returncode == 1
    assert len(json.loads(done.stdout)["rows"]) == 1
    assert [line.rpartition(": ")[2] for line in done.stderr.splitlines()] == ["no armadillo", "no hand"]


def test_paper_without_data_says_so(run_here, monkeypatch):
    for rows in ("built_in_rows", "table_rows"):  # need no data
        monkeypatch.setattr(f"osteon_bench.paper.{rows}", lambda run: [])
    done = run_here("bench", "paper", "--data", "nowhere", "--record", "record")
    assert done.returncode == 1
    assert done.stderr.count("misses: ") == 4
    assert not (run_here.folder / "record").exists()


def test_runs_are_recorded_and_shown(run_here, measured):
    assert run_here("bench", "growth", "--record", "record").returncode == 0
    measured[0] = at_most("horse", "time", 3.0, 2.0)
    assert run_here("bench", "growth", "--record", "record").returncode == 1
    assert len(read_record(run_here.folder / "record" / "growth.csv")) == 2
    done = run_here("bench", "--history", "growth", "--record", "record")
    assert done.returncode == 0, done.stderr
    for text in ("2 recorded runs", "▁█", "+200.0 %", "<= 2", "missed", "misses 1 of its 1 bounds"):
        assert text in done.stdout, done.stdout


def test_history_as_json_and_as_a_page(run_here, measured):
    run_here("bench", "growth", "--record", "record")
    done = run_here("bench", "--history", "growth", "--record", "record", "--json", "-", "-o", "page.html")
    assert json.loads(done.stdout)["metrics"][0]["points"] == [{"run": 0, "value": 1.0, "bound": 2.0, "ok": True}]
    assert "bench growth" in (run_here.folder / "page.html").read_text()


def test_history_is_read_from_the_checkout_by_default(run_here):
    done = run_here("bench", "--history", "growth")
    assert done.returncode == 2
    assert "benchmarks/results/growth.csv" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "--history"),
        (["growth", "--history", "growth"], "either"),
        (["growth", "--data", "x"], "--data has no effect"),
        (["simplex", "--threads", "1"], "--threads has no effect"),
        (["growth", "--inputs", "9"], "--inputs has no effect"),
        (["fuzz", "--data", "x"], "--data has no effect"),
        (["--history", "growth", "--threads", "1"], "--threads has no effect"),
        (["--history", "growth", "--data", "x"], "--data has no effect"),
        (["growth", "-o", "x.html"], "--history"),
        (["--history", "growth", "-o", "x.png"], ".html"),
        (["nothing"], "nothing"),
    ],
)
def test_what_has_no_effect_is_refused(run_here, measured, arguments, word):
    done = run_here("bench", *arguments)
    assert done.returncode == 2
    assert word in done.stderr


def test_a_record_of_another_kind_is_refused_before_measuring(run_here, measured):
    (run_here.folder / "growth.csv").write_text("version,horse: E\n0.0.1,9\n")
    done = run_here("bench", "growth", "--record", ".")
    assert done.returncode == 2
    assert "measuring" not in done.stderr


def test_a_search_is_for_peers_only(run_here):
    done = run_here("bench", "paper", "--search")
    assert done.returncode == 2
    assert "--search has no effect on bench paper" in done.stderr
