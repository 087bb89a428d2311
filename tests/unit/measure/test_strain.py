from __future__ import annotations

import time

import numpy as np
import pytest

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import GeometryError
from osteon.core.transforms import identity, rotation_from_axis_angle
from osteon.measure.strain import TriangleDistortion, flipped, triangle_distortion
from osteon.synth.shapes import make_ball, make_grid, make_torus

RIGHT = np.array([[0.0, 0, 0], [2, 0, 0], [0, 1, 0]])
ONE = np.array([[0, 1, 2]], np.int32)
CUBE = np.array([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])


def cube_faces() -> Int32:
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int32)


def random_turn(rng: np.random.Generator) -> Float64:
    return rotation_from_axis_angle(rng.normal(size=3), rng.uniform(-3, 3))


def assert_zero(found: TriangleDistortion, bound: float = 1e-12) -> None:
    assert max(np.abs(values).max() for values in (found.area, found.angle, found.strain)) <= bound


@pytest.mark.parametrize("seed", range(5))
def test_rigid_motion_is_no_distortion(seed: int) -> None:
    rng, ball = np.random.default_rng(seed), make_ball(200)
    posed = ball.vertices @ random_turn(rng).T + rng.normal(size=3)
    assert_zero(triangle_distortion(ball.vertices, posed, ball.faces))
    assert not flipped(ball.vertices, posed, ball.faces).any()


@pytest.mark.parametrize("scale", [0.5, 1.5, 3.0])
def test_uniform_scale(scale: float) -> None:
    torus = make_torus(20, 12)
    found = triangle_distortion(torus.vertices, scale * torus.vertices, torus.faces)
    np.testing.assert_allclose(found.area, abs(scale**2 - 1), rtol=1e-12)
    np.testing.assert_allclose(found.angle, 0, atol=1e-12)
    np.testing.assert_allclose(found.strain, abs(scale**2 - 1) / np.sqrt(2), rtol=1e-11)


@pytest.mark.parametrize("shear", [-1.3, 0.2, 2.0])
def test_shear(shear: float) -> None:
    posed = RIGHT @ np.array([[1, shear, 0], [0, 1, 0], [0, 0, 1]]).T
    found = triangle_distortion(RIGHT, posed, ONE)
    np.testing.assert_allclose(found.area, 0, atol=1e-12)
    # E = [[0, s], [s, s^2]] / 2
    np.testing.assert_allclose(found.strain, np.sqrt(shear**2 / 2 + shear**4 / 4), rtol=1e-12)
    corner = np.arctan2(1, shear)
    other = np.arctan2(1, 2 - shear)  # at (2, 0)
    changes = [corner - np.pi / 2, other - np.arctan2(1, 2)]
    changes.append(-sum(changes))
    np.testing.assert_allclose(found.angle, np.abs(changes).sum(), rtol=1e-12)


