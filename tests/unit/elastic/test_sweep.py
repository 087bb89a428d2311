"""Which poses are simulated: sweeps, given poses, and guesses of how far joints turn."""

from __future__ import annotations

import json

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.kinematics import JointLimit
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import rotation_from_axis_angle
from osteon.elastic.joint_limits import guess_limits
from osteon.elastic.options import FleshOptions, SweepOptions
from osteon.elastic.sweep import join_plans, plan_given, plan_sweep
from osteon.io.poses import load_poses
from osteon.synth.hand import hand_limits, hand_skeleton
from osteon_bench.subjects import bar_skeleton

X, Z = np.array([1.0, 0, 0]), np.array([0, 0, 1.0])
ROW = bar_skeleton(3)
LIMITS = (
    JointLimit("joint1", (0, 1, 0), -15, 80, "bend"),
    JointLimit("joint1", (0, 0, 1), -30, 30, "sway"),
    JointLimit("joint2", (0, 1, 0), 0, 60),
)


def degrees(turn) -> float:
    return float(np.degrees(np.arccos((np.trace(turn) - 1) / 2)))


def test_a_sweep_has_poses_of_each_kind():
    poses = plan_sweep(ROW, LIMITS, SweepOptions(sweep=True))
    kinds = [pose.kind for pose in poses]
    assert [kinds.count(kind) for kind in ("train", "pair", "validate")] == [22, 2, 25]
    assert len({pose.name for pose in poses}) == len(poses)
    singles = {pose.name: degrees(pose.joint_rotations[2]) for pose in poses if pose.name.startswith("joint2_")}
    assert singles == pytest.approx({f"joint2_+{d}": d for d in (10, 20, 30, 40, 50, 60)})
    sways = [pose.name for pose in poses if "_sway_" in pose.name]
    assert sways == [f"joint1_sway_{d:+d}" for d in (-30, -20, -10, 10, 20, 30)]
    ends = [pose.name for pose in poses if "_bend_" in pose.name]
    assert (ends[0], ends[-1]) == ("joint1_bend_-15", "joint1_bend_+80")
    pairs = [pose.joint_rotations for pose in poses if pose.kind == "pair"]
    assert [{j: round(degrees(turn)) for j, turn in pair.items()} for pair in pairs] == [{1: 40, 2: 30}, {1: 80, 2: 60}]
    for pose in poses[-25:]:
        assert set(pose.joint_rotations) == {1, 2}
        assert degrees(pose.joint_rotations[2]) <= 60


def test_two_ways_of_a_joint_at_once_are_turned_as_random_poses_turn_them():
    poses = {pose.name: pose for pose in plan_sweep(ROW, LIMITS, SweepOptions(sweep=True, validate=0))}
    names = [name for name in poses if "bend" in name and "sway" in name]
    assert names == [f"joint1_bend+{b}_sway{s:+d}" for b in (40, 80) for s in (-30, 30)]
    assert {poses[name].kind for name in names} == {"train"}
    bend, sway = LIMITS[:2]
    assert np.allclose(poses[names[-1]].joint_rotations[1], sway.rotation(30) @ bend.rotation(80))


def test_joints_are_neighbours_across_bones_that_stay_as_they_are():
    """Joints of two branches, with a joint between that has no limits."""
    places = np.array([[0.0, 0, 0], [0, 1, 0], [-1, 2, 0], [-1, 3, 0], [1, 2, 0], [1, 3, 0], [1, 4, 0]])
    bones = np.array([[0, 1], [1, 2], [2, 3], [1, 4], [4, 5], [5, 6]])
    skeleton = StickSkeleton(places, bones, ("root", "fork", "left", "left end", "right", "right2", "right end"))
    limits = tuple(JointLimit(joint, (1, 0, 0), 0, 60) for joint in ("left", "right", "right2"))
    poses = plan_sweep(skeleton, limits, SweepOptions(sweep=True, each=1, validate=0))
    pairs = {tuple(sorted(skeleton.names[j] for j in pose.joint_rotations)) for pose in poses if pose.kind == "pair"}
    assert pairs == {("right", "right2"), ("left", "right")}


def test_a_seed_makes_the_same_poses_again():
    def turns(seed):
        poses = plan_sweep(ROW, LIMITS, SweepOptions(sweep=True, seed=seed, validate=3))
        return np.array([pose.joint_rotations[1] for pose in poses[-3:]])

    assert np.array_equal(turns(4), turns(4))
    assert not np.array_equal(turns(4), turns(5))


