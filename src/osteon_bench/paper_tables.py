"""The tables of papers 3, 4 and 5 on built-in subjects, made by the functions that fill the pages of `osteon paper`.

Times are bounded by the paper's own, per vertex for meshes of other sizes; tests of ratings by the printed ones, which
follow from the printed means, deviations and counts.
"""

from __future__ import annotations

from osteon.lod.search.level_errors import OPERATIONS
from osteon.papers.mesh_approximation.raters import PRINTED, PRINTED_TESTS
from osteon.papers.progressive_skinning.costs import RUNS, blend_seconds
from osteon.papers.progressive_skinning.soldier import soldier
from osteon.papers.run import PaperOptions, PaperRun
from osteon.papers.simplex_transformations.bodies import body_of
from osteon.papers.simplex_transformations.table import BODIES, STEPS, Times, times_of
from osteon.papers.simplex_transformations.table import PRINTED as PRINTED_TIMES
from osteon.study.results import compare_ratings
from osteon_bench.rows import Row, at_most
from osteon_bench.run import BenchRun

#: Differences from the printed tests that the rounding of printed means explains.
ROUNDED = 1e-4


def table_rows(run: BenchRun) -> list[Row]:
    """Table 1 of Mesh Approximation, table 2 of Progressive Skinning and table 1 of Simplex Transformations."""
    paper = PaperRun(PaperOptions(threads=run.threads))
    return rating_rows() + blend_rows(run, paper) + posing_rows(run, paper)


def rating_rows() -> list[Row]:
    """Tests of the printed means: how far they are from the printed ones."""
    rows = []
    for first, second, t, _, ratio, _ in PRINTED_TESTS:
        found = compare_ratings(PRINTED[first], PRINTED[second])
        assert found.t is not None
        assert found.f_ratio is not None
        case = f"Mesh Approximation, table 1, {first} and {second}"
        rows.append(at_most(case, "t away from the printed one", abs(found.t - t), ROUNDED))
        rows.append(at_most(case, "F away from the printed one", abs(found.f_ratio - ratio), ROUNDED))
    return rows


def blend_rows(run: BenchRun, paper: PaperRun) -> list[Row]:
    """Time of more blends over that of one, against the operations that the paper counts."""
    run.report("Progressive Skinning, table 2")
    body = soldier(paper)
    seconds = blend_seconds(body, RUNS)
    return [
        at_most(
            f"Progressive Skinning, table 2, built-in {body.name}",
            f"{k + 1} blends over one, time",
            seconds[k] / seconds[0],
            OPERATIONS[k] / OPERATIONS[0],
        )
        for k in range(1, min(len(seconds), len(OPERATIONS)))
    ]


def posing_rows(run: BenchRun, paper: PaperRun) -> list[Row]:
    """Microseconds per vertex of every step for every model."""
    rows = []
    for model, (vertices, *seconds) in PRINTED_TIMES.items():
        body = body_of(paper, BODIES[model])
        run.report(f"Simplex Transformations, table 1: {body.name}")
        found, printed = times_of(paper, model), Times(vertices, (seconds[0], seconds[1], seconds[2], seconds[3]))
        case = f"Simplex Transformations, table 1, {model}: built-in {body.name}"
        rows += [
            at_most(case, f"{step}, microseconds per vertex", found.per_vertex(k), printed.per_vertex(k))
            for k, step in enumerate(STEPS)
        ]
    return rows
