"""Joints of pairs: known ones are found again, hinges stay where sections meet, turns are what they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.transforms import compose, identity
from osteon.fit.skeleton.pair_joints import measure_pairs

from ....subjects import random_turns

JOINT = np.array([0.3, 0.1, -0.2])


def about(turns: np.ndarray, center: np.ndarray) -> np.ndarray:
    """(f,3,4) turns (f,3,3) about a point."""
    return np.concatenate([turns, (center - turns @ center)[..., None]], axis=2)


def two_blobs() -> tuple[np.ndarray, np.ndarray]:
    """Points left and right of the joint, with weights that meet there."""
    rng = np.random.default_rng(2)
    points = rng.uniform(-1, 1, (300, 3))
    right = np.clip(0.5 + 2 * (points[:, 0] - JOINT[0]), 0, 1)
    return points, np.stack([1 - right, right], axis=1)


def test_a_ball_joint_is_found_wherever_the_body_goes() -> None:
    rng = np.random.default_rng(1)
    points, weights = two_blobs()
    body = about(random_turns(rng, 20, 1, 1.0)[:, 0], rng.normal(size=3))
    arm = compose(body, about(random_turns(rng, 20, 1, 1.2)[:, 0], JOINT))
    pairs = measure_pairs(points, np.stack([body, arm], axis=1), weights)
    assert pairs.pairs.tolist() == [[0, 1]]
    assert np.linalg.norm(pairs.places[0] - JOINT) < 0.02
    assert pairs.residuals[0] < 0.02
    assert pairs.gaps[0] == 0


def test_a_hinge_stays_where_its_sections_meet() -> None:
    points, weights = two_blobs()
    angles = np.linspace(0, 1.5, 12)
    arm = about(Rotation.from_rotvec(angles[:, None] * [0, 0, 1]).as_matrix(), JOINT)
    pairs = measure_pairs(points, np.stack([identity(12), arm], axis=1), weights)
    assert np.linalg.norm((pairs.places[0] - JOINT)[:2]) < 0.01  # on the axis
    assert pairs.places[0, 2] == pytest.approx(pairs.boundaries[0, 2], abs=1e-9)  # along it nothing else is known
    assert pairs.angles[0] == pytest.approx(np.degrees(1.5), abs=0.1)
    assert pairs.swings[0] <= pairs.angles[0] + 1e-6


def test_a_turn_about_the_line_of_its_vertices_is_no_swing() -> None:
    line = np.stack([np.linspace(0, 1, 40), np.zeros(40), np.zeros(40)], axis=1)
    weights = np.stack([np.linspace(1, 0, 40), np.linspace(0, 1, 40)], axis=1)
    twist = about(Rotation.from_rotvec(np.linspace(0, 2, 9)[:, None] * [1, 0, 0]).as_matrix(), np.zeros(3))
    pairs = measure_pairs(line, np.stack([identity(9), twist], axis=1), weights)
    assert pairs.angles[0] > 100
    assert pairs.swings[0] < 1e-3


def test_parts_that_share_no_vertex_meet_between_them() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [3, 0, 0], [4, 0, 0]])
    weights = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    pairs = measure_pairs(points, identity(5, 2), weights)
    assert pairs.boundaries[0].tolist() == [2, 0, 0]
    assert pairs.gaps[0] == 2
    assert not len(measure_pairs(points, identity(5, 2), weights, distant=False).pairs)
