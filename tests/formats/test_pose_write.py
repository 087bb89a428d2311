"""Poses to a file and back."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.io.poses import load_poses, save_poses
from osteon.synth.figure import CHAINS, figure_poses
from osteon.synth.posing import sticks_of

FIGURE = sticks_of(CHAINS, "figure")


def test_turns_come_back(tmp_path):
    track = figure_poses(FIGURE)
    save_poses(track, FIGURE, tmp_path / "all.json", name="all")
    back = load_poses([tmp_path / "all.json"], FIGURE)
    assert np.abs(back.joints - track.joints).max() < 1e-6
    assert np.abs(back.rotations - track.rotations).max() < 1e-6
    assert [(clip.name, clip.n_frames) for clip in back.clips] == [("all", track.n_frames)]


def test_one_pose_has_no_list(tmp_path):
    save_poses(figure_poses(FIGURE).frame(1), FIGURE, tmp_path / "run.json")
    assert '"poses"' not in (tmp_path / "run.json").read_text()
    assert load_poses([tmp_path / "run.json"], FIGURE).n_frames == 1


def test_joints_that_were_moved_come_back(tmp_path):
    rng = np.random.default_rng(0)
    joints = FIGURE.joints + rng.normal(scale=0.05, size=FIGURE.joints.shape)
    twist = np.zeros((1, FIGURE.n_bones, 2))
    twist[0, 3] = 0.2, 1.0
    scale = np.ones((1, FIGURE.n_bones))
    scale[0, 2] = 1.5
    save_poses(PoseTrack(joints[None], twist=twist, cross_scale=scale), FIGURE, tmp_path / "odd.json")
    back = load_poses([tmp_path / "odd.json"], FIGURE)
    assert np.abs(back.joints[0] - joints).max() < 1e-6
    assert np.allclose(back.twist, twist)
    assert np.allclose(back.cross_scale, scale)


def test_a_ring_comes_back(tmp_path):
    ring = StickSkeleton(np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0.2]]), np.array([[0, 1], [1, 2], [2, 0]]))
    joints = ring.joints + np.array([[0, 0, 0], [0.1, 0.2, 0], [0, 0, 0.3]])
    save_poses(PoseTrack(joints[None]), ring, tmp_path / "ring.json")
    assert np.abs(load_poses([tmp_path / "ring.json"], ring).joints[0] - joints).max() < 1e-6


def test_only_json(tmp_path):
    with pytest.raises(FileFormatError, match="json"):
        save_poses(figure_poses(FIGURE), FIGURE, tmp_path / "x.tgf")
