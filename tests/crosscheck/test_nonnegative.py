"""Tiny non-negative least squares: optimality conditions, SciPy, and every support tried in turn."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from osteon.fit.skin.nonnegative import MAX_UNKNOWNS, minimise_nonnegative, minimise_on_simplex


def padded(gram: np.ndarray) -> np.ndarray:
    """Rows may hold fewer unknowns than there is room for; what lies beyond the leading part must not matter."""
    out = np.full((MAX_UNKNOWNS, MAX_UNKNOWNS), np.nan)
    out[: len(gram), : len(gram)] = gram
    return out


def solve_nonnegative(gram: np.ndarray, g: np.ndarray) -> np.ndarray:
    return minimise_nonnegative(gram[None], g[None])[0]


def solve_on_simplex(gram: np.ndarray) -> tuple[np.ndarray, float]:
    w = minimise_on_simplex(padded(gram)[None], np.array([len(gram)]))[0, : len(gram)]
    return w, float(w @ gram @ w)


def best_on_simplex(gram: np.ndarray) -> float:
    """The least w'Gw over all supports: on each, the equality-constrained optimum, if it is feasible."""
    best = np.inf
    for size in range(1, len(gram) + 1):
        for support in combinations(range(len(gram)), size):
            part = gram[np.ix_(support, support)]
            system = np.block([[part, -np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
            w = np.linalg.lstsq(system, np.append(np.zeros(size), 1), rcond=None)[0][:size]
            if w.min() >= -1e-12 and abs(w.sum() - 1) < 1e-9:
                best = min(best, float(w @ part @ w))
    return best


@st.composite
def least_squares(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """A (m,n) and b (m,), of any rank and scale, with columns that may be alike."""
    n, m = draw(st.integers(1, 8)), draw(st.integers(1, 14))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    a, b = rng.normal(size=(m, n)), rng.normal(size=m)
    if n > 1 and draw(st.booleans()):
        a[:, 0] = a[:, 1] + draw(st.sampled_from([0.0, 1e-6, 1e-3])) * a[:, 0]
    if draw(st.booleans()):
        b = a @ np.clip(rng.normal(size=n), 0, None)  # can be met exactly
    scale = 10.0 ** draw(st.integers(-3, 3))
    return scale * a, scale * b


@settings(max_examples=300, deadline=None)
@given(least_squares())
def test_optimality_conditions(problem):
    a, b = problem
    gram, g = a.T @ a, a.T @ b
    w = solve_nonnegative(gram, g)
    slope = gram @ w - g
    size = np.abs(gram) @ w + np.abs(g) + 1e-300
    assert (w >= 0).all()
    assert (slope >= -1e-6 * size).all()
    assert (np.abs(slope[w > 0]) <= 1e-6 * size[w > 0]).all()


@settings(max_examples=300, deadline=None)
@given(least_squares())
def test_as_good_as_scipy(problem):
    a, b = problem
    w = solve_nonnegative(a.T @ a, a.T @ b)
    expected, residual = nnls(a, b)
    # Through normal equations half of the digits remain; the ridge costs 1e-12 of the squared norms.
    slack = 1e-6 * (np.linalg.norm(b) + np.linalg.norm(a) * np.linalg.norm(expected))
    assert np.linalg.norm(a @ w - b) <= residual + slack


@pytest.mark.parametrize("seed", range(20))
def test_the_same_weights_as_scipy_where_they_are_unique(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(30, 6)), rng.normal(size=30)
    np.testing.assert_allclose(solve_nonnegative(a.T @ a, a.T @ b), nnls(a, b)[0], atol=1e-8)


@settings(max_examples=300, deadline=None)
@given(least_squares())
def test_simplex_against_every_support(problem):
    a, b = problem
    gram = (a - b[:, None]).T @ (a - b[:, None])  # the problem of one vertex: columns are errors of bones
    w, value = solve_on_simplex(gram)
    assert (w >= 0).all()
    assert w.sum() == pytest.approx(1, abs=1e-12)
    assert value == pytest.approx(w @ gram @ w, rel=1e-9, abs=1e-12 * np.trace(gram))
    assert value <= best_on_simplex(gram) + 1e-9 * np.trace(gram)


@pytest.mark.parametrize(
    ("gram", "expected"),
    [
        (np.diag([1.0, 1.0]), [0.5, 0.5]),
        (np.diag([1.0, 3.0]), [0.75, 0.25]),
        (np.array([[1.0, 2.0], [2.0, 9.0]]), [1.0, 0.0]),  # the second would need a negative weight
        (np.array([[4.0]]), [1.0]),
        (np.diag([0.0, 5.0]), [1.0, 0.0]),  # a bone without error takes all
    ],
)
def test_simplex_by_hand(gram, expected):
    w, value = solve_on_simplex(gram)
    np.testing.assert_allclose(w, expected, atol=1e-9)
    assert value == pytest.approx(np.array(expected) @ gram @ np.array(expected), abs=1e-9)


@pytest.mark.parametrize("gram", [np.zeros((3, 3)), np.ones((4, 4)), 1e-30 * np.ones((2, 2)), np.full((2, 2), 1e30)])
def test_bones_that_are_all_alike(gram):
    w, value = solve_on_simplex(gram)
    assert np.isfinite(w).all()
    assert w.sum() == pytest.approx(1)
    assert value == pytest.approx(gram[0, 0])


def test_nothing_to_gain():
    assert solve_nonnegative(np.eye(3), -np.ones(3)).tolist() == [0, 0, 0]
    assert solve_nonnegative(np.eye(2), np.zeros(2)).tolist() == [0, 0]
