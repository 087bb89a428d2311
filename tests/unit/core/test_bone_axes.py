"""Axes along which bones stretch: found again, best of all, and none where nothing stretches."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from osteon.core.animation import bone_type_of
from osteon.core.bone_axes import axes_of_bones, off_axes

from ...scaled_models import split_along_axes
from ...tolerance import assert_near


def scaled_bones(n_frames: int = 7, n_bones: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Linear parts (f,b,3,3), their axes (b,3,3) and scales (f,b,3)."""
    rng = np.random.default_rng(seed)
    axes = Rotation.random(n_bones, random_state=seed).as_matrix()
    turns = Rotation.random(n_frames * n_bones, random_state=seed + 1).as_matrix().reshape(n_frames, n_bones, 3, 3)
    scales = rng.uniform(0.5, 2, (n_frames, n_bones, 3))
    return turns @ (scales[..., None] * axes), axes, scales


def test_axes_are_found_again_up_to_order_and_sign():
    linear, axes, scales = scaled_bones()
    found = axes_of_bones(linear)
    match = np.abs(np.einsum("bki,bli->bkl", found, axes))
    assert_near(np.sort(match, axis=2)[..., -1], np.ones((5, 3)), 1e-12)
    turns, along = split_along_axes(linear, found)
    assert_near(turns @ (along[..., None] * found), linear, 1e-12)
    assert_near(np.sort(along, axis=2), np.sort(scales, axis=2), 1e-12)
    assert off_axes(linear) < 1e-13


def test_axes_are_right_handed_and_named_by_the_nearest_coordinate():
    linear, *_ = scaled_bones()
    found = axes_of_bones(linear)
    assert_near(np.linalg.det(found), np.ones(5), 1e-12)
    small = Rotation.from_rotvec([0.1, -0.2, 0.1]).as_matrix()
    near = axes_of_bones(np.eye(3) * [[[[1.0]]], [[[1.0]]]] @ (np.array([[[2.0], [1.5], [0.5]]]) * small))
    assert_near(near[0], small, 1e-12)


def test_a_bone_that_never_stretches_has_the_axes_of_the_rest_pose():
    turns = Rotation.random(8, random_state=0).as_matrix().reshape(4, 2, 3, 3)
    assert_near(axes_of_bones(turns), np.broadcast_to(np.eye(3), (2, 3, 3)), 0)
    assert_near(axes_of_bones(0.01 * turns), np.broadcast_to(np.eye(3), (2, 3, 3)), 0)


def test_no_other_axes_leave_less_off_the_diagonal():
    rng = np.random.default_rng(3)
    linear = scaled_bones(6, 1)[0] + 0.1 * rng.normal(size=(6, 1, 3, 3))
    squares = np.swapaxes(linear, -1, -2) @ linear

    def left(axes: np.ndarray) -> float:
        turned = axes @ squares[:, 0] @ axes.T
        return float((turned**2).sum() - (np.einsum("fii->fi", turned) ** 2).sum())

    best = left(axes_of_bones(linear)[0])
    starts = Rotation.random(20, random_state=5)
    others = [minimize(lambda v, s=s: left((s * Rotation.from_rotvec(v)).as_matrix()), np.zeros(3)).fun for s in starts]
    assert best <= min(others) * (1 + 1e-6)


@pytest.mark.parametrize("unit", [1.0, 100.0, 0.01])
def test_one_rule_says_what_a_bone_needs(unit):
    linear, *_ = scaled_bones()
    shear = linear @ (np.eye(3) + 0.05 * np.random.default_rng(0).normal(size=linear.shape))
    mirrored = linear * np.array([1.0, 1, -1])
    turns = Rotation.random(35, random_state=0).as_matrix().reshape(7, 5, 3, 3)
    for expected, given in (("rigid", turns), ("scaled", linear), ("flexible", shear), ("flexible", mirrored)):
        transforms = np.concatenate([unit * given, np.ones((*given.shape[:2], 3, 1))], axis=3)
        assert bone_type_of(transforms.astype(np.float32)) == expected


def test_a_scale_of_a_thousandth_has_an_axis():
    """NO_STRETCH is rounding: a small scale is not."""
    axes = Rotation.from_euler("xyz", [0.3, -0.2, 0.4]).as_matrix()
    scales = np.array([[1.0, 1.0, 1.0], [1.001, 1.0, 0.999]])
    linear = np.stack([(axes.T * s) @ axes for s in scales])[:, None]
    match = np.abs(axes_of_bones(linear)[0] @ axes.T)
    assert_near(np.sort(match, axis=1)[:, -1], np.ones(3), 1e-9)
