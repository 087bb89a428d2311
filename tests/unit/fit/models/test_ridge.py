"""Ridge regression against NumPy, and rows left out against fits without them."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.fit.models.ridge import RidgePath, solve_ridge

SHAPES = {"dual": (9, 14), "square": (12, 12), "primal": (30, 8)}
STRENGTHS = (1e-5, 0.03, 2.0)


@pytest.fixture(params=SHAPES)
def system(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    shape = SHAPES[request.param]
    return rng.normal(size=(5, *shape)), rng.normal(size=(5, shape[0]))


def by_numpy(features: np.ndarray, targets: np.ndarray, strength: float) -> np.ndarray:
    """(p,) the least squares of the equations with sqrt(lambda) c = 0 below them."""
    p = features.shape[1]
    below = np.concatenate([features, np.sqrt(strength) * np.eye(p)])
    return np.linalg.lstsq(below, np.concatenate([targets, np.zeros(p)]), rcond=None)[0]


@pytest.mark.parametrize("strength", STRENGTHS)
def test_solutions_are_least_squares(system: tuple[np.ndarray, np.ndarray], strength: float) -> None:
    features, targets = system
    path = RidgePath.of(features)
    for n in range(len(features)):
        expected = by_numpy(features[n], targets[n], strength)
        assert solve_ridge(features, targets, strength)[n] == pytest.approx(expected, abs=1e-7)
        assert path.solution(targets, strength)[n] == pytest.approx(expected, abs=1e-7)
        assert path.residuals(targets, strength)[n] == pytest.approx(targets[n] - features[n] @ expected, abs=1e-7)


@pytest.mark.parametrize("rows", [[4], [0, 1, 2], [1, 2, 3, 4, 5, 6, 7, 8]])
def test_rows_left_out_as_if_fitted_without_them(system: tuple[np.ndarray, np.ndarray], rows: list[int]) -> None:
    features, targets = system
    kept = np.setdiff1d(np.arange(features.shape[1]), rows)
    found = RidgePath.of(features).held_out_residuals(targets, np.array(rows), STRENGTHS)
    for strength, unseen in zip(STRENGTHS, found, strict=True):
        for n in range(len(features)):
            fitted = by_numpy(features[n, kept], targets[n, kept], strength)
            assert unseen[n] == pytest.approx(targets[n, rows] - features[n, rows] @ fitted, abs=1e-6)


def test_more_rows_left_out_than_unknowns() -> None:
    rng = np.random.default_rng(5)
    features, targets, rows = rng.normal(size=(2, 40, 4)), rng.normal(size=(2, 40)), np.arange(3, 18)
    kept = np.setdiff1d(np.arange(40), rows)
    unseen = next(RidgePath.of(features).held_out_residuals(targets, rows, (0.1,)))
    expected = targets[0, rows] - features[0, rows] @ by_numpy(features[0, kept], targets[0, kept], 0.1)
    assert unseen[0] == pytest.approx(expected, abs=1e-9)


def test_an_infinite_pull_leaves_nothing() -> None:
    assert not solve_ridge(np.ones((2, 3, 4)), np.ones((2, 3)), np.inf).any()
