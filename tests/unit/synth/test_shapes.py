from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.synth.flesh import enclosed_volume
from osteon.synth.shapes import Shape, join_shapes, make_ball, make_grid, make_sphere, make_torus, make_tube

from .conftest import topology_of, triangle_areas

CLOSED = {
    "tube": (make_tube(48, 5, 0.5, 2.0), 2, np.pi * 0.25 * 2),
    "sphere": (make_sphere(4, 0.5), 2, np.pi / 6),
    "ball": (make_ball(2001, 0.5), 2, np.pi / 6),
    "torus": (make_torus(96, 48, 0.5, 0.2), 0, 2 * np.pi**2 * 0.5 * 0.04),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_shapes(name: str) -> None:
    shape, euler, volume = CLOSED[name]
    found = topology_of(len(shape.vertices), shape.faces)
    assert found.triangles_at_edge == {2}
    assert found.consistent
    assert found.fans
    assert found.n_shells == 1
    assert found.euler == euler
    assert enclosed_volume(shape.vertices, shape.faces) == pytest.approx(volume, rel=0.02)
    assert triangle_areas(shape.vertices, shape.faces).min() > 0


def test_grid_is_flat_and_faces_up_z() -> None:
    grid = make_grid(3, 2, 3.0, 2.0)
    assert len(grid.vertices) == 12
    assert len(grid.faces) == 12
    np.testing.assert_allclose(triangle_areas(grid.vertices, grid.faces), 0.5)
    a, b, c = (grid.vertices[grid.faces[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()


@pytest.mark.parametrize("n", [4, 5, 17, 600])
def test_ball_has_exactly_as_many_vertices(n: int) -> None:
    ball = make_ball(n)
    assert len(ball.vertices) == n
    assert np.array_equal(np.unique(ball.faces), np.arange(n))
    assert len(ball.faces) == 2 * n - 4


def test_sphere_starts_from_a_regular_icosahedron() -> None:
    solid = make_sphere(0, 1.0)
    areas = triangle_areas(solid.vertices, solid.faces)
    assert len(areas) == 20
    np.testing.assert_allclose(areas, areas[0])


def test_join_keeps_shells_apart() -> None:
    both = join_shapes([make_sphere(1), make_torus(8, 6).moved((3, 0, 0))])
    assert topology_of(len(both.vertices), both.faces).n_shells == 2


def test_moved_and_scaled() -> None:
    shape = Shape(np.array([[1.0, 1, 1]]), np.zeros((0, 3), np.int32))
    assert shape.moved((1, 0, 0)).scaled((1, 2, 3)).vertices.tolist() == [[2, 2, 3]]


@pytest.mark.parametrize(
    "make", [lambda: make_tube(2), lambda: make_grid(0), lambda: make_sphere(9), lambda: make_ball(3)]
)
def test_refuses(make: object) -> None:
    with pytest.raises(OptionError):
        make()  # type: ignore[operator]
