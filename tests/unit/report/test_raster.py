from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.report.raster import Camera, DrawOptions, draw_mesh, frame_camera

RED, GREEN, BLUE = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
PLAIN = DrawOptions(width=12, height=10, samples=1, shading="none", shadow=False)
#: Pixels are units: x to the right, y up from the bottom of a picture of 10 rows, seen from +z.
PIXELS = Camera(np.eye(3), np.zeros(3), np.inf, 1.0, (0.0, 10.0), np.array([0.0, 1.0, 0.0]), 0.0)
ONE = np.array([[0, 1, 2]])


def _covered(vertices: np.ndarray, faces: np.ndarray = ONE) -> np.ndarray:
    """(10,12) where the picture is red."""
    image = draw_mesh(vertices, faces, RED, options=PLAIN, camera=PIXELS)
    return (image == (255, 0, 0)).all(axis=2)


def test_covers_exactly_the_pixels_whose_centre_is_inside() -> None:
    triangle = np.array([[1.2, 1.1, 0], [10.7, 2.3, 0], [4.4, 8.9, 0]])
    y, x = np.mgrid[0:10, 0:12] + 0.5
    inside = np.ones((10, 12), bool)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        (ax, ay), (bx, by) = triangle[a, :2], triangle[b, :2]
        inside &= (bx - ax) * ((10 - y) - ay) - (by - ay) * (x - ax) > 0
    assert inside.sum() > 20
    assert np.array_equal(_covered(triangle), inside)
    assert np.array_equal(_covered(triangle[::-1]), inside)  # both sides are drawn


def test_square_of_two_triangles_has_no_gap_and_no_overlap() -> None:
    square = np.array([[2.5, 1.5, 0], [7.5, 1.5, 0], [7.5, 6.5, 0], [2.5, 6.5, 0]])  # corners on pixel centres
    halves = [_covered(square, np.array([f])) for f in ([0, 1, 2], [0, 2, 3])]
    assert not (halves[0] & halves[1]).any()
    assert (halves[0] | halves[1]).sum() == 25
    assert _covered(square, np.array([[0, 1, 2], [0, 2, 3]])).sum() == 25


def test_triangle_without_area_and_empty_mesh_draw_nothing() -> None:
    assert not _covered(np.array([[1.0, 1, 0], [5, 5, 0], [9, 9, 0]])).any()
    assert not _covered(np.array([[1.0, 1, 0]]), np.zeros((0, 3), np.int32)).any()


@pytest.mark.parametrize("projection", ["perspective", "orthographic"])
def test_nearer_triangle_hides_the_farther_whatever_their_order(projection: str) -> None:
    big = np.array([[-1.0, -1, 0], [1, -1, 0], [0, 1, 0]])
    vertices = np.concatenate([big, 0.5 * big + (0, 0, 1), 0.25 * big - (0, 0, 1)])
    faces = np.arange(9).reshape(3, 3)
    options = DrawOptions(60, 60, 0.0, 0.0, projection=projection, samples=1, shading="none", shadow=False)  # type: ignore[arg-type]
    colors = np.array([RED, GREEN, BLUE])
    first = draw_mesh(vertices, faces, colors, options=options)
    second = draw_mesh(vertices, faces[::-1], colors[::-1], options=options)
    assert np.array_equal(first, second)
    assert (first[30, 30] == (0, 255, 0)).all()
    assert not (first == (0, 0, 255)).all(axis=2).any()
    assert (first == (255, 0, 0)).all(axis=2).any()


def test_colours_interpolate_in_space_not_in_the_picture() -> None:
    """A floor that runs away from the eye: its middle is above the middle of the picture, and half red, half green."""
    floor = np.array([[-1.0, 0, 4], [1, 0, 4], [1, 0, -4], [-1, 0, -4]])
    colors = np.array([RED, RED, GREEN, GREEN])
    options = DrawOptions(101, 101, 0.0, 30.0, field_of_view=60, samples=1, shading="none", shadow=False)
    camera = frame_camera(floor, options)
    image = draw_mesh(floor, [[0, 1, 2], [0, 2, 3]], colors, options=options, camera=camera)
    x, y, _ = camera.project(np.zeros((1, 3)))[0]
    assert np.abs(image[int(y), int(x)].astype(int) - (128, 128, 0)).max() <= 8


def test_colours_of_vertices_triangles_and_bytes() -> None:
    triangle = np.array([[1.2, 1.1, 0], [10.7, 2.3, 0], [4.4, 8.9, 0]])
    expected = draw_mesh(triangle, ONE, RED, options=PLAIN, camera=PIXELS)
    for colors in (np.array([RED] * 3), np.array([RED]), np.array([[255, 0, 0]] * 3, np.uint8)):
        assert np.array_equal(draw_mesh(triangle, ONE, colors, options=PLAIN, camera=PIXELS), expected)


def test_color_per_decides_when_counts_agree() -> None:
    """A tetrahedron has as many triangles as vertices."""
    solid = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    colors = np.array([RED, GREEN, BLUE, (1.0, 1.0, 0.0)])
    options = DrawOptions(40, 40, 45.0, 30.0, samples=1, shading="none", shadow=False, color_per="triangle")
    image = draw_mesh(solid, faces, colors, options=options)
    assert (image == (255, 255, 0)).all(axis=2).sum() > 100


