"""The paper's weights against dense solvers on the system of eq. 9, written out row by row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls

from osteon.fit.problem import FitProblem
from osteon.fit.skin.weights import solve_weights

from ..subjects import direct_errors, predictions, random_problem

SIZES = [(2, 2), (5, 4), (9, 8), (3, 8)]  # bones, influences


def augmented(problem: FitProblem, moved: np.ndarray, v: int, bones: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[c A; 1 … 1] and [c x; 1] of one vertex."""
    x = problem.targets[v].astype(np.float64)
    c = 1 / np.linalg.norm(x)
    return np.vstack([c * moved[v, bones].T, np.ones(len(bones))]), np.append(c * x, 1)


def rows(problem: FitProblem, transforms: np.ndarray, bones: np.ndarray):
    moved = predictions(problem, transforms)
    for v in range(problem.n_vertices):
        yield v, *augmented(problem, moved, v, bones[v])


@pytest.mark.parametrize(("n_bones", "n_influences"), SIZES)
def test_influences_are_the_bones_with_the_least_error(n_bones, n_influences):
    problem, transforms = random_problem(n_bones=n_bones)
    bones = solve_weights(problem, transforms, n_influences).bones
    gamma = ((predictions(problem, transforms) - problem.targets[:, None]) ** 2).sum(axis=2)
    assert np.array_equal(bones, np.argsort(gamma, axis=1)[:, :n_influences])


@pytest.mark.parametrize(("n_bones", "n_influences"), SIZES)
def test_tsvd_against_the_pseudo_inverse(n_bones, n_influences):
    problem, transforms = random_problem(n_bones=n_bones)
    found = solve_weights(problem, transforms, n_influences, method="tsvd")
    bones, weights = found.bones, found.weights
    for v, a, b in rows(problem, transforms, bones):
        expected = np.linalg.pinv(a, rcond=1e-5) @ b
        np.testing.assert_allclose(weights[v], expected / expected.sum(), atol=1e-6)


def test_tsvd_drops_what_the_threshold_says():
    problem, transforms = random_problem(n_bones=5)
    for threshold in (1e-5, 0.02, 0.2):
        found = solve_weights(problem, transforms, 5, method="tsvd", threshold=threshold)
        bones, weights = found.bones, found.weights
        for v, a, b in rows(problem, transforms, bones):
            singular = np.linalg.svd(a, compute_uv=False)
            if np.abs(singular / singular[0] / threshold - 1).min() > 1e-3:  # none sits on the edge
                expected = np.linalg.pinv(a, rcond=threshold) @ b
                np.testing.assert_allclose(weights[v], expected / expected.sum(), atol=1e-6)


@pytest.mark.parametrize("method", ["tsvd", "nnls"])
def test_two_equal_bones(method):
    """The system is singular; the answer is as good as with one of them, and finite."""
    problem, transforms = random_problem(n_bones=3)
    twice = np.concatenate([transforms, transforms[:, :1]], axis=1)
    once = solve_weights(problem, transforms, 3, method=method)
    both = solve_weights(problem, twice, 4, method=method)
    np.testing.assert_allclose(both.errors, once.errors, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(("n_bones", "n_influences"), SIZES)
def test_nnls_against_scipy(n_bones, n_influences):
    problem, transforms = random_problem(n_bones=n_bones)
    found = solve_weights(problem, transforms, n_influences)
    bones, weights = found.bones, found.weights
    for v, a, b in rows(problem, transforms, bones):
        expected, _ = nnls(a, b)
        np.testing.assert_allclose(weights[v], expected / expected.sum(), atol=1e-6)


@pytest.mark.parametrize("delta", [0.0, 0.05, 0.4])
@pytest.mark.parametrize(("n_bones", "n_influences"), SIZES)
def test_bounded_against_scipy(n_bones, n_influences, delta):
    problem, transforms = random_problem(n_bones=n_bones)
    found = solve_weights(problem, transforms, n_influences, method="bounded", delta=delta)
    bones, weights = found.bones, found.weights
    for v, a, b in rows(problem, transforms, bones):
        expected = lsq_linear(a, b, (-delta, np.inf), method="bvls", tol=1e-14).x
        np.testing.assert_allclose(weights[v], expected / expected.sum(), atol=1e-6)


@pytest.mark.parametrize("method", ["tsvd", "nnls", "bounded"])
def test_sums_and_errors(method):
    problem, transforms = random_problem(n_bones=6)
    found = solve_weights(problem, transforms, 4, method=method, delta=0.1)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(found.errors, direct_errors(problem, transforms, found), rtol=1e-6, atol=1e-9)
