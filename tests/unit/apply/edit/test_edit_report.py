"""The length of an edit in the frames, and the warnings about it."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.apply.edit.edit_report import report_edit
from osteon.core.animation import BoneTrack
from osteon.core.character import Skin
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import LinearBlend, linear_blend_model
from tests.small_meshes import SQUARE


def square(*linear: np.ndarray) -> SkinnedModel:
    """One bone with these linear parts in the frames after the first."""
    transforms = np.zeros((len(linear) + 1, 1, 3, 4), np.float32)
    transforms[0, 0, :, :3] = np.eye(3)
    transforms[1:, 0, :, :3] = linear
    skin = Skin(np.zeros((4, 1), np.int32), np.ones((4, 1), np.float32))
    return linear_blend_model(np.array(SQUARE[0]), np.array(SQUARE[1]), skin, BoneTrack(transforms))


UP = np.tile(np.float32([0, 0, 0.1]), (4, 1))


def test_a_rotation_keeps_the_length() -> None:
    report = report_edit(square(np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]])), "a", UP)
    assert (report.vertices, report.largest) == (4, pytest.approx(0.1))
    assert report.largest_percent == pytest.approx(100 * 0.1 / np.sqrt(2))
    assert report.largest_change <= 1e-6
    assert report.warnings == ()


def test_a_stretch_is_reported_with_its_frame() -> None:
    report = report_edit(square(np.diag([1, 1, 1.1]), np.diag([1, 1, 0.7])), "a", UP, scale=2.0)
    assert report.largest == pytest.approx(0.2)
    assert report.change_of_frame == pytest.approx([0, 0.1, 0.3], abs=1e-6)
    assert (report.frame, report.largest_change) == (2, pytest.approx(0.3))
    assert report.mean_change == pytest.approx(0.4 / 3, abs=1e-6)
    assert report.to_json()["length_change_percent"]["per_frame"] == pytest.approx([0, 10, 30], abs=1e-4)


def test_the_scale_of_a_rig_is_no_stretch() -> None:
    model = square(0.01 * np.eye(3))
    model = model.with_animation(
        track=BoneTrack(0.01 * np.tile(np.eye(3, 4), (3, 1, 1, 1)).astype(np.float32)), clips=()
    )
    assert report_edit(model, "a", UP).largest_change <= 1e-5


def test_vertices_that_hardly_move_do_not_count() -> None:
    d = np.array([[0, 0, 1.0], [0.005, 0, 0], [0, 0, 0], [0, 0, 0]])
    report = report_edit(square(np.diag([3.0, 1, 1])), "a", d)
    assert report.vertices == 2
    assert report.largest_change <= 1e-6


def test_flat_blends_and_negative_weights_are_named() -> None:
    (flat,) = report_edit(square(np.diag([1, 1, 0.05])), "a", UP).warnings
    assert "4 of 4 edited vertices have flat blends" in flat
    assert "frame 1" in flat
    model = square(np.eye(3))
    weights = np.float32([[1.5, -0.5], [1, 0], [1, 0], [1, 0]])
    track = BoneTrack(np.tile(model.track.transforms, (1, 2, 1, 1)))
    bad = model.with_animation(track=track).with_character(
        deformer=LinearBlend(Skin(np.tile(np.int32([0, 1]), (4, 1)), weights))
    )
    (negative,) = report_edit(bad, "a", UP).warnings
    assert "1 edited vertices have negative weights (vertex 0: -0.5)" in negative
    only_others = UP.copy()
    only_others[0] = 0
    assert report_edit(bad, "a", only_others).warnings == ()
