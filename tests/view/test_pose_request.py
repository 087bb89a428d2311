"""Poses as the page sends them: taken as they are meant, or refused in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.view.jobs.pose_request import pose_request

HALF = 0.5**0.5
LINE = {"name": "line1", "rest": [[0, 0, 0], [1, 0, 0]], "ends": [[0, 0, 0], [0, 1, 0]], "domain": {"tube": 0.3}}
POSE: dict[str, Any] = {
    "joints": [[0, 0, 0], [0, 1, 0]],
    "turns": [[0, 0, HALF, HALF]],
    "twist": [[0, 0.5]],
    "cross": [1.5],
    "lines": [LINE],
    "pins": [{"vertex": 3, "target": [1, 2, 3]}],
    "methods": ["simplex", "ssd"],
    "measure": "strain",
    "judge": True,
}


def test_a_request_becomes_a_track():
    request = pose_request(POSE)
    track = request.track(2, 1)
    np.testing.assert_allclose(track.rotations[0, 0] @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    np.testing.assert_array_equal(track.twist, [[[0, 0.5]]])
    np.testing.assert_array_equal(track.cross_scale, [[1.5]])
    assert track.lines.lines[0].domain.tube == 0.3
    np.testing.assert_array_equal(track.lines.ends[0, 0, 1], [0, 1, 0])
    np.testing.assert_array_equal(track.pins.targets, [[[1, 2, 3]]])
    assert (request.methods, request.measure, request.judge) == (("simplex", "ssd"), "strain", True)


def test_what_is_left_out_means_nothing_special():
    request = pose_request({"joints": [[0, 0, 0], [1, 0, 0]], "turns": [[0, 0, 0, 1]]})
    track = request.track(2, 1)
    np.testing.assert_array_equal(track.rotations[0, 0], np.eye(3))
    assert not track.twist.any()
    assert (request.lines, request.methods, request.measure) == ((), ("simplex",), None)
    assert pose_request({}).track(0, 0).joints.shape == (1, 0, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"joints": "all"}, "joints: expected n x 3 numbers"),
        ({"joints": [[0, 0], [1, 0]]}, "joints"),
        ({"joints": [[0, 0, 0], [1, 0]]}, "joints"),
        ({"joints": [["0", "0", "0"]]}, "joints"),
        ({"joints": [[True, False, True]]}, "joints"),
        ({"joints": [[0, 0, float("nan")]]}, "not finite"),
        ({"joints": [[0, 0, 1e300]]}, "too large"),
        ({"joints": [[0, 0, 0]] * 10_001}, "joints"),
        ({"turns": [[0, 0, 0, 0]]}, "unit quaternions"),
        ({"twist": [[0, 0], [0, 0]]}, "twist: expected 1 x 2"),
        ({"cross": [0]}, "a scale must be in"),
        ({"cross": [-1]}, "a scale must be in"),
        ({"lines": {}}, "lines: expected a list"),
        ({"lines": ["line"]}, "lines: expected objects"),
        ({"lines": [LINE, LINE]}, "same name"),
        ({"lines": [{**LINE, "name": ""}]}, "short name"),
        ({"lines": [{**LINE, "name": "\n"}]}, "short name"),
        ({"lines": [{**LINE, "rest": [[0, 0, 0], [0, 0, 0]]}]}, "two different"),
        ({"lines": [{**LINE, "ends": [[1, 0, 0], [1, 0, 0]]}]}, "coincide"),
        ({"lines": [{**LINE, "domain": {"tube": -1}}]}, "positive"),
        ({"lines": [{**LINE, "domain": {"sphere": 1}}]}, "'sphere' is unknown"),
        ({"lines": [{**LINE, "cross": [1]}]}, "cross"),
        ({"lines": [{**LINE, "colour": "red"}]}, "'colour' is unknown"),
        ({"lines": [LINE] * 65}, "at most 64"),
        ({"pins": [{"vertex": -1, "target": [0, 0, 0]}]}, "number of a vertex"),
        ({"pins": [{"vertex": True, "target": [0, 0, 0]}]}, "number of a vertex"),
        ({"pins": [{"vertex": 1.5, "target": [0, 0, 0]}]}, "number of a vertex"),
        ({"pins": [{"vertex": 1}]}, "target"),
        ({"pins": [{"vertex": 1, "target": [0, 0, 0]}] * 2}, "twice"),
        ({"methods": []}, "methods"),
        ({"methods": ["magic"]}, "methods"),
        ({"methods": "simplex"}, "methods"),
        ({"measure": "beauty"}, "measure"),
        ({"measure": ["area"]}, "measure"),
        ({"judge": 1}, "judge"),
        ({"build": 7}, "build"),
        ({"file": "/etc/passwd"}, "'file' is unknown"),
    ],
)  # fmt: skip
def test_refusals(change, words):
    with pytest.raises((OptionError, GeometryError), match=words) as refused:
        pose_request({**POSE, **change})
    assert "\n" not in str(refused.value)


def test_a_pose_of_another_skeleton():
    with pytest.raises(GeometryError, match="2 joints and 1 bones, the skeleton 5 and 4; load the page again"):
        pose_request(POSE).track(5, 4)