def test_some_joints_only():
    poses = plan_sweep(ROW, LIMITS, SweepOptions(sweep=True, joints=("joint2",), each=3, validate=1, pairs=False))
    assert [pose.name for pose in poses] == ["joint2_+20", "joint2_+40", "joint2_+60", "random_01"]
    assert all(set(pose.joint_rotations) == {2} for pose in poses)


def test_the_hand_is_swept_as_in_the_paper():
    poses = plan_sweep(hand_skeleton(), hand_limits(), SweepOptions(sweep=True))
    kinds = [pose.kind for pose in poses]
    assert [kinds.count(kind) for kind in ("train", "pair", "validate")] == [140, 40, 25]


def given(tmp_path, *poses, **options):
    path = tmp_path / "kick.json"
    path.write_text(json.dumps({"poses": poses} if len(poses) > 1 else poses[0]))
    skeleton = StickSkeleton(ROW.joints + 0.1 * np.eye(4)[:, 1:], ROW.bones, ROW.names)
    return plan_given(skeleton, load_poses([path], skeleton), SweepOptions(**options))


def turn(d):
    return {"axis": [1, 0, 0], "degrees": d}


def test_given_poses(tmp_path):
    poses = given(
        tmp_path,
        {"rotate": {"joint1": turn(20)}, "translate": [1, 2, 3]},
        {"rotate": {"joint1": turn(20), "joint2": turn(5)}},
        {"rotate": {"joint0": turn(20), "joint2": turn(5)}},
    )
    assert [pose.kind for pose in poses] == ["train", "pair", "train"]
    assert [pose.name for pose in poses] == ["kick_0", "kick_1", "kick_2"]
    assert poses[0].shift == (1, 2, 3)
    np.testing.assert_allclose(poses[0].joint_rotations[1], rotation_from_axis_angle(X, np.radians(20)), atol=1e-12)
    judged = given(tmp_path, {"rotate": {"joint1": turn(20)}}, kind="validate")
    assert [(pose.name, pose.kind) for pose in judged] == [("kick", "validate")]


@pytest.mark.parametrize(
    ("pose", "said"),
    [
        ({}, "moves no joint"),
        ({"translate": [1, 0, 0]}, "moves no joint"),
        ({"bones": {"joint0-joint1": {"stretch": 2}}}, "where no rotation takes it"),
        ({"joints": {"joint3": [9, 9, 9]}}, "puts joint 'joint3' where no rotation takes it"),
        ({"rotate": {"joint1": turn(9)}, "bones": {"joint0-joint1": {"twist": 20}}}, "'twist'"),
        ({"rotate": {"joint1": turn(9)}, "pins": {"3": [0, 0, 0]}}, "'pins'"),
    ],
)
def test_poses_that_flesh_cannot_follow_are_named(tmp_path, refused, pose, said):
    with refused(OptionError, "pose 'kick'", said):
        given(tmp_path, pose)


def test_names_become_names_of_files():
    limits = (JointLimit("a/b: c", (0, 1, 0), 0, 60),)
    skeleton = StickSkeleton(ROW.joints, ROW.bones, ("rest", "a/b: c", "x", "y"))
    names = [p.name for p in plan_sweep(skeleton, limits, SweepOptions(sweep=True, each=2, validate=0))]
    assert names == ["a-b-c_+30", "a-b-c_+60"]
    plan = plan_sweep(ROW, LIMITS, SweepOptions(sweep=True, validate=1))
    assert len({pose.name for pose in join_plans(plan, plan)}) == 2 * len(plan)


def test_limits_are_guessed_from_bends():
    limits = guess_limits(hand_skeleton())
    joints = [limit.joint for limit in limits]
    assert len(joints) == len(set(joints)) == 15  # hinges, the wrist stays
    told = {limit.joint: limit for limit in hand_limits() if limit.name != "spread"}
    for limit in limits:
        assert np.dot(limit.axis, told[limit.joint].axis) > 0.9, limit.joint
    straight = guess_limits(bar_skeleton(3))
    assert [(limit.joint, limit.name) for limit in straight] == [
        (joint, way) for joint in ("joint1", "joint2") for way in ("bend", "sway")
    ]
    for limit in straight:
        assert abs(np.dot(limit.axis, X)) < 1e-9
    assert guess_limits(bar_skeleton(1)) == ()


def test_options_without_effect_are_refused(refused):
    with refused(OptionError, "validate", "--sweep"):
        SweepOptions(validate=3)
    with refused(OptionError, "joints: 'joint3' has no limits", "joint1, joint2"):
        plan_sweep(ROW, LIMITS, SweepOptions(sweep=True, joints=("joint3",)))
    with refused(OptionError, "poisson"):
        FleshOptions(poisson=0.5)
    with refused(OptionError, "cells", "0 to find the number"):
        FleshOptions(cells=-1)
