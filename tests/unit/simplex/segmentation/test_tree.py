"""Crossings of a line with a surface: by hand, through edges and corners, and against every triangle in turn."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.simplex.segmentation.tree import ALL, build_tree, count_crossings, crossings_between
from osteon.synth.shapes import make_grid, make_sphere, make_torus

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
CUBE_FACES = np.array([t for a, b, c, d in SIDES for t in ([a, b, c], [a, c, d])], np.int32)


def count(tree, start, stop, skip=-1, limit=ALL):
    return count_crossings(tree, (*map(float, start), *map(float, stop)), skip, limit)


def brute(vertices, faces, start, stop):
    """Every triangle by its barycentric coordinates."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    found = 0
    for i in range(len(faces)):
        matrix = np.stack([b[i] - a[i], c[i] - a[i], start - stop], axis=1)
        if abs(np.linalg.det(matrix)) > 1e-14:
            u, v, s = np.linalg.solve(matrix, start - a[i])
            found += u >= 0 and v >= 0 and u + v <= 1 and 0 < s < 1
    return found


@pytest.mark.parametrize("aim", [(0.3, 0.4), (0.5, 0.5), (0.25, 0.25), (0.5, 0.25)])
def test_in_at_one_side_of_a_cube_and_out_at_the_other(aim):
    """(0.5, 0.5) is the middle of the diagonals: two triangles meet there on either side."""
    tree = build_tree(CUBE, CUBE_FACES)
    for axis in range(3):
        start, stop = np.insert(aim, axis, -1.0), np.insert(aim, axis, 2.0)
        assert count(tree, start, stop) == 2
        assert count(tree, start, 0.5 * (start + stop)) == 1
        assert crossings_between(tree, start, stop)[0] == pytest.approx([1 / 3, 2 / 3])


def test_through_edges_and_corners_an_inside_has_odd_crossings():
    """Lines from the middle through every vertex and every middle of an edge leave the surface once."""
    for shape in (make_sphere(1), make_sphere(2)):
        tree = build_tree(shape.vertices, shape.faces)
        edges = 0.5 * (shape.vertices[shape.faces] + np.roll(shape.vertices[shape.faces], 1, axis=1)).reshape(-1, 3)
        for through in np.concatenate([shape.vertices, edges]):
            assert count(tree, (0, 0, 0), 3 * through) == 1


def test_corners_of_a_cube_from_inside():
    tree = build_tree(CUBE - 0.5, CUBE_FACES)
    for corner in CUBE - 0.5:
        assert count(tree, (0, 0, 0), 4 * corner) == 1


def test_a_fan_of_many_triangles_is_crossed_once_at_its_hub():
    turn = 2 * np.pi * np.arange(12) / 12
    vertices = np.concatenate([[[0, 0, 0]], np.stack([np.cos(turn), np.sin(turn), 0.3 * np.cos(3 * turn)], axis=1)])
    faces = np.array([[0, 1 + i, 1 + (i + 1) % 12] for i in range(12)], np.int32)
    assert count(build_tree(vertices, faces), (0, 0, -1), (0, 0, 1)) == 1


def test_unwelded_seams_count_once_too():
    vertices, faces = CUBE[CUBE_FACES].reshape(-1, 3) - 0.5, np.arange(36, dtype=np.int32).reshape(-1, 3)
    tree = build_tree(vertices, faces)
    for through in np.concatenate([CUBE - 0.5, [[0.5, 0, 0], [0, 0.5, 0.5], [0, 0, -0.5]]]):
        assert count(tree, (0, 0, 0), 4 * through) == 1


def test_agrees_with_every_triangle_in_turn():
    shape = make_torus(12, 7)
    tree = build_tree(shape.vertices, shape.faces)
    rng = np.random.default_rng(0)
    for start, stop in rng.uniform(-0.8, 0.8, size=(60, 2, 3)):
        assert count(tree, start, stop) == brute(shape.vertices, shape.faces, start, stop)


def test_touching_with_an_end_is_no_crossing():
    tree = build_tree(CUBE, CUBE_FACES)
    assert count(tree, (0.3, 0.4, 0), (0.3, 0.4, 0.5)) == 0  # starts on a triangle
    assert count(tree, (0.3, 0.4, 0.5), (0.3, 0.4, 1)) == 0  # ends on one
    assert count(tree, (0.2, 0.2, 0.2), (0.2, 0.2, 0.2)) == 0  # goes nowhere


def test_a_line_in_the_plane_of_a_triangle_does_not_cross_it():
    grid = make_grid(3, 3)
    assert count(build_tree(grid.vertices, grid.faces), (-1, 0.4, 0), (2, 0.45, 0)) == 0


def test_the_starting_triangle_is_left_out_and_the_limit_kept():
    tree = build_tree(CUBE, CUBE_FACES)
    assert count(tree, (0.3, 0.4, -1), (0.3, 0.4, 2), skip=8) + count(tree, (0.3, 0.4, -1), (0.3, 0.4, 2), skip=9) == 3
    assert count(tree, (0.3, 0.4, -1), (0.3, 0.4, 2), limit=0) >= 1


def test_degenerate_triangles_and_nothing_at_all():
    flat = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0]], float)
    assert count(build_tree(flat, np.array([[0, 1, 2], [0, 0, 1], [1, 1, 1]], np.int32)), (1, 0, -1), (1, 0, 1)) == 0
    assert count(build_tree(flat, np.zeros((0, 3), np.int32)), (1, 0, -1), (1, 0, 1)) == 0


def test_many_triangles_in_one_place():
    faces = np.tile(np.array([[0, 1, 3]], np.int32), (40, 1))
    assert count(build_tree(CUBE, faces), (-1, 0.2, 0.6), (1, 0.2, 0.6)) == 40


def test_in_the_plane_the_border_is_the_surface():
    grid = make_grid(4, 4)
    tree = build_tree(grid.vertices, grid.faces, flat=True)
    assert count(tree, (0.4, 0.4, 0), (0.6, 0.7, 0)) == 0
    assert count(tree, (0.4, 0.4, 0), (0.4, 3, 0)) == 1
    assert count(tree, (-1, 0.4, 0), (2, 0.4, 0)) == 2
    at, hit = crossings_between(tree, np.array([-1, 0.4, 0]), np.array([2, 0.4, 0]))
    centers = grid.vertices[grid.faces].mean(axis=1)
    assert at == pytest.approx([1 / 3, 2 / 3])
    assert centers[hit[0], 0] < 0.25
    assert centers[hit[1], 0] > 0.75
