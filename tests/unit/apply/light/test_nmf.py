"""Non-negative factors: never negative, never worse, exact on exact products, as scikit-learn's, progressive."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from osteon.apply.light.nmf import (
    best_errors,
    factor_nonnegative,
    first_factors,
    fit_weights_to_rows,
    progressive_factors,
    relative_error,
    sort_rows,
    update_factors,
)
from osteon.core.errors import GeometryError

RNG = np.random.default_rng(1)
MATRIX = RNG.random((14, 4)) @ RNG.random((4, 300)) + 0.1 * RNG.random((14, 300))


def test_every_round_lowers_the_error_and_nothing_is_negative():
    weights, rows = first_factors(MATRIX, 5)
    last = relative_error(MATRIX, weights, rows)
    for _ in range(30):
        update_factors(MATRIX, weights, rows)
        error = relative_error(MATRIX, weights, rows)
        assert error <= last + 1e-12
        last = error
    assert min(weights.min(), rows.min()) >= 0
    assert last == pytest.approx(np.linalg.norm(MATRIX - weights @ rows) / np.linalg.norm(MATRIX), rel=1e-9)


def test_a_product_of_nonnegative_factors_is_found():
    exact = RNG.random((9, 2)) @ RNG.random((2, 80))
    assert factor_nonnegative(exact, 2, rounds=2000, enough=0).error(exact) < 1e-4


def test_it_is_close_to_the_best_of_any_sign():
    values = np.linalg.svd(MATRIX, compute_uv=False)
    best = np.linalg.norm(values[4:]) / np.linalg.norm(values)
    assert best <= factor_nonnegative(MATRIX, 4).error(MATRIX) < 1.2 * best


def test_it_agrees_with_scikit_learn():
    decomposition = pytest.importorskip("sklearn.decomposition")
    weights, rows = first_factors(MATRIX, 4)
    peer = decomposition.NMF(4, init="custom", solver="cd", max_iter=20, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = peer.fit_transform(MATRIX, W=weights.copy(), H=rows.copy())
    for _ in range(20):
        update_factors(MATRIX, weights, rows)
    np.testing.assert_allclose(weights, theirs, atol=1e-9)
    np.testing.assert_allclose(rows, peer.components_, atol=1e-9)


def test_sorted_rows_are_progressive():
    factors = factor_nonnegative(MATRIX, 5)
    ladder = sort_rows(MATRIX, factors)
    assert (np.diff(ladder.errors) < 0).all()
    assert ladder.errors[-1] == pytest.approx(factors.error(MATRIX), rel=1e-6)
    for count, (weights, error) in enumerate(zip(ladder.weights, ladder.errors, strict=True), 1):
        assert (weights[:, count:] == 0).all()
        assert weights.min() >= 0
        assert error == pytest.approx(relative_error(MATRIX, weights, ladder.rows), abs=1e-7)


def test_the_first_rows_of_progressive_factors_are_good_factors_themselves():
    ladder, best = progressive_factors(MATRIX, 5), best_errors(MATRIX, 5)
    own = np.array([factor_nonnegative(MATRIX, k).error(MATRIX) for k in range(1, 6)])
    only_sorted = np.array(sort_rows(MATRIX, factor_nonnegative(MATRIX, 5)).errors)
    errors = np.array(ladder.errors)
    assert (best <= errors + 1e-12).all()
    assert (errors < 1.4 * own).all()
    assert errors[-1] < 1.05 * own[-1]
    assert errors[1] < 0.8 * only_sorted[1]
    assert min(ladder.rows.min(), ladder.weights.min()) >= 0
    for count, (weights, error) in enumerate(zip(ladder.weights, errors, strict=True), 1):
        assert (weights[:, count:] == 0).all()
        left = MATRIX - weights[:, :count] @ ladder.rows[:count]
        assert error == pytest.approx(np.linalg.norm(left) / np.linalg.norm(MATRIX), abs=1e-9)


def test_best_errors_are_those_of_the_singular_values():
    values = np.linalg.svd(MATRIX, compute_uv=False)
    expected = [np.linalg.norm(values[k:]) / np.linalg.norm(values) for k in range(1, 5)]
    np.testing.assert_allclose(best_errors(MATRIX, 4), expected, rtol=1e-9)


def test_progressive_factors_of_black_and_of_exact_products():
    assert not np.isnan(progressive_factors(np.zeros((3, 8)), 2).rows).any()
    exact = RNG.random((9, 2)) @ RNG.random((2, 80))
    assert progressive_factors(exact, 3).errors[-1] < 2e-3


def test_weights_of_fixed_rows_are_the_best_nonnegative_ones():
    from scipy.optimize import nnls

    rows = RNG.random((4, 60))
    matrix = RNG.random((6, 60))
    found = fit_weights_to_rows(rows @ matrix.T, rows @ rows.T)
    expected = np.stack([nnls(rows.T, row)[0] for row in matrix])
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_rank_beyond_the_frames_is_cut_and_bad_colours_are_refused():
    assert factor_nonnegative(MATRIX[:3], 9).weights.shape == (3, 3)
    for bad in (np.nan, -1.0, np.inf):
        broken = MATRIX.copy()
        broken[2, 3] = bad
        with pytest.raises(GeometryError, match="non-negative"):
            factor_nonnegative(broken, 2)
