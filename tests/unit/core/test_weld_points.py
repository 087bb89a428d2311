"""Points in one place are found."""

from __future__ import annotations

import numpy as np

from osteon.core.topology import weld_points


def test_the_first_of_equal_points_stands_for_all() -> None:
    points = np.array([[1.0, 2, 3], [0, 0, 0], [1, 2, 3], [-0.0, 0, 0], [1, 2, 4]])
    unique, which = weld_points(points)
    assert unique.tolist() == [0, 1, 4]
    assert which.tolist() == [0, 1, 0, 1, 2]


def test_every_point_finds_itself() -> None:
    points = np.random.default_rng(0).integers(0, 4, (200, 3)).astype(float)
    unique, which = weld_points(points)
    assert np.array_equal(points[unique][which], points)
    assert len(np.unique(points, axis=0)) == len(unique)
    assert (np.diff(unique) > 0).all()


def test_none() -> None:
    assert [len(found) for found in weld_points(np.zeros((0, 3)))] == [0, 0]
