from __future__ import annotations

import numpy as np
import pytest

from osteon.synth.gait import BONES, STANCE, STRIDE, TOUCHDOWN, GaitVariation, gallop, plane_angle, reach

TYPICAL = GaitVariation.from_seed(0)


def _paw(leg: str) -> str:
    kind, side = leg.split(".")
    return f"{kind}paw.{side}"


def test_bones_stay_attached_and_rotations_are_rotations() -> None:
    pose = gallop(np.arange(24) / 24, TYPICAL)
    assert set(pose.rotations) == set(BONES)
    for name, bone in BONES.items():
        turn = pose.rotations[name]
        np.testing.assert_allclose(turn @ turn.transpose(0, 2, 1), np.tile(np.eye(3), (24, 1, 1)), atol=1e-12)
        if bone.parent:
            np.testing.assert_allclose(pose.carried(bone.parent, bone.head), pose.heads[name], atol=1e-12)


def test_cycle_closes() -> None:
    start, end = gallop(np.array([0.0]), TYPICAL), gallop(np.array([1.0]), TYPICAL)
    for name in BONES:
        np.testing.assert_allclose(start.heads[name], end.heads[name], atol=1e-12)


@pytest.mark.parametrize("leg", TOUCHDOWN)
def test_carrying_foot_does_not_slide_at_full_stride(leg: str) -> None:
    phase = TOUCHDOWN[leg] + np.linspace(0.01, STANCE - 0.05, 20)
    paw = gallop(phase, TYPICAL).heads[_paw(leg)]
    assert np.ptp(paw[:, 2] + STRIDE * phase) < 0.04
    assert np.ptp(paw[:, 1]) < 0.02


def test_feet_land_in_the_order_of_a_gallop() -> None:
    phase = np.arange(200) / 200
    pose = gallop(phase, TYPICAL)
    down = np.stack([pose.heads[_paw(leg)][:, 1] < 0.1 for leg in TOUCHDOWN])
    flights = np.diff(np.concatenate([down.any(axis=0), down.any(axis=0)[:1]]).astype(int))
    assert (flights == -1).sum() == 2  # two flights in each cycle
    hind, fore = down[:2].any(axis=0), down[2:].any(axis=0)
    assert not (hind & fore).any()


def test_reach_meets_a_goal_and_bends_the_right_way() -> None:
    start, goal = np.zeros((1, 3)), np.array([[0.0, -1.2, 0.3]])
    for bend in (1, -1):
        first, second = reach(start, goal, 1.0, 0.8, bend)
        knee = np.array([0, -np.cos(first[0]), np.sin(first[0])])
        end = knee + 0.8 * np.array([0, -np.cos(second[0]), np.sin(second[0])])
        np.testing.assert_allclose(end, goal[0], atol=1e-12)
        assert np.sign(plane_angle(knee) - plane_angle(goal[0])) == bend


def test_reach_of_a_far_goal_stays_short_of_straight() -> None:
    goals = np.array([[0.0, -d, 0.0] for d in (1.5, 1.9, 3.0, 50.0)])
    first, second = reach(np.zeros((4, 3)), goals, 1.0, 1.0, 1)
    height = np.cos(first) + np.cos(second)
    assert (np.diff(height) > 0).all()
    assert height[-1] <= 2


def test_seeds_vary_timing_but_zero_is_typical() -> None:
    assert not TYPICAL.timing.any()
    assert np.abs(GaitVariation.from_seed(5).timing).max() > 0
