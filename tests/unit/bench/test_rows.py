"""Rows of a bench, and the record of versions."""

from __future__ import annotations

from osteon import __version__
from osteon.bench.growth import Case, make_subject
from osteon.bench.rows import at_least, at_most, figure, record_rows, to_json


def test_bounds_are_kept_or_missed():
    assert at_most("a", "b", 1.0, 1.0).ok
    assert not at_most("a", "b", 1.1, 1.0).ok
    assert at_least("a", "b", 2.0, 1.0).ok
    assert not at_least("a", "b", 0.5, 1.0).ok
    assert figure("a", "b", 1e9).ok


def test_json_has_the_agreed_keys():
    out = to_json("peers", [at_most("horse", "time", 0.2, 0.33)])
    assert out == {
        "bench": "peers",
        "rows": [{"case": "horse", "metric": "time", "value": 0.2, "bound": 0.33, "kind": "max", "ok": True}],
    }


def test_a_version_has_one_row(tmp_path):
    record_rows("x", [figure("horse", "E", 1.0)], tmp_path)
    path = record_rows("x", [figure("horse", "E", 2.0), figure("cow", "E", 3.0)], tmp_path)
    assert path.read_text() == f"version,horse: E,cow: E\n{__version__},2,3\n"


def test_other_versions_stay(tmp_path):
    (tmp_path / "x.csv").write_text("version,horse: E\n0.0.1,9\n")
    path = record_rows("x", [figure("horse", "E", 2.0)], tmp_path)
    assert path.read_text().splitlines() == ["version,horse: E", "0.0.1,9", f"{__version__},2"]


def test_growth_subject_has_the_size_asked_for():
    sequence = make_subject(Case(frames=5, vertices=2000, bones=4))
    assert sequence.n_frames == 5
    assert 2000 <= sequence.n_vertices < 2200
