"""Closest points on surfaces: by hand, against every triangle, on meshes that are hardly meshes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from osteon.core.errors import GeometryError
from osteon.measure.closest_point import SurfaceBoxes, closest_points, depth_outside, first_triangles
from osteon.synth.shapes import make_ball, make_tube

TRIANGLE = np.array([[0.0, 0, 0], [2, 0, 0], [0, 2, 0]])
ONE = np.array([[0, 1, 2]], np.int32)


def by_every_triangle(vertices: np.ndarray, faces: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """(n,) distances, by the vertices, the edges and the planes of all triangles, one by one."""
    best = np.full(len(queries), np.inf)
    for a, b, c in vertices[faces]:
        for p, q in ((a, b), (b, c), (c, a)):
            way = q - p
            s = np.clip((queries - p) @ way / max(way @ way, 1e-300), 0, 1)
            best = np.minimum(best, np.linalg.norm(queries - (p + s[:, None] * way), axis=1))
        normal = np.cross(b - a, c - a)
        if normal @ normal > 0:
            up = (queries - a) @ normal / (normal @ normal)
            foot = queries - up[:, None] * normal
            inside = np.all([np.cross(q - p, foot - p) @ normal >= 0 for p, q in ((a, b), (b, c), (c, a))], axis=0)
            best = np.where(inside, np.minimum(best, np.abs(up) * np.linalg.norm(normal)), best)
    return best


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ((0.5, 0.5, 3.0), (0.5, 0.5, 0)),  # above the inside
        ((0.5, 0.5, -3.0), (0.5, 0.5, 0)),  # below it
        ((1.0, -1.0, 0), (1, 0, 0)),  # beside an edge
        ((3.0, 3.0, 1), (1, 1, 0)),  # beyond the long edge
        ((-1.0, -2.0, 1), (0, 0, 0)),  # beyond a corner
        ((5.0, -1.0, 0), (2, 0, 0)),
        ((1.0, 0, 0), (1, 0, 0)),  # on an edge
        ((0, 2.0, 0), (0, 2, 0)),  # on a corner
        ((0.25, 0.25, 0), (0.25, 0.25, 0)),  # inside
    ],
)
def test_one_triangle(query: tuple[float, float, float], expected: tuple[float, float, float]) -> None:
    found = closest_points(SurfaceBoxes.of(TRIANGLE, ONE), np.array([query]))
    assert_allclose(found.points, [expected], atol=1e-15)
    assert_allclose(found.distances, [np.linalg.norm(np.subtract(query, expected))], atol=1e-15)
    assert found.triangles.tolist() == [0]


@pytest.mark.parametrize(
    ("corners", "query", "expected"),
    [
        ([(0, 0, 0), (4, 0, 0), (1, 0, 0)], (2.0, 1, 0), (2, 0, 0)),  # flattened to a line, the middle corner aside
        ([(1, 0, 0), (1, 0, 0), (4, 0, 0)], (2.0, 1, 0), (2, 0, 0)),  # two corners in one place
        ([(4, 0, 0), (1, 0, 0), (4, 0, 0)], (5.0, 1, 0), (4, 0, 0)),
        ([(1, 1, 1)] * 3, (1.0, 1, 3), (1, 1, 1)),  # a point
    ],
)
def test_triangles_without_area(corners: list[tuple[int, int, int]], query: object, expected: object) -> None:
    found = closest_points(SurfaceBoxes.of(np.array(corners, float), ONE), np.array([query]))
    assert_allclose(found.points, [expected], atol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_every_triangle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(40, 3))
    faces = rng.integers(0, 40, (120, 3)).astype(np.int32)  # a soup: open, crossing itself, some without area
    faces[:5, 1] = faces[:5, 0]
    vertices[7] = vertices[8]
    queries = np.concatenate([3 * rng.normal(size=(200, 3)), vertices, vertices[faces].mean(axis=1)])
    expected = by_every_triangle(vertices, faces, queries)
    surface = SurfaceBoxes.of(vertices, faces)
    found = closest_points(surface, queries)
    assert_allclose(found.distances, expected, atol=1e-12)
    assert_allclose(np.linalg.norm(found.points - queries, axis=1), found.distances, atol=1e-12)
    near = rng.integers(-1, len(faces), len(queries)).astype(np.int32)
    assert_allclose(closest_points(surface, queries, near, threads=1).distances, expected, atol=1e-12)


def test_a_tree_serves_other_poses() -> None:
    tube = make_tube(8, 12, 0.2, 1.0)
    rng = np.random.default_rng(0)
    other = tube.vertices * [1, 5, 0.1] + rng.normal(size=3)
    queries = other + 0.1 * rng.normal(size=other.shape)
    moved, fresh = SurfaceBoxes.of(tube.vertices, tube.faces).moved(other), SurfaceBoxes.of(other, tube.faces)
    assert_allclose(closest_points(moved, queries).distances, closest_points(fresh, queries).distances, atol=1e-15)
    assert_allclose(moved.bounds[0], fresh.bounds[0])


def test_threads_change_nothing() -> None:
    tube = make_tube(16, 40, 0.2, 1.0)
    queries = np.random.default_rng(0).normal(size=(5000, 3))
    surface = SurfaceBoxes.of(tube.vertices, tube.faces)
    one, two = (closest_points(surface, queries, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.points, two.points)
    assert np.array_equal(one.triangles, two.triangles)


def test_first_triangles() -> None:
    assert first_triangles(np.array([[0, 1, 2], [2, 1, 4]], np.int32), 5).tolist() == [0, 0, 0, -1, 1]


def test_a_surface_needs_triangles() -> None:
    with pytest.raises(GeometryError, match="without triangles"):
        SurfaceBoxes.of(TRIANGLE, np.zeros((0, 3), np.int32))


def test_no_queries() -> None:
    assert len(closest_points(SurfaceBoxes.of(TRIANGLE, ONE), np.zeros((0, 3))).distances) == 0


def test_inside_and_outside() -> None:
    ball = make_ball(200)
    points = np.array([[0.0, 0, 0], [0.4, 0, 0], [3.0, 0, 0]])
    found = depth_outside(points, ball.vertices, ball.faces, np.array([1.0, 0.5, 2.0]))
    assert found.tolist() == [0, 0, 2]
