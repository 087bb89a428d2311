"""Bones as joints: exact on paper, and in the halves that UsdSkel stores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osteon.core.animation import BoneTrack
from osteon.core.character import Skin
from osteon.core.errors import GeometryError
from osteon.deform.linear_blend import linear_blend_model
from osteon.io.usd.joints import FINE, build_joints, distinct_identifiers, join_bones, joint_influences
from osteon.synth.baked import RandomOptions, bake_random_model

from .usd_models import corrected, eight_influences, flexible, rigid, tree


def parents_of(paths: tuple[str, ...]) -> np.ndarray:
    return np.array([paths.index(p.rpartition("/")[0]) if "/" in p else -1 for p in paths])


@pytest.mark.parametrize("make", [rigid, flexible, corrected, eight_influences, tree])
def test_joints_join_to_the_bones(make) -> None:
    model = make()
    joints = build_joints(model)
    parents = parents_of(joints.paths)
    assert (parents < np.arange(len(parents))).all()
    np.testing.assert_allclose(join_bones(joints, parents), model.track.transforms, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.floats(1e-3, 1e3), st.integers(0, 1000))
def test_a_scale_is_kept_to_seven_in_ten_million(size: float, seed: int) -> None:
    scale = size * np.random.default_rng(seed).uniform(0.1, 1.0, 64)
    high = scale.astype(np.float16)
    low = (high + (scale - high) / FINE).astype(np.float16)
    sums = (1 - FINE) * high.astype(float) + FINE * low.astype(float)
    np.testing.assert_allclose(sums, scale, rtol=7.2e-7)


def test_rigid_bones_are_one_joint_each() -> None:
    model = rigid()
    joints = build_joints(model)
    assert joints.paths == model.track.names
    assert (joints.fine_of_bone < 0).all()
    assert (joints.scales == 1).all()
    numbers, weights = joint_influences(model, joints)
    np.testing.assert_array_equal(numbers, model.skin.bones)
    np.testing.assert_array_equal(weights, model.skin.weights)


def test_flexible_bones_have_a_child_and_a_fine_pair() -> None:
    model = flexible()
    joints = build_joints(model)
    assert len(joints.paths) == 4 * model.n_bones
    assert joints.paths[:2] == ("bone_0", "bone_0/turn")
    assert joints.paths[2 * model.n_bones] == "fine_bone_0"
    _, weights = joint_influences(model, joints)
    assert weights.shape[1] == 2 * model.skin.n_influences
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)
    assert weights[:, model.skin.n_influences :].max() <= FINE


def test_a_scale_that_halves_hold_needs_no_fine_joint() -> None:
    transforms = np.zeros((2, 1, 3, 4))
    transforms[0, 0, :, :3], transforms[1, 0, :, :3] = np.eye(3), np.diag([1.5, 0.75, 2.0])
    rest = np.random.default_rng(0).normal(size=(4, 3))
    skin = Skin(np.zeros((4, 1), np.int32), np.ones((4, 1)))
    model = linear_blend_model(rest, np.array([[0, 1, 2], [1, 2, 3]]), skin, BoneTrack(transforms))
    joints = build_joints(model)
    assert joints.paths == ("bone_0",)
    assert joints.scales[1, 0].tolist() == [1.5, 0.75, 2.0]


def test_a_tree_keeps_its_names_and_puts_parents_first() -> None:
    joints = build_joints(tree())
    assert joints.paths == ("root", "root/arm_2", "root/arm_2/arm_1", "root/arm_2/arm_1/tip")
    assert joints.of_bone.tolist() == [3, 0, 2, 1]


def test_scales_beyond_halves_are_refused() -> None:
    model = flexible()
    track = BoneTrack(model.track.transforms * 1e6, "flexible")
    with pytest.raises(GeometryError, match="USD holds scales up to"):
        build_joints(linear_blend_model(model.rest, model.faces, model.skin, track))


def test_negative_weights_are_kept() -> None:
    model = bake_random_model(3, options=RandomOptions(bones=3, frames=3, vertices=50, influences=2)).model
    weights = np.tile(np.array([1.25, -0.25], np.float32), (50, 1))
    bones = np.tile(np.array([0, 2], np.int32), (50, 1))
    negative = linear_blend_model(model.rest, model.faces, Skin(bones, weights), model.track)
    _, written = joint_influences(negative, build_joints(negative))
    assert written.min() == -0.25


def test_identifiers() -> None:
    assert distinct_identifiers(["a b", "a-b", "1", ""], "joint") == ["a_b", "a_b_", "_1", "joint"]
