"""The hand that Osteon makes: one closed surface, bones inside, joints that bend towards the palm."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.kinematics import pose_joints
from osteon.elastic.attachment import bone_room
from osteon.elastic.inside import inside_points
from osteon.synth.hand import hand_limits, hand_skeleton, make_hand
from osteon_bench.subjects import bar_skeleton, make_bar

from .conftest import smallest_angles, topology_of


@pytest.fixture(scope="module")
def hand():
    return make_hand()


def test_size_and_place(hand):
    vertices, faces, skeleton = hand
    assert 13_000 <= len(faces) <= 15_000
    assert 15 <= skeleton.n_bones <= 20
    assert skeleton.names[skeleton.root] == "wrist"
    assert np.ptp(vertices, axis=0).argmax() == 1
    assert faces.dtype == np.int32


@pytest.mark.parametrize("resolution", [45, 62])
def test_one_closed_surface_of_good_triangles(resolution):
    vertices, faces, _ = make_hand(resolution)
    found = topology_of(len(vertices), faces)
    assert found.triangles_at_edge == {2}
    assert found.consistent
    assert found.fans
    assert (found.n_shells, found.euler) == (1, 2)  # no finger has grown to another
    angles = smallest_angles(vertices, faces)
    assert np.percentile(angles, 1) > 22


def test_bones_lie_inside_flesh_of_some_thickness(hand):
    vertices, faces, skeleton = hand
    room = bone_room(vertices, faces, skeleton)
    assert room.inside.all()
    assert room.thinnest > 0.05


def test_joints_bend_towards_the_palm():
    skeleton, limits = hand_skeleton(), hand_limits()
    number = {name: j for j, name in enumerate(skeleton.names)}
    assert len(limits) == 20
    assert {limit.joint for limit in limits} == {name for name in skeleton.names if name[-1] in "123"}
    for limit in limits:
        tip = number[f"{limit.joint.partition('.')[0]}.tip"]
        posed, _ = pose_joints(skeleton, {number[limit.joint]: limit.rotation(min(limit.high, 40))}, {})
        moved = posed[tip] - skeleton.joints[tip]
        if limit.name != "spread" and not limit.joint.startswith("thumb"):
            assert moved[2] > 0.02, limit
        elif limit.name == "spread" and limit.joint.startswith(("index", "ring", "little")):
            assert moved[0] * skeleton.joints[tip][0] > 0, limit  # away from the middle


def test_the_bar(refused):
    points, tets, faces = make_bar((4, 2, 3), 2.0)
    assert len(tets) == 6 * 24
    found = topology_of(len(np.unique(faces)), np.unique(faces, return_inverse=True)[1].reshape(-1, 3))
    assert found.triangles_at_edge == {2}
    assert found.consistent
    assert inside_points(np.array([[1.0, 0.1, 0.2], [3.0, 0, 0]]), points, faces).tolist() == [True, False]
    assert np.array_equal(bar_skeleton(3, 4.0).joints[[0, -1], 0], [0.25, 3.75])
    with refused(OptionError, "cells"):
        make_bar((0, 1, 1))
    with refused(OptionError, "resolution"):
        make_hand(10)
