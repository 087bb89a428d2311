"""Corners of small meshes: which vertices are one point, which corners look alike, and what kind an edge is."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.mesh import Asset, Mesh
from osteon.lod.mesh.corners import BORDER, MANY, PLAIN, SEAM, corners_of, edge_kinds, edges_of, weld_moving
from tests.small_meshes import SQUARE, TETRAHEDRON


def corners(rest, faces, posed=None, **asset):
    points = np.array(rest, np.float32)
    mesh = Mesh(points, np.array(faces, np.int32).reshape(-1, 3), Asset(**asset))
    return corners_of(mesh, points[None].astype(np.float64) if posed is None else np.array(posed, np.float64))


#: The square with its diagonal cut open: vertices 0 and 4, 2 and 5 coincide.
CUT = ([*SQUARE[0], SQUARE[0][0], SQUARE[0][2]], [[0, 1, 2], [4, 5, 3]])


def test_vertices_that_coincide_are_a_point():
    found = corners(*CUT)
    assert found.n_points == 4
    assert found.point_of_vertex.tolist() == [0, 1, 2, 3, 0, 2]
    assert found.vertex_of_point.tolist() == [0, 1, 2, 3]
    assert found.vertices.tolist() == [0, 1, 2, 4, 5, 3]
    assert edge_kinds(found.points, found.wedges).tolist() == [BORDER, BORDER, PLAIN, PLAIN, BORDER, BORDER]


def test_zeros_of_both_signs_are_one_place():
    first, group = weld_moving(np.array([[0.0, 0, 0], [-0.0, 0, -0.0]], np.float32), np.zeros((1, 2, 3)))
    assert first.tolist() == [0]
    assert group.tolist() == [0, 0]


def test_vertices_that_part_in_some_pose_are_two_points():
    """Of three that coincide two go up together in the second pose."""
    rest, still = np.zeros((4, 3), np.float32), np.zeros((4, 3))
    up = still.copy()
    up[[1, 3], 2] = 0.5
    first, group = weld_moving(rest, np.stack([still, up]))
    assert first.tolist() == [0, 1]
    assert group.tolist() == [0, 1, 0, 1]


def test_triangles_without_three_points_are_left_out():
    found = corners([*SQUARE[0], SQUARE[0][1]], [[0, 1, 2], [0, 1, 1], [1, 4, 2], [0, 2, 3]])
    assert found.triangles.tolist() == [0, 3]
    assert found.faces.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_a_mesh_of_nothing_else_has_no_corners():
    found = corners(SQUARE[0], [[0, 0, 1]])
    assert len(found.triangles) == 0
    assert found.n_wedges == 0
    assert edges_of(found.points).shape == (0, 2)


UVS = [[[0, 0], [1, 0], [1, 1]], [[0, 0], [1, 1], [0, 1]]]


@pytest.mark.parametrize(
    ("asset", "kind", "wedges"),
    [
        ({"uvs": np.array(UVS, np.float32)}, PLAIN, 4),
        ({"uvs": np.array([UVS[0], [[0, 0], [0.5, 1], [0, 1]]], np.float32)}, SEAM, 5),
        ({"uvs": np.array(UVS, np.float32) + np.array([0, 2], np.float32)[:, None, None]}, SEAM, 6),
        ({"uvs": np.array(UVS, np.float32) + np.array([0, 1e-7], np.float32)[:, None, None]}, PLAIN, 4),
        ({"primitive_of_triangle": np.array([0, 1], np.int32), "primitive_names": ("a", "b")}, SEAM, 6),
        ({"primitive_of_triangle": np.array([1, 1], np.int32), "primitive_names": ("a", "b")}, PLAIN, 4),
    ],
)
def test_where_looks_differ_there_is_a_seam(asset, kind, wedges):
    found = corners(*SQUARE, **asset)
    assert found.n_wedges == wedges
    assert edge_kinds(found.points, found.wedges)[[2, 3]].tolist() == [kind, kind]


def test_colours_of_vertices_make_seams():
    colors = np.ones((6, 4), np.float32)
    assert corners(*CUT, colors=colors).n_wedges == 4
    colors[5, 1] = 0
    found = corners(*CUT, colors=colors)
    assert found.n_wedges == 5
    assert edge_kinds(found.points, found.wedges)[2] == SEAM


def test_edges_of_more_than_two_triangles():
    rest, faces = SQUARE
    found = corners([*rest, [0.5, 0.5, 1.0]], [*faces, [0, 2, 4]])
    kinds = edge_kinds(found.points, found.wedges)
    assert kinds[[2, 3, 6]].tolist() == [MANY] * 3
    assert sorted(kinds.tolist()) == [BORDER] * 6 + [MANY] * 3


def test_every_edge_is_listed_once():
    points = np.array(TETRAHEDRON[1]).reshape(-1)
    assert edges_of(points).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    points[:3] = -1  # a triangle that is gone
    assert len(edges_of(points)) == 6
    assert edges_of(points[:3]).shape == (0, 2)
