"""Free ends go just outside, through what is closed, open, nested or flat."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.sticks import StickSkeleton
from osteon.core.topology import triangle_neighbors
from osteon.simplex.segmentation.extend import MARGIN, Solid, extend_free_ends, reach_over_caps
from osteon.simplex.segmentation.tree import build_tree
from osteon.simplex.segmentation.unit_mesh import connect_triangles
from osteon.synth.shapes import Shape, join_shapes, make_grid, make_sphere, make_tube


def solid(shape, flat=False):
    neighbors = triangle_neighbors(shape.faces)
    tree = build_tree(shape.vertices, shape.faces, flat)
    return Solid.of((shape.vertices, shape.faces), (neighbors, connect_triangles(neighbors)), tree, flat)


def stick(start, stop):
    return StickSkeleton(np.array([start, stop], float), np.array([[0, 1]], np.int32))


def ends(shape, start, stop, flat=False):
    return extend_free_ends(stick(start, stop), solid(shape, flat)).joints


TUBE = make_tube(12, 10, radius=0.1, length=1.0)


def test_both_ends_of_a_bone_in_a_tube():
    found = ends(TUBE, (0.3, 0.01, 0.02), (0.8, 0.01, 0.02))
    assert found[0] == pytest.approx([-MARGIN, 0.01, 0.02])
    assert found[1] == pytest.approx([1 + MARGIN, 0.01, 0.02])


def test_ends_outside_stay():
    joints = np.array([[-0.2, 0, 0], [1.3, 0.01, 0]])
    assert np.array_equal(ends(TUBE, *joints), joints)
    assert np.array_equal(ends(TUBE, (0, 2, 0), (1, 2, 0)), [[0, 2, 0], [1, 2, 0]])


def test_joints_with_several_bones_stay():
    chain = StickSkeleton(np.array([[0.2, 0, 0], [0.5, 0, 0], [0.8, 0, 0]]), np.array([[0, 1], [1, 2]], np.int32))
    found = extend_free_ends(chain, solid(TUBE)).joints
    assert np.array_equal(found[1], chain.joints[1])
    assert found[2, 0] == pytest.approx(1 + MARGIN)


def test_the_way_triangles_face_does_not_matter():
    turned = Shape(TUBE.vertices, TUBE.faces[:, ::-1].copy())
    assert ends(turned, (0.3, 0.01, 0.02), (0.8, 0.01, 0.02)) == pytest.approx(
        ends(TUBE, (0.3, 0.01, 0.02), (0.8, 0.01, 0.02))
    )


def test_nested_shells_are_all_left():
    """An end in an eye in a head: inside two shells, which parity alone would call outside."""
    both = join_shapes([make_sphere(2, 0.5), make_sphere(2, 0.1).moved((0.2, 0, 0))])
    found = ends(both, (-0.9, 0.003, 0.001), (0.21, 0.003, 0.001))
    assert 0.45 < found[1, 0] < 0.51
    assert found[0, 0] == -0.9


def test_out_through_a_hole():
    """A tube without its cap: no crossing on the way, the winding number tells where it ends."""
    middle = TUBE.vertices[TUBE.faces].mean(axis=1)
    open_tube = Shape(TUBE.vertices, TUBE.faces[middle[:, 0] < 0.999])
    found = ends(open_tube, (0.3, 0, 0), (0.7, 0, 0))
    assert 0.9 < found[1, 0] < 1.2
    assert found[0, 0] == pytest.approx(-MARGIN)


def test_in_two_dimensions_triangles_are_the_inside():
    grid = make_grid(5, 3, width=1.0, height=0.4)
    found = ends(grid, (0.3, 0.21, 0), (0.7, 0.21, 0), flat=True)
    assert found == pytest.approx(np.array([[-MARGIN, 0.21, 0], [1 + MARGIN, 0.21, 0]]))
    assert np.array_equal(ends(grid, (2, 0.2, 0), (3, 0.2, 0), flat=True), [[2, 0.2, 0], [3, 0.2, 0]])


def test_a_mesh_without_inside_leaves_the_skeleton_alone():
    sheet = make_grid(4, 4)
    assert np.array_equal(ends(sheet, (0.2, 0.2, 0.1), (0.7, 0.7, 0.1)), [[0.2, 0.2, 0.1], [0.7, 0.7, 0.1]])


def test_the_range_reaches_over_the_cap():
    """A bone that leaves a ball off its middle: the top of the ball lies beyond the place where it leaves."""
    ball = make_sphere(4, 0.5)
    placed = solid(ball)
    extended = extend_free_ends(stick((0.3, 0, -0.9), (0.3, 0, 0.2)), placed)
    reached = reach_over_caps(extended, placed)
    assert 0.38 < extended.joints[1, 2] < 0.42
    assert 0.49 < reached.joints[1, 2] < 0.51
    assert reached.joints[1, :2] == pytest.approx([0.3, 0])
    assert np.array_equal(reached.joints[0], extended.joints[0])


def test_the_cap_does_not_jump_to_other_parts():
    two = join_shapes([make_sphere(3, 0.2), make_sphere(3, 0.2).moved((0, 0, 1))])
    placed = solid(two)
    extended = extend_free_ends(stick((0.01, 0.005, -0.5), (0.01, 0.005, 0.1)), placed)
    assert reach_over_caps(extended, placed).joints[1, 2] < 0.22
