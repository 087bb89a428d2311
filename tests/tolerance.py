"""How close is close. Lengths are compared as fractions of the bounding-box diagonal, in one place."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_frames

#: What one rounding to float32 leaves of a coordinate, with room for a few operations.
ROUNDED = 1e-6
#: A known model is found again: no vertex is farther from its source than this.
RECOVERED = 1e-4


def diagonal(points: ArrayLike) -> float:
    """Length of the bounding-box diagonal of points (v,3), or of the first frame of (f,v,3)."""
    array = np.asarray(points, np.float64)
    return float(np.linalg.norm(np.ptp(array if array.ndim == 2 else array[0], axis=0)))


def worst_distance(points: ArrayLike, expected: ArrayLike) -> float:
    """Largest distance between corresponding points (v,3) or (f,v,3), as a fraction of the diagonal of `expected`."""
    apart = np.linalg.norm(np.asarray(points, np.float64) - np.asarray(expected, np.float64), axis=-1)
    return float(apart.max()) / diagonal(expected)


def assert_same_points(points: ArrayLike, expected: ArrayLike, tolerance: float = ROUNDED) -> None:
    """No point (v,3) or (f,v,3) is farther from the expected one than `tolerance` of the diagonal."""
    assert np.shape(points) == np.shape(expected), f"{np.shape(points)} instead of {np.shape(expected)}"
    worst = worst_distance(points, expected)
    assert worst <= tolerance, f"{worst:.2e} of the diagonal apart, allowed {tolerance:.0e}"


def assert_plays(model: SkinnedModel, sequence: MeshSequence, tolerance: float = RECOVERED) -> None:
    """The model plays the sequence: no vertex of any frame is off by more than `tolerance` of the rest's diagonal."""
    apart = np.linalg.norm(pose_frames(model).astype(np.float64) - sequence.frames, axis=2)
    worst = float(apart.max()) / sequence.diagonal
    assert worst <= tolerance, f"{worst:.2e} of the diagonal apart, allowed {tolerance:.0e}"


def assert_near(values: ArrayLike, expected: ArrayLike, tolerance: float = 1e-9) -> None:
    """No number differs by more than `tolerance` of the largest expected one (or of 1 where all are smaller)."""
    got, wanted = np.asarray(values, np.float64), np.asarray(expected, np.float64)
    assert got.shape == wanted.shape, f"{got.shape} instead of {wanted.shape}"
    size = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * size)
