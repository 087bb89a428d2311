"""Islands join the segment around them; pieces in separate parts of a mesh stay."""

from __future__ import annotations

import numpy as np

from osteon.core.topology import triangle_areas, triangle_neighbors
from osteon.simplex.segmentation.unit_mesh import connect_triangles, join_islands
from osteon.synth.shapes import join_shapes, make_grid


def joined(shape, bone):
    neighbors = triangle_neighbors(shape.faces)
    corners = shape.vertices[shape.faces]
    borders = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
    areas = triangle_areas(shape.vertices, shape.faces)
    return join_islands(np.asarray(bone, np.int32), connect_triangles(neighbors), areas, neighbors, borders)


def halves(shape, at=0.5):
    return (shape.vertices[shape.faces].mean(axis=1)[:, 0] > at).astype(np.int32)


def test_connected_segments_stay():
    grid = make_grid(6, 4)
    assert np.array_equal(joined(grid, halves(grid)), halves(grid))


def test_an_island_goes_to_what_surrounds_it():
    grid = make_grid(8, 8)
    bone = halves(grid)
    middle = grid.vertices[grid.faces].mean(axis=1)
    lost = (np.abs(middle - [0.25, 0.5, 0]) < 0.13).all(axis=1)
    bone[lost] = 1
    assert np.array_equal(joined(grid, bone), halves(grid))


def test_the_longest_border_wins():
    """A strip of four cells: the island of bone 0 in cell 2 borders on bone 1 left and on bone 2 right and below."""
    grid = make_grid(5, 2, width=5, height=2)
    middle = grid.vertices[grid.faces].mean(axis=1)
    bone = np.where(middle[:, 0] < 1, 0, np.where(middle[:, 0] < 2, 1, 2))
    bone[(middle[:, 0] > 2) & (middle[:, 0] < 3) & (middle[:, 1] > 1)] = 0
    out = joined(grid, bone)
    assert set(out[bone == 0][middle[bone == 0][:, 0] > 2]) == {2}
    assert (out[middle[:, 0] < 1] == 0).all()


def test_islands_among_islands_are_joined_in_rounds():
    """Three nested squares of bones that have their largest piece elsewhere."""
    grid = make_grid(24, 12, width=2, height=1)
    middle = grid.vertices[grid.faces].mean(axis=1)
    bone = np.full(len(middle), 3)
    bone[middle[:, 0] > 1.1] = np.minimum(2, (middle[middle[:, 0] > 1.1][:, 1] * 3).astype(int))
    away = np.abs(middle[:, :2] - [0.5, 0.5]).max(axis=1)
    for b, width in ((0, 0.3), (1, 0.2), (2, 0.1)):
        bone[away < width] = b
    out = joined(grid, bone)
    neighbors = triangle_neighbors(grid.faces)
    assert len(np.unique(connect_triangles(neighbors, out))) == 4
    assert (out[middle[:, 0] < 0.9] == 3).all()


def test_every_part_of_a_mesh_keeps_its_piece():
    grid = make_grid(3, 3)
    two = join_shapes([grid, grid.moved((5, 0, 0))])
    bone = np.r_[halves(grid), halves(grid)]
    assert np.array_equal(joined(two, bone), bone)
