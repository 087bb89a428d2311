"""FLIP agrees with the program of its authors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from osteon.core.errors import GeometryError
from osteon.measure.flip import SeenPicture, flip_between, linear_from_srgb, srgb_from_linear

flip_evaluator = pytest.importorskip("flip_evaluator")


def pictures(blur: float, contrast: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(int(10 * blur))
    first = gaussian_filter(rng.random((60, 90, 3)), (blur, blur, 0))
    other = first + contrast * gaussian_filter(rng.normal(size=(60, 90, 3)), (blur, blur, 0))
    return tuple(((p - p.min()) / np.ptp(p)).astype(np.float32) for p in (first, other))


@pytest.mark.parametrize(("blur", "contrast"), [(0, 0.5), (1, 0.1), (4, 0.3), (9, 1.0)])
def test_agrees(blur, contrast):
    first, other = pictures(blur, contrast)
    wanted = flip_evaluator.evaluate(first, other, "LDR", applyMagma=False, computeMeanError=False)[0].reshape(60, 90)
    found = flip_between(SeenPicture.of(first), SeenPicture.of(other))
    np.testing.assert_allclose(found, wanted, atol=2e-4)


def test_equal_pictures_differ_by_nothing():
    seen = SeenPicture.of(pictures(1, 0.1)[0])
    np.testing.assert_array_equal(flip_between(seen, seen), 0)


def test_black_and_white_differ_most():
    black, white = (SeenPicture.of(np.full((30, 30, 3), value, np.float32)) for value in (0, 1))
    assert 0.9 < flip_between(black, white).min() <= flip_between(black, white).max() <= 1


def test_light_and_back():
    values = np.linspace(0, 1, 101, dtype=np.float32)
    np.testing.assert_allclose(srgb_from_linear(linear_from_srgb(values)), values, atol=1e-6)


def test_refuses_sizes():
    one, other = (SeenPicture.of(np.zeros((8, n, 3), np.float32)) for n in (8, 9))
    with pytest.raises(GeometryError, match="expected equal sizes"):
        flip_between(one, other)
