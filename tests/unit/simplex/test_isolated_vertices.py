"""Vertices that no triangle holds go along with their surroundings."""

from __future__ import annotations

import numpy as np

from osteon.core.transforms import apply, identity, rotation_from_axis_angle
from osteon.simplex.poser import NEIGHBORS, find_isolated_vertices

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(60, 3))
HELD = np.arange(40, dtype=np.int32)
GROUP = (POINTS[HELD, 0] > 0).astype(np.int32)


def test_finds_those_that_are_not_held() -> None:
    isolated = find_isolated_vertices(POINTS, HELD, GROUP)
    assert isolated.vertices.tolist() == list(range(40, 60))
    assert isolated.carriers.shape == (20, NEIGHBORS)
    assert np.allclose(isolated.weights.sum(axis=1), 1)
    assert (isolated.weights >= 0).all()
    assert (isolated.weights[:, -1] == 0).all()


def test_one_motion_of_all_is_that_motion() -> None:
    motion = np.concatenate([rotation_from_axis_angle(np.array([1.0, 2, 3]), 2.0), [[1.0], [2], [3]]], axis=1)
    isolated = find_isolated_vertices(POINTS, HELD, GROUP)
    placed = isolated.place(apply(motion, POINTS[HELD]), np.stack([motion, motion]))
    assert np.abs(placed - apply(motion, POINTS[40:])).max() < 1e-13


def test_a_vertex_on_another_goes_with_it() -> None:
    points = np.concatenate([POINTS[HELD], POINTS[[7]]])
    moved = POINTS[HELD] + RNG.normal(size=(40, 3))
    placed = find_isolated_vertices(points, HELD, GROUP).place(moved, identity(2))
    assert np.abs(placed[0] - moved[7]).max() < 1e-9


def test_few_or_none() -> None:
    none = find_isolated_vertices(POINTS, np.arange(60, dtype=np.int32), np.zeros(60, np.int32))
    assert none.place(POINTS, identity(1)).shape == (0, 3)
    one = find_isolated_vertices(POINTS[:3], np.array([1], np.int32), np.zeros(1, np.int32))
    assert np.allclose(one.place(POINTS[[1]] + 5, identity(1)), POINTS[[0, 2]] + 5)
    square = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 0]])
    even = find_isolated_vertices(square, np.arange(4, dtype=np.int32), np.zeros(4, np.int32))
    assert np.allclose(even.place(square[:4] + 1, identity(1)), 1)
