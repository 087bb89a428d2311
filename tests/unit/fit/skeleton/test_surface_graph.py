"""Distances along a surface: not through the air, over bridges between shells, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.fit.problem import FitProblem, pose_problem
from osteon.fit.skeleton.surface_graph import SurfaceGraph, surface_graph
from osteon.synth.shapes import make_tube


def strip(n: int, height: float) -> tuple[np.ndarray, np.ndarray]:
    """2n vertices: a strip of unit squares along x at y = height."""
    points = np.array([[x, height, z] for x in range(n) for z in (0.0, 1.0)])
    squares = [[2 * i, 2 * i + 1, 2 * i + 2] for i in range(n - 1)]
    return points, np.array(squares + [[2 * i + 1, 2 * i + 3, 2 * i + 2] for i in range(n - 1)], np.int32)


def problem_of(points: np.ndarray, faces: np.ndarray, moved: np.ndarray | None = None) -> FitProblem:
    frames = np.stack([points, points + np.array([0.0, 0, 1]) if moved is None else moved])
    return pose_problem(MeshSequence(frames, faces, points), still=moved is None)


def two_strips(gap: float, apart: float = 0.0) -> tuple[FitProblem, SurfaceGraph]:
    """Two strips above each other, the upper of which moves away in the second frame."""
    points, faces = strip(40, 0.0)
    above = points + np.array([0, gap, 0])
    moved = np.concatenate([points, above + np.array([0, apart, 0])]) + np.array([0.0, 0, 1])
    both = np.concatenate([points, above]), np.concatenate([faces, faces + len(points)])
    problem = problem_of(*both, moved)
    return problem, surface_graph(problem, both[1])


def test_along_the_surface_and_not_through_the_air() -> None:
    """A strip that is folded back over itself: its ends are close, but not along it."""
    n = 30
    angle = np.linspace(0, 2 * np.pi * 0.95, n)
    points = np.array([[np.cos(a), np.sin(a), z] for a in angle for z in (0.0, 0.2)])
    problem = problem_of(points, strip(n, 0.0)[1])
    graph = surface_graph(problem, strip(n, 0.0)[1])
    far = graph.distances([np.array([0])])[:, 0]
    air = np.linalg.norm(problem.points[:, :3] - problem.points[0, :3], axis=1)
    assert far[-2] > 2 * air[-2]
    assert far[2] == pytest.approx(air[2], rel=1e-6)


def test_shells_that_stay_close_are_bridged() -> None:
    problem, graph = two_strips(gap=0.5)
    unit = problem.rest_scale
    far = graph.distances([np.array([0])])[:, 0] * unit
    assert far[80] == pytest.approx(0.5, rel=1e-5)
    _, loose = two_strips(gap=0.5, apart=5.0)
    assert loose.lengths.nnz < graph.lengths.nnz  # only the one bridge that keeps them connected
    assert np.isfinite(loose.distances([np.array([0])])).all()


def test_costs_grow_with_the_square_beyond_the_reach() -> None:
    _, graph = two_strips(gap=0.5)
    reach, diagonal = graph.reach, graph.diagonal
    assert reach == pytest.approx(max(0.1 * diagonal, 2.5 * graph.edge))
    distances = np.array([[0.0, reach, reach + 0.1 * diagonal, reach + 0.2 * diagonal]])
    costs = graph.costs(distances, 10)[0]
    assert costs[:2].tolist() == [0, 0]
    assert costs[2] == pytest.approx(10 * (0.05 * 0.1 * diagonal) ** 2)
    assert costs[3] == pytest.approx(4 * costs[2])
    assert graph.costs(np.array([[0.41 * diagonal]]), 1)[0, 0] == pytest.approx((0.41 * diagonal - reach) ** 2)


def test_the_core_is_the_heaviest_piece() -> None:
    _, graph = two_strips(gap=30.0)
    weights = np.zeros(160)
    weights[:6], weights[120:124] = 1.0, 0.9
    weights[20] = 0.45
    assert graph.core(weights).tolist() == [0, 1, 2, 3, 4, 5]
    weights[120:140] = 0.9
    assert graph.core(weights).tolist() == list(range(120, 140))
    assert len(graph.core(np.zeros(160))) == 0
    assert not graph.bone_costs(np.zeros((160, 2)), 5).any()  # bones without vertices are free


def test_a_reduced_graph_has_nearly_the_same_distances() -> None:
    tube = make_tube(16, 60, 0.2, 4.0)
    problem = problem_of(tube.vertices, tube.faces)
    graph = surface_graph(problem, tube.faces)
    chosen = np.sort(np.random.default_rng(0).permutation(graph.n_vertices)[:200]).astype(np.int32)
    exact = graph.distances([np.array([chosen[0]])])[chosen, 0]
    found = graph.reduced(chosen).distances([np.array([0])])[:, 0]
    near = exact < 0.35 * graph.diagonal
    assert near.sum() > 20
    assert (found[near] >= exact[near] - 1e-9).all()
    assert (found[near] - exact[near]).max() < 0.1 * graph.diagonal
    assert graph.reduced(None) is graph
