"""What crosscheck/test_weights.py does not say: corners and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.fit.skin.weights import nearest_influences, solve_weights

from ....subjects import random_problem


def test_nearest_influences_best_first_and_stable():
    gamma = np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 0.0]])
    assert nearest_influences(gamma, 2).tolist() == [[1, 2], [2, 0]]
    assert nearest_influences(gamma, 8).shape == (2, 3)


@pytest.mark.parametrize("count", [0, 9])
def test_number_of_influences(count, refused):
    with refused(OptionError, "influences", count):
        nearest_influences(np.zeros((1, 3)), count)


def test_unknown_method_and_negative_bound(refused):
    problem, transforms = random_problem()
    with refused(OptionError, "weights", "'best'"):
        solve_weights(problem, transforms, 3, method="best")
    with refused(OptionError, "delta"):
        solve_weights(problem, transforms, 3, method="bounded", delta=-0.1)


@pytest.mark.parametrize("method", ["tsvd", "nnls", "bounded"])
def test_a_vertex_in_the_middle_of_the_mesh_that_never_moves(method):
    """Its target is the zero vector, so that c = 1 / |x| is infinite."""
    problem, transforms = random_problem()
    targets, points = problem.targets.copy(), problem.points.copy()
    targets[3], points[3, :3] = 0, 0
    quiet = replace(problem, targets=targets, points=points, energy=(targets.astype(float) ** 2).sum(axis=1))
    found = solve_weights(quiet, transforms, 3, method=method, delta=0.1)
    weights, errors = found.weights, found.errors
    assert np.isfinite(weights).all()
    assert np.isfinite(errors).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-9)


def test_exact_bones_give_exact_weights():
    problem, transforms = random_problem(noise=0.0)
    for method in ("tsvd", "nnls"):
        assert solve_weights(problem, transforms, 5, method=method).errors.max() < 1e-9


def test_bounds_hold_before_the_sum_is_divided_out():
    problem, transforms = random_problem(n_bones=5, noise=0.1)
    lowest = [solve_weights(problem, transforms, 5, method="bounded", delta=d).weights.min() for d in (0.0, 0.05, 0.2)]
    assert lowest[0] >= 0
    assert 0 > lowest[1] > -0.06
    assert lowest[1] > lowest[2] > -0.25
