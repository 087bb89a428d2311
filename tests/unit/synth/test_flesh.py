from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.normals import vertex_normals
from osteon.synth.flesh import (
    bind_bones,
    blend_bones,
    bulge_shapes,
    contractions,
    enclosed_volume,
    hold_volume,
    squash_trunk,
    swing_behind,
)
from osteon.synth.gait import GaitVariation, Pose, gallop
from osteon.synth.shapes import make_sphere, make_tube


def test_heat_weights_sum_to_one_and_follow_the_nearest_bone() -> None:
    tube = make_tube(16, 40, 0.1, 2.0)
    heads, tails = np.array([[0.0, 0, 0], [1.0, 0, 0]]), np.array([[1.0, 0, 0], [2.0, 0, 0]])
    weights = bind_bones(tube.vertices, tube.faces, heads, tails)
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert weights[tube.vertices[:, 0] < 0.3, 0].min() > 0.9
    assert weights[tube.vertices[:, 0] > 1.7, 1].min() > 0.9


def test_common_rigid_motion_moves_rigidly() -> None:
    points = make_sphere(1).vertices
    weights = np.random.default_rng(0).dirichlet(np.ones(3), len(points))
    rest_heads = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0]])
    turn = Rotation.from_rotvec([[0.3, -1.2, 0.5]]).as_matrix()[0]
    heads = rest_heads @ turn.T + (1, 2, 3)
    moved = blend_bones(points[None], weights, np.tile(turn, (1, 3, 1, 1)), heads[None], rest_heads)
    np.testing.assert_allclose(moved[0], points @ turn.T + (1, 2, 3), atol=1e-12)


def test_blend_of_half_a_turn_keeps_the_radius() -> None:
    """Where linear blending would collapse (0 and 160 degrees in equal parts), dual quaternions turn by 80 degrees."""
    turns = Rotation.from_rotvec([[0, 0, 0], [np.radians(160), 0, 0]]).as_matrix()
    moved = blend_bones(
        np.array([[[0.0, 1, 0]]]), np.array([[0.5, 0.5]]), turns[None], np.zeros((1, 2, 3)), np.zeros((2, 3))
    )
    np.testing.assert_allclose(moved[0, 0], [0, np.cos(np.radians(80)), np.sin(np.radians(80))], atol=1e-12)


def test_swing_solves_the_spring_equation() -> None:
    n, frequency, damping = 64, 3.0, 0.3
    t = np.arange(n) / n
    drive = np.cos(2 * np.pi * t) + 0.3 * np.sin(4 * np.pi * t)
    frames = np.zeros((n, 1, 3))
    frames[:, 0, 1] = drive
    u = swing_behind(frames, np.ones(1), frequency, damping)[:, 0, 1]

    def derivative(signal: np.ndarray, order: int) -> np.ndarray:
        k = 2j * np.pi * np.fft.fftfreq(n, 1 / n)
        return np.real(np.fft.ifft(k**order * np.fft.fft(signal)))

    w = 2 * np.pi * frequency
    left = derivative(u, 2) + 2 * damping * w * derivative(u, 1) + w**2 * u
    np.testing.assert_allclose(left, -derivative(drive, 2), atol=1e-9)


def test_firm_flesh_and_steady_motion_do_not_swing() -> None:
    frames = np.random.default_rng(1).normal(size=(8, 5, 3))
    assert not swing_behind(frames, np.zeros(5), 3, 0.2).any()
    still = np.broadcast_to(frames[0], (8, 5, 3))
    np.testing.assert_allclose(swing_behind(still, np.ones(5), 3, 0.2), 0, atol=1e-12)


def test_volume_is_held() -> None:
    ball = make_sphere(3, 1.0)
    goal = enclosed_volume(ball.vertices, ball.faces)
    shrunk = 0.97 * ball.vertices[None]
    held = hold_volume(shrunk, ball.faces, np.ones(len(ball.vertices)), goal)
    assert abs(enclosed_volume(held[0], ball.faces) / goal - 1) < 0.005
    assert abs(enclosed_volume(shrunk[0], ball.faces) / goal - 1) > 0.05


def test_normals_of_a_sphere_point_outward() -> None:
    ball = make_sphere(3, 2.0)
    np.testing.assert_allclose(vertex_normals(ball.vertices, ball.faces), ball.vertices / 2, atol=0.02)


def test_muscles_rest_when_joints_rest_and_mirror_each_other() -> None:
    points = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    shapes = bulge_shapes(points)
    half = len(shapes) // 2
    np.testing.assert_allclose(bulge_shapes(points * (-1, 1, 1))[half:], shapes[:half], atol=1e-12)
    rest = Pose({b: np.eye(3)[None] for b in gallop(np.zeros(1), GaitVariation.from_seed(0)).rotations}, {})
    assert not contractions(rest).any()
    moving = contractions(gallop(np.arange(8) / 8, GaitVariation.from_seed(0)))
    assert moving.std(axis=0).min() > 0  # every muscle works


def test_squash_keeps_cross_sections() -> None:
    square = np.array([[-1.0, 0.7, 0], [1, 0.7, 0], [1, 0.9, 0], [-1, 0.9, 0]])
    height = 0.1 * np.cos(2 * np.pi * np.arange(16) / 16)
    moved = square + squash_trunk(square, np.ones(4), height, 0.2)
    size = (moved[:, 1, 0] - moved[:, 0, 0]) * (moved[:, 2, 1] - moved[:, 1, 1])
    np.testing.assert_allclose(size, 0.4)
    assert moved[8, 2, 1] - moved[8, 1, 1] < 0.2 < moved[0, 2, 1] - moved[0, 1, 1]  # flat when lowest, tall in flight