def test_stretch_along_one_axis() -> None:
    found = triangle_distortion(RIGHT, RIGHT * (1.2, 1, 1), ONE)
    np.testing.assert_allclose(found.area, 0.2, rtol=1e-12)
    np.testing.assert_allclose(found.strain, (1.2**2 - 1) / 2, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_rotation_of_either_pose_changes_nothing(seed: int) -> None:
    rng, ball = np.random.default_rng(seed), make_ball(120)
    posed = ball.vertices + 0.1 * rng.normal(size=ball.vertices.shape)
    plain = triangle_distortion(ball.vertices, posed, ball.faces)
    moved = triangle_distortion(ball.vertices @ random_turn(rng), posed @ random_turn(rng) + 7, ball.faces)
    for name in ("area", "angle", "strain"):
        np.testing.assert_allclose(getattr(moved, name), getattr(plain, name), rtol=1e-8, atol=1e-10)


def test_corner_order_changes_nothing() -> None:
    posed = RIGHT + np.array([[0, 0, 0.3], [0.2, 0, 0], [0, -0.1, 0]])
    values = [triangle_distortion(RIGHT, posed, np.roll(ONE, k, axis=1)) for k in range(3)]
    np.testing.assert_allclose([v.strain for v in values], values[0].strain[0], rtol=1e-12)
    np.testing.assert_allclose([v.angle for v in values], values[0].angle[0], rtol=1e-12)


def test_triangles_without_area_are_finite() -> None:
    line = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
    point = np.zeros((3, 3))
    for start in (line, point):
        assert_zero(triangle_distortion(start, RIGHT, ONE), 0)
        assert not flipped(start, RIGHT, ONE).any()
    for end in (line, point):
        found = triangle_distortion(RIGHT, end, ONE)
        assert found.area[0] == 1
        assert np.isfinite([found.angle, found.strain]).all()
        assert found.strain[0] > 0
        assert not flipped(RIGHT, end, ONE).any()


def test_no_triangles() -> None:
    assert triangle_distortion(RIGHT, RIGHT, np.zeros((0, 3), np.int32)).strain.shape == (0,)
    assert flipped(RIGHT, RIGHT, np.zeros((0, 3), np.int32)).shape == (0,)
    assert flipped(CUBE, CUBE, np.zeros((0, 3), np.int32)).shape == (0,)


def test_flipped_in_the_plane() -> None:
    grid = make_grid(2, 2)
    posed = grid.vertices.copy()
    posed[4] += (0.8, 0.8, 0)  # beyond the far corner
    found = flipped(grid.vertices, posed, grid.faces)
    a, b, c = (posed[grid.faces[:, i], :2] for i in range(3))
    signed = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    np.testing.assert_array_equal(found, signed < 0)
    assert 0 < found.sum() < len(found)
    ideal = identity(len(grid.faces))
    np.testing.assert_array_equal(flipped(grid.vertices, posed, grid.faces, ideal), found)


def test_a_mirrored_ideal_is_followed() -> None:
    grid = make_grid(3, 2)
    mirror = identity(len(grid.faces))
    mirror[:, 0, 0] = -1
    posed = grid.vertices * (-1, 1, 1)
    assert flipped(grid.vertices, posed, grid.faces).all()
    assert not flipped(grid.vertices, posed, grid.faces, mirror).any()


def test_flipped_against_ideal_normals_of_any_transform() -> None:
    rng, ball = np.random.default_rng(3), make_ball(100)
    linear = random_turn(rng) @ np.diag([0.5, 1, 2])
    ideal = np.tile(np.c_[linear, [1, 2, 3]], (len(ball.faces), 1, 1))
    posed = ball.vertices @ linear.T + (1, 2, 3)
    assert not flipped(ball.vertices, posed, ball.faces, ideal).any()
    assert flipped(ball.vertices, posed, ball.faces[:, ::-1].copy(), ideal).sum() == 0
    assert flipped(ball.vertices @ np.diag([1, 1, -1]), posed, ball.faces, ideal).any()


def test_sharp_edges_at_rest_are_not_flipped() -> None:
    thin = CUBE * (1, 1, 0.01)  # dihedral angles of 90 degrees, two faces back to back
    turned = thin @ rotation_from_axis_angle(np.array([1.0, 2, 3]), 2.0).T
    assert not flipped(thin, turned, cube_faces()).any()


def test_a_vertex_pushed_through_flips_its_triangles() -> None:
    ball = make_ball(400)
    posed = ball.vertices @ rotation_from_axis_angle(np.array([1.0, 0, 2]), 1.1).T
    triangle = ball.faces[200]
    across = posed[triangle[1]] + posed[triangle[2]] - posed[triangle[0]]
    posed[triangle[0]] = across  # mirrored at the opposite edge
    found = flipped(ball.vertices, posed, ball.faces)
    assert found[200]
    assert found.sum() <= 3


def test_one_triangle_alone_is_not_flipped_in_3d() -> None:
    assert not flipped(RIGHT, RIGHT @ rotation_from_axis_angle(np.array([1.0, 0, 0]), 2.0).T, ONE).any()


def test_refuses() -> None:
    with pytest.raises(GeometryError, match="posed"):
        triangle_distortion(RIGHT, CUBE, ONE)
    with pytest.raises(GeometryError, match="not finite"):
        triangle_distortion(RIGHT, RIGHT * np.nan, ONE)
    with pytest.raises(GeometryError, match="ideal"):
        flipped(RIGHT, RIGHT, ONE, identity(2))
    with pytest.raises(GeometryError, match="faces"):
        triangle_distortion(RIGHT, RIGHT, ONE + 1)


def test_speed() -> None:
    ball = make_ball(20_000)
    start = time.perf_counter()
    triangle_distortion(ball.vertices, 1.1 * ball.vertices, ball.faces)
    assert time.perf_counter() - start < 2
