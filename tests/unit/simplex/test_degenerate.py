"""Triangles without a shape that hold a mesh together."""

from __future__ import annotations

import numpy as np

from osteon.core.topology import degenerate_triangles, triangle_areas
from osteon.simplex.simplices import HEIGHT, build_simplices, find_bridges, widen_triangles

#: Two squares, whose facing sides coincide but for rounding, and the strip between them.
SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
POINTS = np.concatenate([SQUARE, SQUARE + np.array([1 + 1e-12, 0, 0])])
SQUARES = np.array([[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]], np.int32)
STRIP = np.array([[1, 4, 7], [1, 7, 2]], np.int32)


def test_a_strip_that_joins_parts_is_a_bridge() -> None:
    faces = np.concatenate([SQUARES, STRIP])
    degenerate = degenerate_triangles(POINTS, faces)
    assert degenerate.tolist() == [False] * 4 + [True] * 2
    assert find_bridges(faces, degenerate, len(POINTS)).tolist() == [False] * 4 + [True] * 2


def test_what_is_joined_already_needs_no_bridge() -> None:
    faces = np.concatenate([SQUARES[:2], [[0, 1, 1], [0, 1, 0]]]).astype(np.int32)
    assert not find_bridges(faces, degenerate_triangles(SQUARE, faces), 4).any()


def test_bridges_take_part_and_others_do_not() -> None:
    faces = np.concatenate([SQUARES, STRIP, [[0, 0, 1]]]).astype(np.int32)
    simplices = build_simplices(POINTS, faces, 3)
    assert simplices.triangle.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.isfinite(simplices.inverse).all()
    assert (simplices.areas > 0).all()


def test_widened_triangles_have_a_height() -> None:
    flat = np.array(
        [[[0.0, 0, 0], [1, 0, 0], [0.3, 0, 0]], [[0, 0, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [2, 0, 0], [1, 1, 0]]]
    )
    wide = widen_triangles(flat, 1e-3)
    areas = triangle_areas(wide.reshape(-1, 3), np.arange(9, dtype=np.int32).reshape(3, 3))
    assert np.allclose(areas, [HEIGHT / 2, HEIGHT * 1e-6 / 2, 1.0])
    assert np.array_equal(wide[2], flat[2])
    assert np.abs(wide[0] - flat[0]).max() <= HEIGHT
