"""The tables of `osteon paper` on built-in subjects, made by the functions that fill the pages, with bounds.

The subjects are not the paper's, so the bounds are ceilings of what was measured when they were set, with a margin of
a tenth, and the number of bones that mean shift finds, give or take one in ten. They hold on every machine: the same
input gives the same clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

from osteon.papers.mesh_animations.printed import RANK, TABLE_1
from osteon.papers.mesh_animations.variants import variants_of
from osteon.papers.run import PaperOptions, PaperRun
from osteon.papers.subjects import find_subject
from osteon_bench.rows import Row, at_least, at_most
from osteon_bench.run import BenchRun


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Bounds of a row of table 1 on its built-in subject."""

    bones: int
    near_rigid: float  # at least
    plain: float  # E %, flexible bones, NNLS weights
    corrected: float  # the same at rank 10
    compression: float  # of flexible bones, at least


#: By model and eps.
CEILINGS: dict[tuple[str, float], Ceiling] = {
    ("ball", 0.05): Ceiling(1, 0.95, 0.001, 0.001, 26.4),
    ("snake", 0.05): Ceiling(13, 0.92, 1.5, 0.000453, 14.8),
    ("dance", 0.05): Ceiling(11, 0.93, 5.39, 0.0382, 12.2),
    ("bridge", 0.05): Ceiling(6, 0.95, 0.001, 0.001, 15.9),
    ("camel", 0.05): Ceiling(9, 0.76, 29.1, 0.294, 13.4),
    ("elephant", 0.05): Ceiling(9, 0.76, 27.4, 0.311, 13.4),
    ("horse", 0.05): Ceiling(13, 0.8, 13.2, 0.205, 12.7),
    ("chicken", 0.05): Ceiling(10, 0.76, 3.26, 0.0343, 13.0),
    ("hands", 0.05): Ceiling(16, 0.94, 4.61, 0.685, 8.7),
    ("elasticcow", 0.05): Ceiling(12, 0.44, 16.2, 0.231, 11.1),
    ("clothhorse", 0.05): Ceiling(6, 0.11, 27.0, 1.92, 15.9),
    ("flag", 0.05): Ceiling(27, 0.76, 2.39, 0.0269, 7.2),
    ("flag", 0.1): Ceiling(9, 0.69, 9.87, 0.0948, 12.1),
}


def built_in_rows(run: BenchRun) -> list[Row]:
    """Table 1 of Skinning Mesh Animations on built-in subjects."""
    paper = PaperRun(PaperOptions(threads=run.threads))
    rows: list[Row] = []
    for row in TABLE_1:
        name = row.model.lower()
        ceiling, title = CEILINGS[name, row.tolerance], find_subject(paper, name).name
        run.report(f"{title}: paper preset, eps {row.tolerance:g}")
        variants = variants_of(paper, name, row.tolerance)
        errors = variants.errors(("flexible", "nnls"))
        case = f"built-in {title}" + (f", eps {row.tolerance:g}" if row.tolerance != 0.05 else "")
        smaller = variants.compression(("flexible", "nnls"))
        bones, eta = variants.clustering.n_bones, variants.clustering.near_rigid_fraction
        rows += [
            at_least(case, "paper preset, bones, at least", bones, round(0.9 * ceiling.bones, 6)),
            at_most(case, "paper preset, bones, at most", bones, round(1.1 * ceiling.bones, 6)),
            at_least(case, "paper preset, near-rigid fraction", eta, ceiling.near_rigid),
            at_most(case, "paper preset, E % flexible nnls", errors[0], ceiling.plain),
            at_most(case, f"paper preset, E % flexible nnls rank {RANK}", errors[RANK], ceiling.corrected),
            at_least(case, "paper preset, flexible: smaller by", smaller, ceiling.compression),
        ]
    return rows
