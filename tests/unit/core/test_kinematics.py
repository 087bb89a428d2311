"""Turns and stretches that are passed on from the root, and least rotations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from osteon.core.kinematics import align_rotations, pose_joints, tree_bones
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import least_rotation, rotation_from_axis_angle

Z = np.array([0.0, 0.0, 1.0])
#: hip, knee, foot down the y axis, and a tail at the hip. The bone of the tail is told from its end.
LEG = StickSkeleton(
    np.array([[0, 2, 0], [0, 1, 0], [0, 0, 0], [1, 2, 0]], float),
    np.array([[0, 1], [1, 2], [3, 0]]),
    ("hip", "knee", "foot", "tail"),
)
directions = arrays(np.float64, 3, elements=st.floats(-1, 1, width=32)).filter(lambda v: np.abs(v).max() > 1e-3)


def quarter(axis=Z):
    return rotation_from_axis_angle(np.asarray(axis, float), np.pi / 2)


def test_nothing_told_is_the_rest_pose():
    joints, turns = pose_joints(LEG, {}, {})
    assert np.array_equal(joints, LEG.joints)
    assert np.array_equal(turns, np.tile(np.eye(3), (3, 1, 1)))


def test_a_turn_moves_what_hangs_below():
    joints, turns = pose_joints(LEG, {1: quarter()}, {})
    assert np.allclose(joints, [[0, 2, 0], [0, 1, 0], [1, 1, 0], [1, 2, 0]])
    assert np.allclose(turns, [np.eye(3), quarter(), np.eye(3)])


def test_axes_go_along_with_the_limb():
    """The hip turns the leg forward, then the knee bends about the same axis of the rest pose, now another one."""
    joints, _ = pose_joints(LEG, {0: quarter((1, 0, 0)), 1: quarter()}, {})
    assert np.allclose(joints[1], [0, 2, -1])
    assert np.allclose(joints[2], [1, 2, -1])


def test_a_stretch_moves_what_hangs_on_the_bone():
    joints, _ = pose_joints(LEG, {0: quarter()}, {0: 3.0})
    assert np.allclose(joints, [[0, 2, 0], [3, 2, 0], [4, 2, 0], [0, 3, 0]])


def test_the_root_decides_what_is_below():
    upside = StickSkeleton(LEG.joints, LEG.bones, LEG.names, root=2)
    joints, turns = pose_joints(upside, {1: quarter()}, {})
    assert np.allclose(joints, [[-1, 1, 0], [0, 1, 0], [0, 0, 0], [-1, 2, 0]])
    assert np.allclose(turns, [quarter(), np.eye(3), quarter()])


def test_cycles_and_pieces():
    ring = StickSkeleton(
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 0, 0], [6, 0, 0]], float),
        np.array([[0, 1], [1, 2], [2, 0], [3, 4]]),
    )
    assert sorted(tree_bones(ring)) == [0, 2, 3]
    joints, turns = pose_joints(ring, {0: quarter(), 1: quarter()}, {})
    assert np.allclose(joints, [[0, 0, 0], [0, 1, 0], [-1, 0, 0], [5, 0, 0], [6, 0, 0]])
    rotations = align_rotations(ring, joints, turns)
    for b, (start, stop) in enumerate(ring.bones):
        turned = rotations[b] @ ring.vectors[b]
        assert np.allclose(turned, joints[stop] - joints[start])


@given(directions, directions)
def test_the_least_rotation(source, target):
    rotation = least_rotation(source, target)
    s, t = source / np.linalg.norm(source), target / np.linalg.norm(target)
    assert np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-14)
    assert np.isclose(np.linalg.det(rotation), 1)
    assert np.allclose(rotation @ s, t, atol=1e-6)
    angle = np.arccos(np.clip((np.trace(rotation) - 1) / 2, -1, 1))
    assert np.isclose(angle, np.arccos(np.clip(s @ t, -1, 1)), atol=1e-6)


@given(directions, st.floats(-200, 200))
def test_any_length_will_do(direction, power):
    scaled = direction * 10.0**power
    assert np.allclose(least_rotation(scaled, direction), np.eye(3), atol=1e-12)


@pytest.mark.parametrize("direction", [(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0.6, -0.8, 0)])
def test_back_to_front_in_the_plane_is_a_turn_in_the_plane(direction):
    direction = np.array(direction, float)
    assert np.allclose(least_rotation(direction, -direction), np.diag([-1.0, -1, 1]), atol=1e-12)


def test_no_direction_is_no_turn():
    nothing = np.zeros(3)
    assert np.array_equal(least_rotation(nothing, Z), np.eye(3))
    assert np.array_equal(least_rotation(Z, nothing), np.eye(3))


@given(directions, st.floats(-3, 3))
def test_known_turns_about_the_bone_are_kept(axis, angle):
    """A rigid motion of all joints with its own rotation is not changed, whatever the angle about each bone."""
    turn = rotation_from_axis_angle(axis, angle)
    kept = align_rotations(LEG, LEG.joints @ turn.T + 5, np.tile(turn, (3, 1, 1)))
    assert np.allclose(kept, turn, atol=1e-13)
