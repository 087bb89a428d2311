"""Times of posing: Table 1 of Simplex Transformations, and the speedup over the direct method, per step and in total.

The direct method follows the paper literally: every triangle is tested against every bone, the full system includes the
fourth vertices, and SciPy's SuperLU solves it, with the defaults of `splu` and with options for symmetric matrices,
which are faster. All times are measured alternately in one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from osteon.core.arrays import Float64, Int32
from osteon.core.topology import bounding_diagonal
from osteon.simplex.factor import SymmetricFactor
from osteon.simplex.poser import Poser
from osteon.simplex.segmentation.segment import Segmentation, SegmentMethod, SegmentOptions, segment_mesh
from osteon.simplex.simplices import build_simplices, full_system, reduced_system
from osteon.simplex.solve import SimplexSolver
from osteon_bench.pose_cases import PoseCase
from osteon_bench.rows import Row, at_least, at_most, figure
from osteon_bench.run import BenchRun

#: Timed runs of each step; the fastest counts.
RUNS = 9
#: Bound of the total time from mesh to pose.
WHOLE_RUNS = 3


def time_rows(run: BenchRun, body: PoseCase) -> list[Row]:
    """Table 1, the ratios that must hold, and that the eliminated system is the full one."""
    case = f"{body.name}, {len(body.vertices)} vertices"
    run.report(f"{case}: times")
    Poser.of(body.vertices, body.faces, body.skeleton)  # compiles
    plain_way = _PlainWay.of(body)
    rows = _pose_rows(case, body, plain_way) + _segment_rows(run, case, body)
    run.report(f"{case}: from mesh to pose")
    return rows + _whole_rows(case, body, plain_way)


def _best(*works: Callable[[], Any], runs: int = RUNS) -> list[float]:
    """Seconds of the fastest run of each; runs alternate, so that load on the machine affects all of them."""
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(runs + 1):
        for work, found in zip(works, seconds, strict=True):
            start = time.perf_counter()
            work()
            found.append(time.perf_counter() - start)
    return [min(found[1:]) for found in seconds]


def _plain_factor(matrix: csc_array) -> Any:
    """With SciPy's defaults."""
    return splu(matrix)


def _ordered_factor(matrix: csc_array) -> Any:
    """With options for symmetric matrices: minimum degree on K + K'."""
    return splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})


@dataclass(frozen=True, slots=True)
class _PlainWay:
    """A mesh, and one pose of it as transforms of bones."""

    poser: Poser
    solver: SimplexSolver
    transforms: Float64  # (g,3,4)

    @staticmethod
    def of(body: PoseCase) -> _PlainWay:
        poser = Poser.of(body.vertices, body.faces, body.skeleton)
        if poser.solver is None:
            raise RuntimeError("the default method has a solver")
        return _PlainWay(poser, poser.solver, poser.motion(next(iter(body.poses.values()))).transforms[0])

    def ideal(self, group: Int32) -> Float64:
        """The target transform of every simplex, one row per column."""
        return self.solver._rows(self.transforms)[group].reshape(-1, self.solver.simplices.dimension)

    def pose(self, factor: Callable[[csc_array], Any]) -> Float64:
        """From mesh to posed vertices; bone transforms are precomputed and not timed."""
        poser = self.poser
        if poser.skeleton is None:
            raise RuntimeError("a case has a skeleton")
        options = SegmentOptions(method="plain", dimension=poser.dimension)
        segments = segment_mesh(poser.points, poser.faces, poser.skeleton, options=options)
        simplices = build_simplices(poser.points, poser.faces, poser.dimension)
        system = full_system(simplices)
        solved: Float64 = factor(system.stiffness).solve(system.load @ self.ideal(segments.bone[simplices.triangle]))
        return solved


