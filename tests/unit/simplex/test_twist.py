"""Twist axes: section 7.2."""

from __future__ import annotations

import numpy as np

from osteon.core.transforms import apply, identity
from osteon.simplex.groups import twist_transforms

AXIS = np.array([[[1.0, 0, 0], [1, 0, 2]]])


def test_twist_grows_along_the_axis() -> None:
    point = np.array([[2.0, 0, 0.7]])
    for along, angle in ((0.0, 0.0), (0.5, np.pi / 4), (1.0, np.pi / 2)):
        moved = apply(twist_transforms(identity(1), AXIS, np.array([[0, np.pi / 2]]), np.array([along])), point[None])
        assert np.allclose(moved, [1 + np.cos(angle), np.sin(angle), 0.7], atol=1e-14)


def test_the_axis_stays() -> None:
    moved = apply(twist_transforms(identity(1), AXIS, np.array([[0.3, 2.0]]), np.array([0.4])), AXIS)
    assert np.allclose(moved, AXIS, atol=1e-14)


def test_equal_angles_turn_all_alike() -> None:
    turned = twist_transforms(identity(3), np.repeat(AXIS, 3, axis=0), np.full((3, 2), 0.8), np.array([0, 0.3, 1]))
    assert np.allclose(turned, turned[0], atol=1e-14)


def test_comes_after_the_bone_transform() -> None:
    first = np.array([[[2.0, 0, 0, 0], [0, 1, 0, 5], [0, 0, 1, 0]]])
    twisted = twist_transforms(first, AXIS, np.array([[1.0, 1]]), np.array([0.0]))
    alone = twist_transforms(identity(1), AXIS, np.array([[1.0, 1]]), np.array([0.0]))
    point = np.array([[[0.1, 0.2, 0.3]]])
    assert np.allclose(apply(twisted, point), apply(alone, apply(first, point)), atol=1e-14)
