"""Forward selection against every choice of bones, one vertex at a time."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from osteon.core.errors import OptionError
from osteon.fit.problem import FitProblem
from osteon.fit.skin.influences import select_influences

from ..subjects import predictions, random_problem


def exhaustive(problem: FitProblem, transforms: np.ndarray, n_influences: int) -> np.ndarray:
    """(v,) the least squared error with at most `n_influences` bones: all supports, by SciPy."""
    moved = predictions(problem, transforms)
    n_bones = transforms.shape[1]
    best = np.full(problem.n_vertices, np.inf)
    for v in range(problem.n_vertices):
        off = (moved[v] - problem.targets[v]).T  # sum of weights one: the blend of errors is the error of the blend
        heavy = 1e6 * np.linalg.norm(off)
        for support in combinations(range(n_bones), min(n_influences, n_bones)):
            system = np.vstack([off[:, support], heavy * np.ones(len(support))])
            w, _ = nnls(system, np.append(np.zeros(len(off)), heavy))
            best[v] = min(best[v], float(((off[:, support] @ (w / w.sum())) ** 2).sum()))
    return best


@pytest.mark.parametrize("n_bones", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_with_all_bones_allowed_nothing_is_better(n_bones, seed):
    problem, transforms = random_problem(40, n_bones, seed=seed)
    errors = select_influences(problem, transforms, n_bones).errors
    best = exhaustive(problem, transforms, n_bones)
    assert (errors >= best * (1 - 1e-6)).all()
    # A bone that would lower the error by less than 1e-4 of it is not added.
    assert (errors <= best * (1 + 2e-3)).all()


@pytest.mark.parametrize(("n_bones", "n_influences"), [(5, 2), (6, 3), (8, 4)])
@pytest.mark.parametrize("noise", [0.005, 0.05])
@pytest.mark.parametrize("thorough", [False, True])
def test_close_to_the_best_choice_of_few_bones(n_bones, n_influences, noise, thorough):
    """Both searches are greedy: exact for nearly all vertices, and not far off in sum."""
    problem, transforms = random_problem(40, n_bones, noise=noise)
    errors = select_influences(problem, transforms, n_influences, thorough=thorough).errors
    best = exhaustive(problem, transforms, n_influences)
    assert (errors >= best * (1 - 1e-6)).all()
    assert (errors <= best * (1 + 2e-3)).mean() >= (0.9 if thorough else 0.8)
    assert errors.sum() <= (1.1 if thorough else 1.5) * best.sum()


@pytest.mark.parametrize("size", [0.0, 1e-3, 0.1, 10.0])
def test_a_linear_penalty_is_part_of_the_exact_optimum(size):
    """With c'w the objective is a quadratic form plus a linear one, which SLSQP minimises from several starts."""
    problem, transforms = random_problem(12, 3, noise=0.1)
    rng = np.random.default_rng(4)
    scale = select_influences(problem, transforms, 3).errors.mean() + 1.0
    penalty = size * scale * rng.random((problem.n_vertices, 3))
    found = select_influences(problem, transforms, 3, penalty=penalty)
    weights = found.dense(3)
    moved = predictions(problem, transforms)
    for v in range(problem.n_vertices):
        off = (moved[v] - problem.targets[v]).T
        np.testing.assert_allclose(found.errors[v], ((off @ weights[v]) ** 2).sum(), rtol=1e-6, atol=1e-9)

        def value(w, off=off, cost=penalty[v]):
            return float(((off @ w) ** 2).sum() + cost @ w)

        starts = [np.full(3, 1 / 3), *np.eye(3)]
        best = min(
            minimize(
                value,
                start,
                bounds=[(0, 1)] * 3,
                constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
                options={"ftol": 1e-12, "maxiter": 300},
            ).fun
            for start in starts
        )
        assert value(weights[v]) <= best + 2e-3 * abs(best) + 1e-9


def test_a_penalty_of_another_shape_is_refused():
    problem, transforms = random_problem(12, 3)
    with pytest.raises(OptionError, match="penalty: expected costs of shape"):
        select_influences(problem, transforms, 3, penalty=np.zeros((12, 2)))
