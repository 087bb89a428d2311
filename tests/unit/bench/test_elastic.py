"""The bench of simulated flesh, with a bar in place of the hand that Osteon makes."""

from __future__ import annotations

from osteon.core.kinematics import JointLimit
from osteon.elastic.body import ElasticBody
from osteon.elastic.options import SweepOptions
from osteon.elastic.solid import solid_of_tetrahedra
from osteon.elastic.sweep import plan_sweep
from osteon_bench import elastic
from osteon_bench.elastic_hand import HandCase
from osteon_bench.run import BenchRun
from osteon_bench.subjects import bar_skeleton, make_bar


def _bar() -> HandCase:
    body = ElasticBody.of(solid_of_tetrahedra(*make_bar((8, 4, 4))), bar_skeleton())
    limits = (JointLimit("joint1", (0, 1, 0), 0, 40),)
    return HandCase("bar", body, limits, plan_sweep(body.skeleton, limits, SweepOptions(sweep=True, validate=1)))


def test_all_holds_without_measured_meshes(tmp_path, monkeypatch):
    monkeypatch.setenv("OSTEON_CCX", str(tmp_path / "none"))
    monkeypatch.setattr(elastic, "_made_hand", _bar)
    monkeypatch.setattr(elastic, "CANTILEVER", ((8, 2, 2), 8.0, 0.004))
    run = BenchRun(tmp_path / "sequences", 1)
    rows = [*elastic.bench_elastic(run), *elastic._time_rows(run, _bar())]
    assert len(run.missing) == 4  # CalculiX for both kinds of elements, the hand and its skeleton
    assert [row for row in rows if not row.ok and "time" not in row.metric] == []
    assert {row.case.split(",")[0] for row in rows} == {"bar", "cantilever"}
    assert sum(row.bound is not None for row in rows) >= 8