def _pose_rows(case: str, body: PoseCase, plain: _PlainWay) -> list[Row]:
    """A pose, and the factor it needs, against SuperLU on the full and on the eliminated system."""
    solver, transforms, track = plain.solver, plain.transforms, next(iter(body.poses.values()))
    reduced, full = reduced_system(solver.simplices), full_system(solver.simplices)
    ideal = plain.ideal(solver.group)
    load, reduced_load = full.load @ ideal, reduced.load @ ideal
    plain_factor, ordered, small = (
        _plain_factor(full.stiffness),
        _ordered_factor(full.stiffness),
        _ordered_factor(reduced.stiffness),
    )
    pose, whole_pose, plain_solve, ordered_solve, small_solve = _best(
        lambda: solver.pose(transforms),
        lambda: plain.poser.pose(track),
        lambda: plain_factor.solve(load),
        lambda: ordered.solve(load),
        lambda: small.solve(reduced_load),
    )
    factorise, factorise_plain, factorise_ordered = _best(
        lambda: SymmetricFactor.of(reduced.stiffness),
        lambda: _plain_factor(full.stiffness),
        lambda: _ordered_factor(full.stiffness),
        runs=WHOLE_RUNS,
    )
    apart = np.abs(
        plain_factor.solve(load)[: len(reduced.vertices)]
        - (solver.pose(transforms) - solver.simplices.centre)[:, : load.shape[1]]
    )
    return [
        figure(case, "Cholesky (s)", factorise),
        figure(case, "back substitution (s)", pose),
        figure(case, "a pose with its bone transforms (s)", whole_pose),
        at_most(case, "a pose over the full system with SciPy's splu factor", pose / plain_solve, 1 / 8),
        figure(case, "a pose over the same, splu ordered for symmetric matrices", pose / ordered_solve),
        figure(case, "a pose over the eliminated system, splu ordered for symmetric matrices", pose / small_solve),
        at_most(case, "a pose over its own factorisation", pose / factorise, 1 / 20),
        figure(case, "Cholesky over splu of the full system", factorise / factorise_plain),
        figure(case, "Cholesky over the same, ordered for symmetric matrices", factorise / factorise_ordered),
        at_most(
            case,
            "eliminated and full system apart, of the diagonal",
            apart.max() / bounding_diagonal(body.vertices),
            1e-8,
        ),
    ]


def _segment_rows(run: BenchRun, case: str, body: PoseCase) -> list[Row]:
    fast, traversed, plain = _segmentations(run, body)
    whole = {name: sum(found.seconds.values()) for name, found in (("fast", fast), ("plain", plain))}
    return [
        figure(case, "tree (s)", fast.seconds["tree"]),
        figure(case, "segmentation (s)", fast.seconds["segmentation"]),
        figure(case, "segmentation with preparing, paths and islands (s)", whole["fast"] - fast.seconds["tree"]),
        *(
            at_least(case, f"plain test of all pairs over {name}, time", _segmenting(plain) / _segmenting(found), 5)
            for name, found in (("the accelerated one", fast), ("the traversal of 4.2", traversed))
        ),
        figure(case, "plain over accelerated with tree, preparing, paths and islands", whole["plain"] / whole["fast"]),
        at_most(case, "triangles with another bone in the plain segmentation", (fast.bone != plain.bone).sum(), 0),
        figure(case, "the same, traversal of 4.2", (traversed.bone != plain.bone).sum()),
    ]


def _segmentations(run: BenchRun, body: PoseCase) -> list[Segmentation]:
    """By blocks, by the traversal of 4.2, and directly: each the fastest of several alternating runs."""
    run.report(f"{body.name}: segmentations")
    methods: tuple[SegmentMethod, ...] = ("blocks", "traverse", "plain")
    runs = [
        [segment_mesh(body.vertices, body.faces, body.skeleton, options=SegmentOptions(method=m)) for m in methods]
        for _ in range(5)
    ]
    return [min(found, key=_segmenting) for found in zip(*runs, strict=True)]


def _segmenting(found: Segmentation) -> float:
    """Seconds of testing triangles against bones, where the methods differ."""
    return found.seconds["segmentation"]


def _whole_rows(case: str, body: PoseCase, plain: _PlainWay) -> list[Row]:
    """Segmentation, factor and one pose, from the mesh on."""
    track = next(iter(body.poses.values()))
    ours, plain_whole, ordered_whole = _best(
        lambda: Poser.of(body.vertices, body.faces, body.skeleton).pose(track),
        lambda: plain.pose(_plain_factor),
        lambda: plain.pose(_ordered_factor),
        runs=WHOLE_RUNS,
    )
    return [
        figure(case, "from mesh to first pose (s)", ours),
        figure(case, "from mesh to first pose over the plain way with splu", ours / plain_whole),
        figure(case, "from mesh to first pose over the same, ordered for symmetric matrices", ours / ordered_whole),
    ]
