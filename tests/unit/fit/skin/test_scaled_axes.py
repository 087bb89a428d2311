"""Axes of one bone: a step finds axes that are far off, bones that never stretch keep theirs, and nothing rises."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.fit.skin.scaled_axes import AxisSearch

N_FRAMES = 12


def stretching_bone(seed: int, stretch: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Moments, cross moments with where points go, axes and linear parts of a bone that stretches along its axes."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(40, 3)) * (1.0, 0.6, 0.3)
    points -= points.mean(axis=0)
    axes = Rotation.from_rotvec(0.4 * rng.normal(size=3)).as_matrix()
    scales = 1 + stretch * rng.uniform(-1, 1, (N_FRAMES, 3))
    linear = Rotation.random(N_FRAMES, random_state=seed).as_matrix() @ (scales[..., None] * axes)
    moments = points.T @ points
    return moments, np.ascontiguousarray(np.einsum("fji,ik->kfj", linear, moments)), axes, linear


def fit_axes(seed: int, stretch: float, off: float, steps: int) -> tuple[float, np.ndarray, np.ndarray]:
    """How far linear parts are off after some steps from axes turned by `off` radians; start and end of the axes."""
    moments, cross, axes, linear = stretching_bone(seed, stretch)
    start = Rotation.from_rotvec(off * np.array([0.6, -0.5, 0.62])).as_matrix() @ axes
    found, turns, scales = start, np.broadcast_to(np.eye(3), (N_FRAMES, 3, 3)).copy(), np.ones((N_FRAMES, 3))
    for _ in range(steps):
        found, turns, scales = AxisSearch().rotate_axes(cross, moments, found, turns, scales, 0.0)
    return float(np.abs((turns * scales[:, None, :]) @ found - linear).max()), start, found


@pytest.mark.parametrize("seed", range(4))
def test_axes_are_found_again(seed):
    assert fit_axes(seed, 0.3, 0.4, 40)[0] < 1e-9


def test_bones_that_never_stretch_keep_their_axes():
    off, start, found = fit_axes(0, 0.0, 0.4, 5)
    assert off < 1e-12
    assert np.array_equal(start, found)


@pytest.mark.parametrize("strength", [0.0, 0.5, 20.0, 100.0])  # of moments of about 40
def test_the_sum_never_rises(strength):
    moments, cross, axes, _ = stretching_bone(1, 0.4)
    rng = np.random.default_rng(1)
    cross = cross + (0.5 + 0.1 * strength) * rng.normal(size=cross.shape)
    turns, scales, sums = np.broadcast_to(np.eye(3), (N_FRAMES, 3, 3)).copy(), np.ones((N_FRAMES, 3)), []
    for _ in range(12):
        axes, turns, scales = AxisSearch().rotate_axes(cross, moments, axes, turns, scales, strength)
        linear = (turns * scales[:, None, :]) @ axes
        fit = np.einsum("fji,ik,fjk->", linear, moments, linear) - 2 * np.einsum("fji,ifj->", linear, cross)
        sums.append(fit + strength * ((scales - 1) ** 2).sum())
    assert all(after <= before + 1e-9 * abs(before) for before, after in pairwise(sums))
