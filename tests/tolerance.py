"""How close is close. Lengths are compared as fractions of the bounding-box diagonal, in one place."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

#: What one rounding to float32 leaves of a coordinate, with room for a few operations.
ROUNDED = 1e-6
#: A known model is found again: no vertex is farther from its source than this.
RECOVERED = 1e-4


def diagonal(points: ArrayLike) -> float:
    """Length of the bounding-box diagonal of points (…,3)."""
    flat = np.asarray(points, np.float64).reshape(-1, 3)
    return float(np.linalg.norm(np.ptp(flat, axis=0)))


def worst_distance(points: ArrayLike, expected: ArrayLike) -> float:
    """Largest distance between corresponding points (…,3), as a fraction of the diagonal of `expected`."""
    apart = np.linalg.norm(np.asarray(points, np.float64) - np.asarray(expected, np.float64), axis=-1)
    return float(apart.max()) / diagonal(expected)


def assert_same_points(points: ArrayLike, expected: ArrayLike, tolerance: float = ROUNDED) -> None:
    """No point (…,3) is farther from the expected one than `tolerance` of the diagonal."""
    assert np.shape(points) == np.shape(expected)
    assert worst_distance(points, expected) <= tolerance


def assert_near(values: ArrayLike, expected: ArrayLike, tolerance: float = 1e-9) -> None:
    """No number differs by more than `tolerance` of the largest expected one (or of 1 where all are smaller)."""
    got, wanted = np.asarray(values, np.float64), np.asarray(expected, np.float64)
    assert got.shape == wanted.shape
    size = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * size)
