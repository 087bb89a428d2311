"""The comparison itself, with players made up here: it finds corners in any order, and sees who is off."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.errors import OsteonError
from osteon.deform.pose import pose_frames
from osteon_bench.players.deviation import Reference, match_corners, sampled_frames, worst_detour, worst_deviation

from ..subjects import bent_tube

MODEL = bent_tube(n_frames=6).model
FRAMES = pose_frames(MODEL).astype(np.float64)
CORNERS = MODEL.faces.ravel()
DIAGONAL = float(np.linalg.norm(np.ptp(MODEL.rest, axis=0)))


def straight(clip: int, times: list[float]) -> np.ndarray:
    """A player that goes straight from frame to frame."""
    at = np.array(times) * MODEL.clips[clip].fps
    before = np.minimum(at.astype(int), len(FRAMES) - 2)
    part = (at - before)[:, None, None]
    return ((1 - part) * FRAMES[before] + part * FRAMES[before + 1])[:, CORNERS]


def test_corners_are_found_in_any_order():
    order = np.random.default_rng(0).permutation(len(MODEL.faces))
    faces = MODEL.faces[order]
    faces = np.take_along_axis(faces, (np.arange(3) + order[:, None]) % 3, axis=1)  # beginning at any corner
    found = match_corners(MODEL.rest[faces.ravel()], MODEL.rest, MODEL.faces)
    assert np.array_equal(found, faces.ravel())


@pytest.mark.parametrize("count", [1, 5])
def test_other_triangles_are_refused(count):
    shown = np.repeat(MODEL.rest[CORNERS[:3]], count, axis=0)
    with pytest.raises(OsteonError, match="other triangles"):
        match_corners(shown, MODEL.rest, MODEL.faces)


def test_a_player_that_agrees():
    reference = Reference(MODEL, CORNERS)
    assert worst_deviation(reference, straight) <= 1e-6
    assert worst_detour(reference, straight) == 0.0


def test_a_player_that_is_off():
    def off(clip: int, times: list[float]) -> np.ndarray:
        shown = straight(clip, times)
        shown[-1, 7, 1] += 0.01 * DIAGONAL
        return shown

    assert worst_deviation(Reference(MODEL, CORNERS), off) == pytest.approx(0.01, rel=1e-3)


def test_a_player_that_takes_a_way_round():
    def swerving(clip: int, times: list[float]) -> np.ndarray:
        away = 2.0 * DIAGONAL * np.sin(np.pi * np.array(times) * MODEL.clips[0].fps)
        return straight(clip, times) + away[:, None, None]

    reference = Reference(MODEL, CORNERS)
    assert worst_deviation(reference, swerving) <= 1e-6
    assert worst_detour(reference, swerving) > 1.0


def test_another_number_of_corners_is_refused():
    with pytest.raises(OsteonError, match="3 corners"):
        worst_deviation(Reference(MODEL, CORNERS), lambda clip, times: straight(clip, times)[:, :3])


@pytest.mark.parametrize(("frames", "expected"), [(1, [0]), (3, [0, 1, 2]), (101, [0, 20, 40, 60, 80, 100])])
def test_samples_reach_from_end_to_end(frames, expected):
    assert sampled_frames(Clip("clip", 5, 5 + frames)).tolist() == expected
