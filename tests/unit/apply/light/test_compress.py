"""Compressed transfer: the best approximation of its rank, exact at full rank, interpolated between frames."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.apply.light.compress import between, compress_transfer
from osteon.core.errors import GeometryError

FRAMES = np.random.default_rng(0).normal(size=(7, 40, 9)).astype(np.float32)
HALF = 2e-3  # what half precision leaves


def test_errors_are_those_of_the_truncated_decomposition():
    found = compress_transfer(FRAMES, 4)
    rows = FRAMES.reshape(7, -1).astype(float)
    values = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    expected = [np.linalg.norm(values[rank:]) / np.linalg.norm(rows) for rank in range(5)]
    np.testing.assert_allclose(found.errors, expected, rtol=1e-3)
    for rank in range(5):
        played = np.stack([found.at(f, rank) for f in range(7)])
        apart = np.linalg.norm(played - FRAMES) / np.linalg.norm(FRAMES)
        assert apart == pytest.approx(expected[rank], rel=1e-2)


def test_full_rank_is_exact_and_more_columns_are_not_made():
    found = compress_transfer(FRAMES, 20)
    assert found.rank == 6  # seven frames around their mean
    np.testing.assert_allclose(np.stack([found.at(f) for f in range(7)]), FRAMES, atol=5 * HALF)
    assert found.errors[-1] < 1e-3


def test_columns_have_a_fixed_scale_and_sign():
    found = compress_transfer(FRAMES, 6)
    sizes = np.sqrt((found.basis.astype(float) ** 2).mean(axis=(1, 2)))
    np.testing.assert_allclose(sizes, 1, atol=HALF)
    largest = np.abs(found.coefficients).argmax(axis=0)
    assert (found.coefficients[largest, np.arange(6)] > 0).all()
    again = compress_transfer(FRAMES, 2)
    np.testing.assert_array_equal(again.basis, found.truncate(2).basis)
    assert again.errors == pytest.approx(found.errors[:3])


def test_frames_that_do_not_change_need_no_column():
    found = compress_transfer(np.repeat(FRAMES[:1], 5, axis=0), 3)
    assert found.errors[0] < 1e-3
    np.testing.assert_allclose(found.at(2), FRAMES[0], atol=HALF)
    single = compress_transfer(FRAMES[:1], 3)
    np.testing.assert_allclose(single.at(0), FRAMES[0], atol=HALF)


def test_moments_between_frames_are_halfway_and_clamped():
    found = compress_transfer(FRAMES, 6)
    np.testing.assert_allclose(found.at(2.5), (found.at(2) + found.at(3)) / 2, atol=1e-6)
    np.testing.assert_allclose(between(np.array([[1.0], [3.0]]), -4), [1])
    np.testing.assert_allclose(between(np.array([[1.0], [3.0]]), 9), [3])
    np.testing.assert_allclose(between(np.array([[1.0], [3.0]]), 0.25), [1.5])


def test_errors_and_shapes_must_fit():
    found = compress_transfer(FRAMES, 2)
    with pytest.raises(GeometryError, match="errors"):
        type(found)(found.mean, found.basis, found.coefficients, (0.1,))
    with pytest.raises(GeometryError, match="basis"):
        type(found)(found.mean[:3], found.basis, found.coefficients, found.errors)
