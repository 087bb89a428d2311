"""Who gets which level: near ones more, all together no more than there is time for, and never in jumps."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import pi

import pytest

from osteon.core.errors import OptionError
from osteon.lod.controller import (
    ControllerOptions,
    ControllerState,
    SeenCharacter,
    control_levels,
    pixels_per_unit,
)
from osteon.lod.progressive_skin import LevelCurve

CURVE = LevelCurve(
    [i / 10 for i in range(11)],
    range(1, 12),
    [1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4],
    [0.2 * 0.5**i for i in range(10)] + [0],
    [0.0] + 10 * [0.001],
)
OPTIONS = ControllerOptions(budget=0.01)


def crowd(distances: list[float]) -> list[SeenCharacter]:
    return [SeenCharacter(CURVE, pixels_per_unit(d, 1000, pi / 3)) for d in distances]


def frame_time(levels: tuple[float, ...], overhead: float = 0.001) -> float:
    """What a frame takes: something, and something for every character that grows with its level."""
    return overhead + sum(0.0002 + 0.001 * level for level in levels)


def run(seen: list[SeenCharacter], frames: int, options: ControllerOptions = OPTIONS) -> list[ControllerState]:
    state, states = ControllerState(), []
    for _ in range(frames):
        state = control_levels(state, frame_time(state.levels), seen, options)
        states.append(state)
    return states


def test_meets_the_budget_and_stays_there():
    states = run(crowd([2.0 + i for i in range(20)]), 600)
    last = [frame_time(state.levels) for state in states[-100:]]
    assert max(last) <= 1.1 * OPTIONS.budget
    assert min(last) >= 0.7 * OPTIONS.budget


def test_near_characters_get_more():
    levels = run(crowd([3.0, 10.0, 40.0, 160.0]), 50)[-1].levels
    assert levels[0] > levels[1] > levels[2] > levels[3]


def test_with_time_to_spare_nobody_is_off_by_more_than_the_least():
    options = ControllerOptions(budget=1.0, rate=10)
    state = run(crowd([3.0, 10.0]), 400, options)[-1]
    assert state.tolerance == options.least_pixels
    for seen, level in zip(crowd([3.0, 10.0]), state.levels, strict=True):
        assert seen.curve.rms[round(10 * level)] * seen.pixels_per_unit <= options.least_pixels


def test_levels_go_no_faster_than_they_may():
    states = run(crowd([1.0] * 40), 100)
    for before, after in pairwise(states):
        most = OPTIONS.rate * after.times[-1]
        assert all(abs(a - b) <= most + 1e-12 for a, b in zip(before.levels, after.levels, strict=True))


def test_no_vertex_moves_farther_than_it_may():
    for before, after in pairwise(run(crowd([1.0, 5.0, 90.0] * 8), 100)):
        way = OPTIONS.way * min(1.0, 60 * after.times[-1])
        for a, b in zip(before.levels, after.levels, strict=True):
            assert 10 * 0.001 * abs(b - a) <= way + 1e-12  # the reach of every tenth is 0.001
    stiff = replace(CURVE, reach=[0.0] + 10 * [0.1])
    levels = [0.0]
    for _ in range(50):
        state = ControllerState((levels[-1],), tolerance=0.25)
        levels.append(control_levels(state, 1 / 60, [SeenCharacter(stiff, 1e6)], ControllerOptions()).levels[0])
    assert max(b - a for a, b in pairwise(levels)) == pytest.approx(0.1 * 0.004 / 0.1)


def test_what_takes_the_time_is_what_gets_coarser():
    """A picture of which bones take a hundredth keeps its bones, and its meshes get coarser; and vice versa."""
    for spent, bones_first in ((0.0004, False), (0.039, True)):
        state = ControllerState()
        for _ in range(30):
            state = control_levels(state, 0.04, [], OPTIONS, bone_time=spent)
        assert (state.tolerance > state.mesh_tolerance) == bones_first
        assert min(state.tolerance, state.mesh_tolerance) < 1.3 < 2 < max(state.tolerance, state.mesh_tolerance)
    for _ in range(200):
        state = control_levels(state, 0.001, [], OPTIONS, bone_time=0.0001)
    assert (state.tolerance, state.mesh_tolerance) == (OPTIONS.least_pixels, OPTIONS.least_pixels)


def test_the_mean_of_five_frames_counts():
    state = ControllerState(times=(0.01,) * 4)
    state = control_levels(state, 0.06, [], OPTIONS)
    assert state.mean_time == pytest.approx(0.02)
    for _ in range(5):
        state = control_levels(state, 0.01, [], OPTIONS)
    assert state.times == (0.01,) * 5


def test_same_calls_same_levels():
    assert run(crowd([2.0, 5.0, 9.0]), 80) == run(crowd([2.0, 5.0, 9.0]), 80)


def test_who_is_not_in_the_picture_gets_the_least_and_who_comes_in_starts_there():
    state = control_levels(ControllerState(), 0.01, [SeenCharacter(CURVE, 0.0)], OPTIONS)
    assert state.levels == (0.0,)
    seen = [SeenCharacter(CURVE, 0.0), *crowd([2.0])]
    assert control_levels(state, 0.01, seen, OPTIONS).levels[1] == seen[1].level_for(state.tolerance)


def test_size_on_the_screen():
    assert pixels_per_unit(10, 1000, pi / 2) == pytest.approx(50)
    assert pixels_per_unit(20, 1000, pi / 2, scale=2) == pytest.approx(50)
    assert pixels_per_unit(0, 1000, pi / 2) == 1000


def test_levels_rest_where_whole_bones_are():
    state = run(crowd([3.0, 30.0]), 300, ControllerOptions(budget=1.0))[-1]
    assert all(level in CURVE.levels for level in state.levels)


@pytest.mark.parametrize(
    "options", [{"budget": 0.0}, {"rate": -1.0}, {"slack": 1.0}, {"least_pixels": 2.0, "most_pixels": 1.0}]
)
def test_refuses_options(options):
    with pytest.raises(OptionError):
        ControllerOptions(**options)


def test_refuses_times():
    with pytest.raises(OptionError, match="frame_time: expected seconds, got -1"):
        control_levels(ControllerState(), -1, [])
