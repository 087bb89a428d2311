from __future__ import annotations

import numpy as np
import pytest

from osteon.core.topology import (
    bounding_diagonal,
    degenerate_triangles,
    is_flat,
    shells,
    triangle_areas,
    triangle_neighbors,
    vertex_graph,
)
from osteon.synth.shapes import join_shapes, make_sphere, make_torus

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)


def edge_of(faces: np.ndarray, t: int, e: int) -> set[int]:
    return {int(faces[t, e]), int(faces[t, (e + 1) % 3])}


def edges_of(faces: np.ndarray, t: int) -> list[set[int]]:
    return [edge_of(faces, t, e) for e in range(3)]


def test_areas():
    faces = np.array([[0, 1, 2], [0, 2, 3], [0, 0, 1]], np.int32)
    assert triangle_areas(SQUARE, faces).tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_degenerate_triangles_at_any_size(size):
    points = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [1, 1e-9, 0], [1, 1e-4, 0], [1e-9, 0, 0]])
    faces = np.array([[0, 1, 3], [0, 1, 2], [0, 0, 1], [3, 3, 3], [0, 4, 2], [0, 5, 2], [0, 6, 3]], np.int32)
    found = degenerate_triangles((size * points).astype(np.float32), faces)
    # whole; in a line; a corner twice; a point; nearly in a line; flat but whole; two corners nearly one
    assert found.tolist() == [False, True, True, True, True, False, True]


def test_a_well_shaped_triangle_may_be_small():
    points = np.concatenate([SQUARE[:3] * 1e-5, SQUARE + 1]).astype(np.float32)
    assert degenerate_triangles(points, np.array([[0, 1, 2]], np.int32)).tolist() == [False]
    points[:3] *= 1e-4  # now its edges are a millionth of a thousandth of the whole
    assert degenerate_triangles(points, np.array([[0, 1, 2]], np.int32)).tolist() == [True]


def test_everything_in_one_point_is_degenerate():
    assert degenerate_triangles(np.ones((3, 3), np.float32), np.array([[0, 1, 2]], np.int32)).tolist() == [True]


def test_no_triangles():
    none = np.zeros((0, 3), np.int32)
    assert degenerate_triangles(SQUARE, none).shape == (0,)
    assert triangle_neighbors(none).shape == (0, 3)
    assert shells(none, 4)[0] == 0
    assert shells(none, 4)[1].tolist() == [-1] * 4


def test_neighbors_of_two_triangles():
    neighbors = triangle_neighbors(np.array([[0, 1, 2], [0, 2, 3]], np.int32))
    assert neighbors.tolist() == [[-1, -1, 1], [0, -1, -1]]


@pytest.mark.parametrize("shape", [make_sphere(2), make_torus(12, 7)])
def test_neighbors_of_a_closed_mesh(shape):
    faces = shape.faces
    neighbors = triangle_neighbors(faces)
    assert neighbors.min() >= 0
    for t in range(len(faces)):
        for e in range(3):
            other = neighbors[t, e]
            assert other != t
            assert edge_of(faces, t, e) in edges_of(faces, other)
            assert t in neighbors[other]


def test_three_triangles_at_one_edge():
    faces = np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4]], np.int32)
    neighbors = triangle_neighbors(faces)
    for t in range(3):
        assert neighbors[t, 0] in {0, 1, 2} - {t}
        assert neighbors[t, 1:].tolist() == [-1, -1]


def test_four_triangles_at_one_edge():
    faces = np.array([[0, 1, 2 + i] for i in range(4)], np.int32)
    for t, row in enumerate(triangle_neighbors(faces)):
        assert row[0] >= 0
        assert row[0] != t


def test_vertex_graph_has_each_edge_both_ways():
    graph = vertex_graph(np.array([[0, 1, 2], [0, 2, 3], [4, 4, 5]], np.int32), 7).toarray()
    expected = np.zeros((7, 7))
    for i, j in [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (4, 5)]:
        expected[i, j] = expected[j, i] = 1
    assert np.array_equal(graph, expected)


def test_shells():
    both = join_shapes([make_sphere(1), make_torus(8, 5)])
    n = len(both.vertices)
    count, piece = shells(both.faces, n + 2)
    assert count == 2
    assert piece[:42].tolist() == [0] * 42
    assert set(piece[42:n].tolist()) == {1}
    assert piece[n:].tolist() == [-1, -1]  # no triangle has them


def test_shells_that_touch_in_a_vertex_are_one():
    assert shells(np.array([[0, 1, 2], [2, 3, 4]], np.int32), 5)[0] == 1


def test_the_diagonal_of_the_bounding_box():
    assert bounding_diagonal(np.array([[1, 2, 3], [4, 6, 3], [2, 5, 15]], np.float32)) == 13
    assert bounding_diagonal(np.full((2, 3), 7.0)) == 0
    assert bounding_diagonal(np.zeros((0, 3))) == 0


def test_the_diagonal_of_a_mesh_far_away_is_computed_in_double_precision():
    points = np.array([[1e30, 0, 0], [-1e30, 0, 0]], np.float32)
    assert bounding_diagonal(points) == pytest.approx(2e30)


def test_a_drawing_is_flat_wherever_it_lies():
    assert is_flat(SQUARE + np.float32(5))
    assert is_flat(np.array([[0, 0, 1e-10], [1, 0, 0], [1, 1, 0]]))
    assert not is_flat(SQUARE[:, [2, 0, 1]])
    assert is_flat(np.zeros((0, 3)))
