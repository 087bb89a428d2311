"""The bounded inverse of a blend: exact where it is thick, bounded where it is flat."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.apply.edit.pull_back import DAMPING, TIMES, bounded_inverse, pull_back


def test_it_inverts_what_is_not_flat() -> None:
    rng = np.random.default_rng(0)
    turns = Rotation.random(40, random_state=1).as_matrix() @ (np.eye(3) * rng.uniform(0.1, 3.0, (40, 1, 3)))
    assert np.abs(bounded_inverse(turns) @ turns - np.eye(3)).max() <= 1e-5


@pytest.mark.parametrize("scale", [1.0, 0.01, 100.0])
def test_it_follows_the_scale_of_the_bones(scale: float) -> None:
    linear = np.diag([1.0, 0.5, 0.01])[None]
    assert bounded_inverse(scale * linear, scale) * scale == pytest.approx(bounded_inverse(linear))


def test_a_flat_blend_gives_a_bounded_displacement() -> None:
    for thickness in (0.0, 1e-9, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2):
        found = pull_back(np.diag([1.0, 1.0, thickness])[None], np.array([[0.5, -1.0, 1.0]]))[0]
        assert found[:2] == pytest.approx([0.5, -1.0], abs=1e-6)
        assert abs(found[2]) <= 1.2 / np.sqrt(DAMPING)
    assert abs(found[2] * 0.03 - 1) <= 2e-4  # the thickest of these is inverted


def test_it_is_tikhonovs_method_repeated() -> None:
    rng = np.random.default_rng(4)
    linear, wanted = rng.normal(size=(3, 3)) @ np.diag([1.0, 0.1, 0.01]), rng.normal(size=3)
    d = np.zeros(3)
    for _ in range(TIMES):
        d += np.linalg.solve(linear.T @ linear + DAMPING * np.eye(3), linear.T @ (wanted - linear @ d))
    assert pull_back(linear[None], wanted[None])[0] == pytest.approx(d)
