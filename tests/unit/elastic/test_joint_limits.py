"""Kinds of joints by name, and the limits that they get."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.sticks import StickSkeleton
from osteon.elastic.joint_limits import guess_limits, joint_kinds

#: Pelvis, spine, neck with a head, one arm from the collar to the fingers, one leg that is straight.
PLACES = {
    "Hips": (0, 0, 0),
    "Spine": (0, 1, 0),
    "Neck": (0, 2, 0),
    "Head": (0, 2.3, 0),
    "Top": (0, 2.8, 0),
    "LeftShoulder": (0.2, 1.9, 0),
    "LeftArm": (0.5, 1.9, 0),
    "LeftForeArm": (1.5, 1.9, -0.2),
    "LeftHand": (2.5, 1.9, 0),
    "LeftHandIndex1": (2.7, 1.9, 0),
    "LeftHandIndex2": (2.9, 1.88, 0),
    "end": (3.0, 1.84, 0),
    "LeftUpLeg": (0.3, -0.1, 0),
    "LeftLeg": (0.3, -1.1, 0),
    "LeftFoot": (0.3, -2.1, 0),
    "toe": (0.3, -2.1, 0.5),
}
PARENTS = [0, 0, 1, 2, 3, 1, 5, 6, 7, 8, 9, 10, 0, 12, 13, 14]


@pytest.fixture(scope="module")
def person() -> StickSkeleton:
    bones = np.array([[PARENTS[j], j] for j in range(1, len(PLACES))])
    return StickSkeleton(np.array(list(PLACES.values()), float), bones, tuple(PLACES))


def test_kinds_by_name(person):
    kinds = dict(zip(person.names, joint_kinds(person), strict=True))
    assert kinds["LeftShoulder"] == "clavicle"
    assert kinds["LeftArm"] == kinds["LeftUpLeg"] == "ball"
    assert kinds["LeftForeArm"] == kinds["LeftLeg"] == "hinge"
    assert kinds["LeftHand"] == kinds["LeftFoot"] == "wrist"
    assert kinds["LeftHandIndex1"] == kinds["toe"] == "finger"
    assert kinds["Neck"] == kinds["Head"] == "neck"
    assert kinds["Top"] == "unnamed"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("upper_arm.L", "ball"),
        ("forearm.L", "hinge"),
        ("mixamorig:RightForeArm", "hinge"),
        ("b_LeftLeg01_015", "ball"),
        ("J_Bip_L_LowerLeg", "hinge"),
        ("calf_r", "hinge"),
        ("thigh_r", "ball"),
        ("clavicle_l", "clavicle"),
        ("spine_02", "spine"),
        ("shoulder.R", "ball"),
        ("tail_3", "unnamed"),
    ],
)
def test_names_of_many_programs(name, kind):
    sticks = StickSkeleton(
        np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]), np.array([[0, 1], [1, 2]]), ("root", name, "x")
    )
    assert joint_kinds(sticks)[1] == kind


def test_joints_of_a_limb_are_counted():
    names = ("torso", "arm_L_1", "arm_L_2", "arm_L_3", "end")
    sticks = StickSkeleton(np.arange(15.0).reshape(5, 3), np.array([[0, 1], [1, 2], [2, 3], [3, 4]]), names)
    assert joint_kinds(sticks)[1:4] == ("ball", "hinge", "wrist")


def test_limits_by_kind(person):
    limits: dict[str, list] = {}
    for limit in guess_limits(person):
        limits.setdefault(limit.joint, []).append(limit)
    assert "Hips" not in limits  # the root
    assert not {"Top", "end", "toe"} & set(limits)  # ends
    ways = {joint: [(limit.name, limit.low, limit.high) for limit in mine] for joint, mine in limits.items()}
    assert ways["LeftArm"] == [("bend", -50, 50), ("sway", -50, 50), ("turn", -30, 30)]
    assert ways["Spine"] == [("bend", -20, 20), ("sway", -20, 20), ("turn", -20, 20)]  # it has two children
    assert ways["LeftShoulder"] == [("bend", -15, 15), ("sway", -15, 15)]
    assert ways["LeftForeArm"] == [("", 0, 90)]
    assert ways["LeftLeg"] == [("", -90, 90)]  # straight: no way to see where it bends
    assert ways["LeftHandIndex1"] == [("", 0, 70)]
    elbow = limits["LeftForeArm"][0]
    hand = person.joints[8] - person.joints[7]
    bent = elbow.rotation(30.0) @ hand
    shoulder = person.joints[7] - person.joints[6]
    assert bent @ shoulder < hand @ shoulder  # towards the upper arm
    for limit in limits["LeftArm"][:2]:
        assert abs(np.dot(limit.axis, person.joints[6] - person.joints[5])) < 1e-9
