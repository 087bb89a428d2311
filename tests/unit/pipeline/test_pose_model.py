"""Files of poses on a model that has its own skin."""

from __future__ import annotations

import json

import numpy as np
import pytest

from osteon.core.character import Skeleton
from osteon.core.errors import GeometryError, OptionError
from osteon.core.pose_track import PinTrack, PoseTrack
from osteon.deform.pose import pose_frames
from osteon.io import save_model
from osteon.io.poses import load_poses
from osteon.io.poses.pose_json import poses_as_json
from osteon.pipeline.pose_model import pose_model, sticks_for
from tests.posable import NAMES, posable_model
from tests.tolerance import assert_same_points


@pytest.fixture(name="read")
def _read(tmp_path):
    """Reads one pose as if it were in a file."""

    def read(pose: dict, sticks) -> PoseTrack:
        (tmp_path / "pose.json").write_text(json.dumps(pose))
        return load_poses([tmp_path / "pose.json"], sticks)

    return read


@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("as_json", [False, True])
def test_the_poses_of_its_own_animation_are_its_frames(tmp_path, dual, as_json):
    model = posable_model(dual=dual)
    sticks = sticks_for(model)
    assert set(sticks.sticks.names) == {*NAMES, "hand.end", "head.end"}
    save_model(model, tmp_path / "model.npz")
    track = load_poses([tmp_path / "model.npz"], sticks.sticks)
    if as_json:
        (tmp_path / "own.json").write_text(json.dumps(poses_as_json(track, sticks.sticks)))
        assert "joints" not in (tmp_path / "own.json").read_text()  # turns and shifts tell all
        track = load_poses([tmp_path / "own.json"], sticks.sticks)
    assert_same_points(pose_frames(pose_model(model, track)), pose_frames(model), 1e-5)


def test_a_rig_that_moves_at_another_size_keeps_it(tmp_path):
    model = posable_model()
    small = model.with_animation(track=type(model.track)(0.01 * model.track.transforms, "rigid", NAMES))
    save_model(small, tmp_path / "small.npz")
    track = load_poses([tmp_path / "small.npz"], sticks_for(small).sticks)
    posed = pose_model(small, track)
    assert posed.track.bone_type == "rigid"
    assert_same_points(pose_frames(posed), pose_frames(small), 1e-5)
    assert_same_points(pose_frames(posed), 0.01 * pose_frames(model), 1e-5)


def test_a_pose_that_says_nothing_is_the_rest_pose():
    model = posable_model()
    sticks = sticks_for(model).sticks
    posed = pose_model(model, PoseTrack(sticks.joints[None]))
    assert_same_points(pose_frames(posed)[0], model.rest)
    assert (posed.n_frames, posed.track.bone_type, posed.skeleton) == (1, "rigid", model.skeleton)


def test_a_helper_goes_with_its_parent_and_a_handle_with_the_root(read):
    model = posable_model()
    known = model.skeleton
    order = [*range(len(NAMES)), 2, 0]
    parents = np.array([6, 0, 1, 5, 1, 2, -1], np.int32)  # the hand hangs on a helper in the arm's place
    places = known.world_from_joint[order].copy()
    places[6, :, 3] = [0.1, -1.0, 0.0]
    skeleton = Skeleton((*NAMES, "helper", "ground"), parents, places)
    wider = model.track.transforms[:, order]
    model = model.with_character(skeleton=skeleton).with_animation(
        track=type(model.track)(wider, "rigid", skeleton.names)
    )
    sticks = sticks_for(model)
    assert {"helper", "ground"}.isdisjoint(sticks.sticks.names)
    turned = {"rotate": {"arm": {"axis": [0, 0, 1], "degrees": 40}}, "translate": [0, 0.5, 0]}
    moved = pose_model(model, read(turned, sticks.sticks)).track.transforms[0]
    np.testing.assert_allclose(moved[5], moved[2], atol=1e-6)
    np.testing.assert_allclose(moved[6], moved[0], atol=1e-6)
    np.testing.assert_allclose(moved[0, :, 3], [0, 0.5, 0], atol=1e-6)
    assert np.abs(moved[2, :, :3] - np.eye(3)).max() > 0.3


def test_corrections_are_left_out_and_stretched_bones_move_what_hangs_there(read):
    from osteon.core.character import Corrections

    plain = posable_model()
    basis = np.ones((1, plain.n_vertices, 3), np.float32)
    model = plain.with_corrections(Corrections(basis, np.ones((plain.n_frames, 1), np.float32)))
    sticks = sticks_for(model).sticks
    posed = pose_model(model, read({"bones": {"arm-hand": {"stretch": 2}}}, sticks))
    assert posed.rank == 0
    np.testing.assert_allclose(posed.track.transforms[0, 3, :, 3], [0, 0.5, 0], atol=1e-6)
    np.testing.assert_allclose(posed.track.transforms[0, :, :, :3], np.tile(np.eye(3), (5, 1, 1)), atol=1e-6)


def test_what_no_skin_can_do_is_refused():
    model = posable_model()
    sticks = sticks_for(model).sticks
    joints = sticks.joints[None]
    for track, named in (
        (PoseTrack(joints, twist=np.ones((1, sticks.n_bones, 2))), "twist"),
        (PoseTrack(joints, cross_scale=np.full((1, sticks.n_bones), 2.0)), "cross_scale"),
        (PoseTrack(joints, pins=PinTrack(np.array([0], np.int32), np.zeros((1, 1, 3)))), "pins"),
    ):
        with pytest.raises(OptionError, match=named):
            pose_model(model, track)
    with pytest.raises(GeometryError, match="no tree"):
        sticks_for(model.with_character(skeleton=None))
