"""Forward selection against every choice of bones, one vertex at a time."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls

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
