"""Rows of a bench."""

from __future__ import annotations

from osteon_bench.rows import at_least, at_most, figure, to_json


def test_bounds_are_kept_or_missed():
    assert at_most("a", "b", 1.0, 1.0).ok
    assert not at_most("a", "b", 1.1, 1.0).ok
    assert at_least("a", "b", 2.0, 1.0).ok
    assert not at_least("a", "b", 0.5, 1.0).ok
    assert figure("a", "b", 1e9).ok


def test_json_has_the_agreed_keys():
    out = to_json("peers", [at_most("horse", "time", 0.2, 0.33)], {"commit": "abc"})
    assert out == {
        "bench": "peers",
        "run": {"commit": "abc"},
        "rows": [{"case": "horse", "metric": "time", "value": 0.2, "bound": 0.33, "kind": "max", "ok": True}],
    }
