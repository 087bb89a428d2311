"""Transfer of one frame: exact where nothing blocks, shadows, bounces, and independence of frames and units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.apply.light.environment import seen_environment
from osteon.apply.light.harmonics import cosine_transfer, rotate_sh, sh_basis, spiral_directions
from osteon.apply.light.model_light import Y00
from osteon.apply.light.options import LightOptions
from osteon.apply.light.scene import OFFSET, Ground, LitScene, ShadedPoints, grid_shares
from osteon.apply.light.transfer import frame_transfer
from osteon.synth.shapes import make_grid, make_sphere, make_torus
from tests.light_models import ball_above_ground, scene_of

OPTIONS = LightOptions(directions=512)


def test_a_convex_body_is_lit_as_if_nothing_blocked():
    ball = make_sphere(3, 2.0)
    found = frame_transfer(scene_of(ball.vertices, ball.faces), OPTIONS, "tree").transfer
    normals = scene_of(ball.vertices, ball.faces).shaded.normals
    np.testing.assert_allclose(found, cosine_transfer(normals, 4), atol=1e-12)


def test_half_a_sky_behind_a_wall():
    """At the foot of a wide wall a floor sees half of the sky."""
    wall = make_grid(2, 2, 200.0, 100.0).moved((-100.0, 0.0, 0.0))  # in the plane z = 0, above y = 0
    point = ShadedPoints(np.array([[0.0, 0.0, 0.01]]), np.array([[0.0, 1, 0]]), np.eye(3)[None])
    scene = LitScene(wall.vertices, wall.faces, point, np.zeros_like(wall.faces), 1.0)
    found = frame_transfer(scene, replace(OPTIONS, directions=4096), "tree").transfer[0]
    assert found[0] / Y00 == pytest.approx(0.5, abs=0.01)
    directions = spiral_directions(40000)
    seen = np.maximum(0, directions[:, 1]) * (directions[:, 2] > 0)
    np.testing.assert_allclose(found, seen @ sh_basis(directions, 4) * 4 / len(directions), atol=0.01)


def test_more_directions_come_closer():
    ring = make_torus(24, 10)
    scene = scene_of(ring.vertices, ring.faces)
    exact = frame_transfer(scene, replace(OPTIONS, directions=16384), "tree").transfer
    errors = [
        np.abs(frame_transfer(scene, replace(OPTIONS, directions=count), "tree").transfer - exact).mean()
        for count in (64, 1024)
    ]
    assert errors[1] < 0.3 * errors[0] < 0.03


def test_transfer_in_rotated_frames_is_the_same_light():
    ring, turn = make_torus(24, 10), Rotation.from_rotvec((0.3, -1.1, 0.6)).as_matrix()
    still = frame_transfer(scene_of(ring.vertices, ring.faces), replace(OPTIONS, directions=8192), "tree").transfer
    moved = frame_transfer(
        scene_of(ring.vertices, ring.faces, turn=turn), replace(OPTIONS, directions=8192), "tree"
    ).transfer
    np.testing.assert_allclose(rotate_sh(moved, turn), still, atol=0.012)


@pytest.mark.parametrize("bounces", [0, 1])
def test_a_scene_that_moves_as_a_whole_has_the_same_transfer_in_its_own_frames(bounces):
    ring, turn = make_torus(16, 8), Rotation.from_rotvec((0.3, -1.1, 0.6)).as_matrix()
    options = replace(OPTIONS, bounces=bounces, directions=256)
    still = frame_transfer(scene_of(ring.vertices, ring.faces), options, "tree").transfer
    there = 40 * ring.vertices @ turn.T + np.array([3.0, -2.0, 9.0])
    moved = frame_transfer(scene_of(there, ring.faces, turn=turn), options, "tree").transfer
    np.testing.assert_allclose(moved, still, atol=0.02)
    assert np.abs(moved - still).mean() < 1e-4  # but for rays that graze an edge


def test_the_ground_is_dark_under_a_ball_and_light_far_away():
    found = frame_transfer(ball_above_ground(), replace(OPTIONS, directions=2048), "tree")
    seen = found.ground[:, 0].reshape(9, 9) / Y00
    radius, height = 1.0, 1.1
    assert seen[4, 4] == pytest.approx(1 - (radius / height) ** 2, abs=0.02)  # a sphere straight above
    assert (np.diff(seen[4, 4:]) > 0).all()
    np.testing.assert_allclose(found.ground.reshape(9, 9, -1)[0], np.tile(cosine_transfer([0, 1.0, 0], 4), (9, 1)))


def test_a_plane_hides_the_lower_half_and_reflects_from_there():
    constant = np.zeros(25)
    constant[0] = np.sqrt(4 * np.pi)
    up = np.array([0.0, 1.0, 0.0])
    black, grey = (seen_environment(4, up, albedo) @ constant for albedo in (0.0, 0.6))
    upward, downward, side = (cosine_transfer(np.array(n, float), 4) for n in ([0, 1, 0], [0, -1, 0], [1, 0, 0]))
    assert upward @ black == pytest.approx(1, abs=1e-6)
    assert downward @ black == pytest.approx(0, abs=1e-6)
    assert side @ black == pytest.approx(0.5, abs=1e-6)
    assert downward @ grey == pytest.approx(0.6, abs=1e-6)
    assert upward @ grey == pytest.approx(1, abs=1e-6)
    np.testing.assert_array_equal(seen_environment(3, None), np.eye(9, 25))


def test_inside_a_closed_room_all_light_is_lost():
    ball = make_sphere(3, 1.0)
    scene = scene_of(ball.vertices, ball.faces[:, ::-1].copy())
    found = frame_transfer(scene, replace(OPTIONS, directions=4096), "tree").transfer
    assert np.abs(found).max() < 5e-3


def test_bounces_in_a_furnace_add_up():
    """In a valley of albedo 1 under constant light, everything is as bright as the light after many bounces."""
    sheet = make_grid(12, 12, 4.0, 4.0)
    vertices = sheet.vertices.copy()
    vertices[:, 2] = 0.8 * np.abs(vertices[:, 0] - 2)
    scene = scene_of(vertices, sheet.faces)
    dark = frame_transfer(scene, replace(OPTIONS, directions=1024), "tree").transfer[:, 0] / Y00
    options = replace(OPTIONS, directions=1024, bounces=8, albedo=1.0)
    light = frame_transfer(scene, options, "tree").transfer[:, 0] / Y00
    assert dark.min() < 0.85
    assert light.min() > 0.97
    assert light.max() < 1.02


def test_ground_and_body_light_each_other():
    options = (OPTIONS, replace(OPTIONS, bounces=2, albedo=0.9))
    one, two = (frame_transfer(ball_above_ground(1.6), each, "tree") for each in options)
    up = np.array([0.0, 1.0, 0.0])
    constant = np.zeros(25)
    constant[0] = np.sqrt(4 * np.pi)
    seen = seen_environment(4, up, 0.9) @ constant
    body = [found.transfer @ seen for found in (one, two)]
    lowest = ball_above_ground(1.6).vertices[:, 1].argmin()
    assert body[1][lowest] < body[0][lowest]  # the ball's shadow takes light away from under it
    ground = [found.ground @ constant[:16] for found in (one, two)]
    assert (ground[1] - ground[0]).reshape(9, 9)[4, 3] > 0.01  # the lit ball brightens the ground beside it
    assert np.abs(ground[1] - ground[0]).reshape(9, 9)[0].max() < 1e-9


def test_the_grid_lies_around_its_centre():
    ground = Ground(np.array([1.0, 2.0, 3.0]), np.eye(3), 2.0, 5)
    points = ground.points()
    np.testing.assert_allclose(points.reshape(5, 5, 3)[2, 2], ground.center)
    np.testing.assert_allclose(points[1] - points[0], [1, 0, 0])
    np.testing.assert_allclose(points[5] - points[0], [0, 1, 0])
    assert np.allclose(points[:, 2], 3.0)
    fade = ground.fade().reshape(5, 5)
    assert fade[2, 2] == 1
    assert (fade[0] == 0).all()


def test_bilinear_shares_reproduce_a_linear_field():
    places = np.array([[0.3, -0.7], [-1, -1], [1, 1], [0, 0.999]])
    points, shares = grid_shares(places, 6)
    grid = Ground(np.zeros(3), np.eye(3), 1.0, 6).points()
    np.testing.assert_allclose(np.einsum("nk,nki->ni", shares, grid[points])[:, :2], places, atol=1e-12)


def test_constants_of_the_scene():
    """Rays start a ten-thousandth of the diagonal above the surface; the grid fades in its outer fifth."""
    assert OFFSET == 1e-4
    fade = Ground(np.zeros(3), np.eye(3), 1.0, 101).fade().reshape(101, 101)[50]
    across = np.abs(np.linspace(-1, 1, 101))
    assert (fade[across <= 0.8 + 1e-9] == 1).all()
    np.testing.assert_allclose(fade[np.isclose(across, 0.9)], 0.5, atol=1e-9)