def test_picture_has_the_size_asked_for_and_the_mesh_fills_it() -> None:
    options = DrawOptions(90, 70, margin=0.1, shading="none", shadow=False)
    cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 3)], float)
    faces = [
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
    ]
    image = draw_mesh(cube, faces, (0.0, 0.0, 0.0), options=options)
    assert image.shape == (70, 90, 3)
    assert image.dtype == np.uint8
    dark = (image < 60).all(axis=2)
    rows, columns = np.nonzero(dark.any(axis=1))[0], np.nonzero(dark.any(axis=0))[0]
    assert min(rows[0], columns[0], 69 - rows[-1], 89 - columns[-1]) >= 5
    assert np.ptp(columns) >= 70 or np.ptp(rows) >= 50


@pytest.mark.parametrize("up", ["x", "y", "z"])
@pytest.mark.parametrize("elevation", [0.0, 14.0, 89.0])
def test_never_from_below_and_upright(up: str, elevation: float) -> None:
    points = np.random.default_rng(0).uniform(-1, 1, (20, 3)) * (1, 2, 3)
    camera = frame_camera(points, DrawOptions(up=up, elevation=elevation))  # type: ignore[arg-type]
    axis = np.eye(3)["xyz".index(up)]
    assert camera.axes[2] @ axis >= 0  # the eye is not below
    low, high = camera.project(np.stack([camera.center, camera.center + 0.1 * axis]))[:, 1]
    assert high < low  # what is higher is drawn higher
    np.testing.assert_allclose(camera.axes @ camera.axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(camera.axes) == pytest.approx(1)  # no mirror image


def test_auto_view_shows_the_long_side_from_ahead() -> None:
    horse = np.array([[-0.2, 0, -1], [0.2, 1, 1]])
    camera = frame_camera(horse, DrawOptions())
    assert abs(camera.axes[0] @ (0, 0, 1)) > 0.7  # its length runs across the picture
    assert camera.axes[2] @ (0, 0, 1) > 0.3
    assert 0 < camera.axes[2] @ (0, 1, 0) < 0.5


def test_more_samples_soften_edges() -> None:
    triangle = np.array([[0.0, 0, 0], [1, 0.1, 0], [0.2, 1, 0]])
    one, three = (
        draw_mesh(triangle, ONE, (0.0, 0.0, 0.0), options=DrawOptions(40, 40, samples=n, shading="none", shadow=False))
        for n in (1, 3)
    )
    middle = lambda image: ((image > 30) & (image < 220)).all(axis=2).sum()  # noqa: E731
    assert middle(one) == 0
    assert middle(three) > 10


def test_light_falls_from_above_and_shadow_below() -> None:
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 40, endpoint=False), np.linspace(0.05, np.pi - 0.05, 20))
    ball = np.stack([np.sin(v) * np.cos(u), np.cos(v) + 0.5, np.sin(v) * np.sin(u)], axis=2).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(19), np.arange(40), indexing="ij")
    a, b = i * 40 + j, i * 40 + (j + 1) % 40
    faces = np.concatenate(
        [np.stack([a, b, b + 40], 2).reshape(-1, 3), np.stack([a, b + 40, a + 40], 2).reshape(-1, 3)]
    )
    with_shadow = draw_mesh(ball, faces, (0.7, 0.7, 0.7), options=DrawOptions(120, 120, margin=0.2)).mean(axis=2)
    without = draw_mesh(ball, faces, (0.7, 0.7, 0.7), options=DrawOptions(120, 120, margin=0.2, shadow=False)).mean(
        axis=2
    )
    assert with_shadow[35, 60] > with_shadow[85, 60] + 20
    assert (without[:50] == with_shadow[:50]).mean() > 0.95
    assert (without - with_shadow)[90:].max() > 20
    assert (with_shadow <= without).all()


def test_dark_background_is_dark() -> None:
    triangle = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    image = draw_mesh(triangle, ONE, options=DrawOptions(30, 30, background="dark", shadow=False))
    assert image[0].max() < 90
    assert draw_mesh(triangle, ONE, options=DrawOptions(30, 30, shadow=False))[0].min() > 200


def test_deterministic_and_inputs_untouched() -> None:
    vertices = np.random.default_rng(0).normal(size=(30, 3))
    faces = np.random.default_rng(1).integers(0, 30, (40, 3))
    copy = vertices.copy()
    first = draw_mesh(vertices, faces, options=DrawOptions(64, 48))
    assert np.array_equal(first, draw_mesh(vertices, faces, options=DrawOptions(64, 48)))
    assert np.array_equal(vertices, copy)


def test_what_lies_behind_the_eye_is_left_out() -> None:
    triangle = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    options = DrawOptions(30, 30, 0.0, 0.0, shading="none", shadow=False, samples=1)
    camera = frame_camera(triangle, options)
    image = draw_mesh(triangle + np.array([0, 0, 1000.0]), ONE, RED, options=options, camera=camera)
    assert not (image == (255, 0, 0)).all(axis=2).any()


def test_refuses() -> None:
    for wrong in ({"elevation": -5.0}, {"samples": 0}, {"width": 0}, {"margin": 0.6}, {"field_of_view": 0.0}):
        with pytest.raises(OptionError):
            DrawOptions(**wrong)  # type: ignore[arg-type]
    triangle = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    with pytest.raises(GeometryError, match="colors"):
        draw_mesh(triangle, ONE, np.zeros((7, 3)))
    with pytest.raises(GeometryError, match="faces"):
        draw_mesh(triangle, [[0, 1, 3]])
    with pytest.raises(GeometryError, match="points"):
        frame_camera(np.zeros((0, 3)))


def test_import_leaves_numba_and_pillow_alone() -> None:
    code = "import sys, osteon.report.picture; sys.exit('numba' in sys.modules or 'PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
