"""Flesh on bones: rigid motion in, rigid motion out; bends and twists; bones that hold nothing."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import rotation_from_axis_angle
from osteon.elastic.attachment import bone_room, hold_nodes, holds_all_bones
from osteon.elastic.body import ElasticBody, bone_transforms
from osteon.elastic.lattice import lattice_around
from osteon.elastic.newton import NewtonOptions
from osteon.elastic.solid import solid_of_tetrahedra, solid_pieces
from osteon_bench.subjects import bar_skeleton, make_bar
from tests.tolerance import assert_same_points
from tests.unit.elastic.conftest import box, joined

X, Y = np.array([1.0, 0, 0]), np.array([0, 1.0, 0])


def test_bones_hold_nodes_around_them_clear_of_the_joint(bar):
    points, held = bar.solid.points, bar.held
    assert set(held.tolist()) == {-1, 0, 1}
    nodes = points[held >= 0]
    assert np.linalg.norm(nodes[:, 1:], axis=1).max() <= 0.25 * np.sqrt(2) + 1e-9  # a quarter of the thickness
    assert np.linalg.norm(nodes[:, 1:], axis=1).mean() > 0.1  # and off the axis
    assert np.abs(nodes[:, 0] - 2).min() >= 0.5 - 1e-9  # the joint is in the middle, the surface half a unit away
    assert (held[points[:, 0] > 2] != 0).all()
    outer = np.unique(bar.solid.corners[:, 0])
    assert (held[outer] < 0).all()


def test_identity_and_rigid_motion_are_exact(bar):
    still = bar.pose({})
    assert_same_points(still.surface, bar.solid.surface.rest, 1e-7)
    assert still.newton_steps == 0
    turn = rotation_from_axis_angle(np.array([1.0, 2, 3]), 0.8)
    moved = bar.pose({0: turn}, np.array([1.0, -2, 0.5]))
    root = bar.skeleton.joints[0]
    expected = (bar.solid.points - root) @ turn.T + root + [1, -2, 0.5]
    assert_same_points(moved.places, expected, 1e-9)


def test_a_bend_creases_inside_and_keeps_its_volume(bar):
    posed = bar.pose({1: rotation_from_axis_angle(Y, np.radians(-60))})
    assert posed.in_balance
    assert posed.inverted == 0
    tip = bone_transforms(bar.skeleton, {1: rotation_from_axis_angle(Y, np.radians(-60))})[1]
    held = bar.held == 1
    carried = bar.solid.points[held] @ tip[:, :3].T + tip[:, 3]
    assert_same_points(posed.places[held], carried, 1e-12)
    dilation = bar.system.elements.dilations(posed.places)
    assert (dilation * bar.system.elements.volumes).sum() / bar.system.elements.volumes.sum() > 0.9


def test_a_twist_is_passed_on(bar):
    posed = bar.pose({1: rotation_from_axis_angle(X, np.radians(50))})
    end = bar.solid.points[:, 0] > 4 - 1e-9
    (y, z), (u, v) = bar.solid.points[end, 1:].T, posed.places[end, 1:].T
    angle = np.arctan2((y * v - z * u).sum(), (y * u + z * v).sum())
    assert np.degrees(angle) == pytest.approx(50, abs=2)


@pytest.mark.parametrize("steps", [2, 6])
def test_load_steps_lead_to_the_same_shape(bar, steps):
    turns = {1: rotation_from_axis_angle(Y, np.radians(70)) @ rotation_from_axis_angle(X, 0.4)}
    one, several = bar.pose(turns), bar.pose(turns, load_steps=steps)
    assert several.load_steps == steps
    assert_same_points(several.places, one.places, 1e-5)


def test_more_load_steps_are_taken_where_few_do_not_come_to_rest(bar):
    turns = {1: rotation_from_axis_angle(Y, np.radians(70))}
    impatient = bar.pose(turns, options=NewtonOptions(steps=4))
    assert impatient.load_steps > 1
    assert impatient.in_balance
    assert_same_points(impatient.places, bar.pose(turns).places, 1e-5)
    never = bar.pose(turns, options=NewtonOptions(steps=1, trusted=0.0))
    assert not never.in_balance


def test_the_scene_may_be_turned(bar):
    turn = rotation_from_axis_angle(np.array([0.3, 1, -2]), 1.1)
    sticks = bar.skeleton
    turned = solid_of_tetrahedra(bar.solid.points @ turn.T, bar.solid.tets, bar.solid.tets[:, :3], "turned")
    there = ElasticBody.of(
        turned, StickSkeleton(sticks.joints @ turn.T, sticks.bones, sticks.names), room=bone_room_of(bar)
    )
    bend = rotation_from_axis_angle(Y, 0.9)
    assert_same_points(there.pose({1: turn @ bend @ turn.T}).places, bar.pose({1: bend}).places @ turn.T, 1e-9)


def bone_room_of(body):
    surface = body.solid.surface
    return bone_room(surface.rest.astype(float), surface.faces, body.skeleton)


def test_a_lattice_and_tetrahedra_agree(bar):
    skeleton = bar_skeleton()
    solid = lattice_around(bar.solid.surface, 0.24)
    turns = {1: rotation_from_axis_angle(Y, np.radians(45))}
    apart = ElasticBody.of(solid, skeleton).pose(turns).surface - bar.pose(turns).surface
    assert np.linalg.norm(apart, axis=1).mean() < 0.02 * 4


def test_bones_outside_are_named(refused):
    mesh = box((4, 1, 1), (0, -0.5, -0.5))
    skeleton = bar_skeleton()
    bone_room(mesh.rest.astype(float), mesh.faces, skeleton)
    beside = StickSkeleton(skeleton.joints + np.array([0, 2, 0]), skeleton.bones, ("hip", "knee", "foot"))
    with refused(GeometryError, "bone 'hip-knee' is outside the flesh", "2 in all"):
        bone_room(mesh.rest.astype(float), mesh.faces, beside)
    longer = StickSkeleton([[0.25, 0, 0], [2, 0, 0], [4.3, 0, 0]], skeleton.bones)
    assert not bone_room(mesh.rest.astype(float), mesh.faces, longer).inside.all()  # most of it counts


def test_bones_that_slip_through_are_named(refused):
    solid = solid_of_tetrahedra(*make_bar((2, 1, 1)))
    skeleton = bar_skeleton(8)
    room = bone_room(solid.surface.rest.astype(float), solid.surface.faces, skeleton)
    assert not holds_all_bones(solid, skeleton, room)
    with refused(GeometryError, "is too small for the elements around it", "smaller elements"):
        hold_nodes(solid, skeleton, room)


def test_a_bone_in_large_elements_holds_those_it_passes_through():
    solid = solid_of_tetrahedra(*make_bar((8, 1, 1)))
    body = ElasticBody.of(solid, bar_skeleton())
    assert (np.bincount(body.held[body.held >= 0]) >= 4).all()
    posed = body.pose({1: rotation_from_axis_angle(X, 0.6)})
    assert posed.in_balance
    end = solid.points[:, 0] > 4 - 1e-9
    (y, z), (u, v) = solid.points[end, 1:].T, posed.places[end, 1:].T
    assert np.arctan2((y * v - z * u).sum(), (y * u + z * v).sum()) == pytest.approx(0.6, abs=0.1)


def test_bones_hold_their_own_part_where_two_come_close():
    both = [box((4, 1, 1), (0, -0.5, -0.5)), box((4, 1, 1), (0, 0.55, -0.5))]
    surface = joined(*both)
    row = bar_skeleton(1).joints
    joints = np.concatenate([row, row + np.array([0, 1.05, 0])])
    skeleton = StickSkeleton(joints, [[0, 1], [2, 3]], root=0)
    solid = lattice_around(surface, 0.4)
    body = ElasticBody.of(solid, skeleton)
    piece = solid_pieces(solid)
    assert [len(set(piece[body.held == b].tolist())) for b in range(2)] == [1, 1]
    turned = body.pose({2: rotation_from_axis_angle(X, 0.5)})
    still = solid.surface.rest[:, 1] < 0.5
    assert_same_points(turned.surface[still], surface.rest[still], 1e-6)
    assert np.abs(turned.surface[~still] - surface.rest[~still]).max() > 0.2


def test_pieces_without_a_bone_are_named(refused):
    points, tets, faces = make_bar((8, 4, 4))
    both = solid_of_tetrahedra(
        np.concatenate([points, points + np.array([0, 3, 0])]),
        np.concatenate([tets, tets + len(points)]),
        np.concatenate([faces, faces + len(points)]),
    )
    with refused(GeometryError, f"{len(points)} nodes in 1 of its pieces have no bone"):
        ElasticBody.of(both, bar_skeleton())


def test_solids_are_put_in_order_or_refused(refused):
    points, tets, faces = make_bar((4, 2, 2))
    mixed = tets.copy()
    mixed[::2] = mixed[::2][:, [1, 0, 2, 3]]
    assert np.array_equal(np.sort(solid_of_tetrahedra(points, mixed, faces).tets), np.sort(tets))
    lonely = solid_of_tetrahedra(np.concatenate([points, [[9.0, 9, 9]]]), tets, faces)
    assert len(lonely.points) == len(points)
    with refused(GeometryError, "no tetrahedra"):
        solid_of_tetrahedra(points, tets[:0], faces)
    flat = points.copy()
    flat[tets[5, 0]] = flat[tets[5, 1:]].mean(axis=0)
    with refused(GeometryError, "tetrahedron 0 of nodes", "has no volume; mesh"):
        solid_of_tetrahedra(flat, tets[5:6], tets[5:6, :3])
    with refused(GeometryError, "vertex 0 is on the surface but in no tetrahedron"):
        solid_of_tetrahedra(points, tets[(tets != 0).all(axis=1)], faces)
    with refused(OptionError, "load_steps"):
        ElasticBody.of(solid_of_tetrahedra(*make_bar((8, 4, 4))), bar_skeleton()).pose({}, load_steps=0)
