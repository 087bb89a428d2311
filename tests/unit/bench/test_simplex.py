"""The bench of posing on subjects that Osteon makes itself."""

from __future__ import annotations

from osteon_bench.run import BenchRun
from osteon_bench.simplex import bench_simplex


def test_all_that_is_not_a_time_holds_without_measured_meshes(tmp_path):
    run = BenchRun(tmp_path / "sequences", 1)
    rows = bench_simplex(run)
    assert len(run.missing) == 9  # files of the five measured meshes and their skeletons
    assert all(str(tmp_path / "meshes") in line for line in run.missing)
    assert {row.case.split(",")[0].split(":")[0] for row in rows} == {
        *("figure", "cartoon", "legs in sleeves", "tube of length 4 r")
    }
    metrics = {row.metric for row in rows}
    assert {"tree (s)", "segmentation (s)", "Cholesky (s)", "back substitution (s)"} <= metrics
    ratios = ("a pose over", "plain ")  # of times, which are noisy where tests run
    assert [row for row in rows if not row.ok and not row.metric.startswith(ratios)] == []
    assert sum(row.bound is not None for row in rows) >= 15
