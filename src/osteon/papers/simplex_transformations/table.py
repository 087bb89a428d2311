"""Table 1: times of trees, segmentation, factorisation and a pose."""

from __future__ import annotations

import time
from dataclasses import dataclass

from osteon.papers.entries import Compared, Shown, Table
from osteon.papers.run import PaperRun
from osteon.papers.simplex_transformations.bodies import Body, body_of
from osteon.report.page_parts import number
from osteon.simplex.poser import Poser

#: Table 1: vertices, and seconds of tree, segmentation, Cholesky and back substitution, on a Pentium 4 of 3.2 GHz.
PRINTED: dict[str, tuple[int, float, float, float, float]] = {
    "Arma": (50852, 1.21, 1.48, 5.13, 0.69),
    "Dinopet": (13324, 0.42, 0.37, 0.92, 0.10),
    "Horse": (8433, 0.31, 0.28, 0.57, 0.06),
    "Female": (30432, 0.81, 0.74, 2.97, 0.33),
    "Palm": (12782, 0.42, 0.36, 0.89, 0.10),
}
BODIES = {"Arma": "armadillo", "Dinopet": "dinopet", "Horse": "horse", "Female": "female", "Palm": "palm"}
STEPS = ("BSP tree", "segmentation", "Cholesky", "back substitution")
#: Timed runs; the fastest counts.
RUNS = 3


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of the steps for a body."""

    vertices: int
    seconds: tuple[float, float, float, float]  # as `STEPS`

    def per_vertex(self, step: int) -> float:
        """Microseconds per vertex."""
        return 1e6 * self.seconds[step] / self.vertices


def posing_seconds(poser: Poser, body: Body) -> float:
    """Seconds of one back substitution with given transforms of bones."""
    assert poser.solver is not None
    transforms = poser.motion(next(iter(body.poses.values()))).transforms[0]
    return min(_seconds(poser, transforms) for _ in range(2 * RUNS))


def _seconds(poser: Poser, transforms: object) -> float:
    assert poser.solver is not None
    begin = time.perf_counter()
    poser.solver.pose(transforms)  # type: ignore[arg-type]
    return time.perf_counter() - begin


def measure_times(body: Body, runs: int = RUNS) -> Times:
    """All steps from the mesh on, each the fastest of several runs."""
    made = [Poser.of(body.vertices, body.faces, body.skeleton) for _ in range(runs)]
    best = [min(one.seconds[step] for one in made) for step in ("tree", "segmentation", "cholesky")]
    return Times(len(body.vertices), (best[0], best[1], best[2], posing_seconds(made[0], body)))


def times_of(run: PaperRun, model: str) -> Times:
    """The times for a model of the table; measured once in a run."""
    return run.once(f"times {model}", lambda: measure_times(body_of(run, BODIES[model]), run.size(RUNS, 1)))


def table_1(run: PaperRun) -> Shown:
    """All columns of the table."""
    rows, compared, facts = [], [], {}
    for model, (vertices, *seconds) in PRINTED.items():
        body, found = body_of(run, BODIES[model]), times_of(run, model)
        rows.append((f"{model} (paper)", f"{vertices:,}", *(f"{value:g}" for value in seconds)))
        rows.append((body.name, f"{found.vertices:,}", *(number(value) for value in found.seconds)))
        compared += compared_times(model, found)
        facts[model] = {"subject": body.name, "vertices": found.vertices, "seconds": found.seconds}
    note = "Seconds, each the fastest of several runs. Grey rows are the paper's, on a Pentium 4 of 3.2 GHz."
    head = ("model", "vertices", *STEPS)
    table = Table(head, tuple(rows), frozenset(range(0, len(rows), 2)), note=note)
    text = (
        "Times from a mesh with its skeleton to a pose. Models of the paper are replaced by built-in ones, or by those "
        "in the folder of data; the differences below are per vertex, since the numbers of vertices differ."
    )
    return Shown(text, (table,), tuple(compared), facts)


def compared_times(model: str, found: Times) -> list[Compared]:
    """Microseconds per vertex of every step."""
    printed = Times(PRINTED[model][0], PRINTED[model][1:])
    why = "Another machine, and systems without the fourth vertices of tetrahedra."
    return [
        Compared(f"{model}: {step}", printed.per_vertex(k), found.per_vertex(k), "Table 1", "us per vertex", why)
        for k, step in enumerate(STEPS)
    ]
