"""What the search reads of a model: bones that are used, joints that are one, and a body of size one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.core.character import Skin
from osteon.core.errors import GeometryError
from osteon.deform.animation_space import AnimationSpace
from osteon.deform.linear_blend import linear_blend_model
from osteon.lod.search.skin_motion import SkinMotion, read_skin_motion, visible_weights
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.lod_rigs import direct_posed, with_doubles, with_unused
from tests.tolerance import assert_near


def posed(motion: SkinMotion) -> np.ndarray:
    """(f,v,3) what the motion plays, in units of the body; float32 weights sum to one to 1e-7."""
    return np.einsum("fvkij,vkj->fvi", motion.transforms[:, motion.owners], motion.holds)


def in_units(motion: SkinMotion, points: np.ndarray) -> np.ndarray:
    return points @ motion.unit_from_posed[:, :3].T + motion.unit_from_posed[:, 3]


def test_plays_what_the_model_plays():
    model = make_jointed(1)
    motion = read_skin_motion(model)
    assert_near(posed(motion), in_units(motion, direct_posed(model, model.animation.transforms)), 1e-7)
    np.testing.assert_array_equal(motion.bones, np.arange(model.n_bones))
    np.testing.assert_array_equal(motion.parents, model.skeleton.parents)
    assert motion.squared_unit == pytest.approx(model.diagonal**2)


def test_bones_that_nothing_uses_are_left_out():
    plain, model = make_jointed(2), with_unused(make_jointed(2))
    motion, before = read_skin_motion(model), read_skin_motion(plain)
    assert motion.n_bones == plain.n_bones == model.n_bones - 2
    np.testing.assert_array_equal(motion.parents, before.parents)
    assert_near(posed(motion), posed(before), 1e-7)
    assert set(motion.leaders[[1, model.n_bones - 1]]) == {0, 2}  # they follow the nearest used bone above


def test_a_joint_that_is_bound_twice_is_one_bone():
    model = with_doubles(make_jointed(3), 2)
    motion = read_skin_motion(model)
    assert motion.n_bones == model.n_bones - 1
    assert motion.leaders[-1] == 2
    assert_near(posed(motion), in_units(motion, direct_posed(model, model.animation.transforms)), 1e-6)


def test_two_bones_that_move_alike_without_a_skeleton_are_one():
    model = make_jointed(3)
    transforms = model.animation.transforms[:, [0, 1, 2, 3, 4, 5, 6, 6]]
    twins = model.with_character(skeleton=None).with_animation(track=replace(model.track, transforms=transforms))
    motion = read_skin_motion(twins)
    assert motion.n_bones == 7
    assert_near(posed(motion), in_units(motion, direct_posed(twins, transforms)), 1e-7)


@pytest.mark.parametrize("scale", [0.01, 250.0])
def test_a_rig_that_carries_a_scale_is_like_any_other(scale):
    plain = make_jointed(4)
    transforms = plain.animation.transforms * np.float32([scale, scale, scale, 1])
    transforms[..., 3] *= scale
    model = plain.with_animation(track=BoneTrack(transforms, "rigid", plain.track.names))
    motion, before = read_skin_motion(model), read_skin_motion(plain)
    assert_near(motion.transforms, before.transforms, 1e-5)
    assert motion.squared_unit == pytest.approx(scale**2 * before.squared_unit, rel=1e-5)


def test_several_roots():
    motion = read_skin_motion(make_jointed(5, JointedOptions(roots=3)))
    assert len(motion.roots) == 3


def test_refuses_other_families_and_empty_models():
    model = make_jointed(6)
    with pytest.raises(GeometryError, match="linear_blend or dual_quaternion skin, got animation_space"):
        read_skin_motion(model.with_character(deformer=AnimationSpace.from_skin(model.skin)))
    empty = Skin(np.zeros((0, 4), np.int32), np.zeros((0, 4), np.float32))
    nothing = linear_blend_model(np.zeros((0, 3)), np.zeros((0, 3), np.int32), empty, model.track)
    with pytest.raises(GeometryError, match="vertices that follow bones, got none"):
        read_skin_motion(nothing)


def test_vertices_count_by_the_root_of_the_area_around_them():
    """Two triangles of areas 0.5 and 8, and squared errors in proportion to the weights."""
    rest = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 0, 0], [9, 0, 0], [5, 4, 0]], np.float32)
    faces = np.array([[0, 1, 2], [3, 4, 5]], np.int32)
    skin = Skin(np.zeros((6, 1), np.int32), np.ones((6, 1), np.float32))
    model = linear_blend_model(rest, faces, skin, BoneTrack(np.tile(np.eye(4)[None, None, :3], (2, 1, 1, 1)), "rigid"))
    weights = visible_weights(model)
    np.testing.assert_allclose(weights[3:] / weights[:3], 4)
    motion = read_skin_motion(model)
    ratio = (motion.weighed(weights).holds ** 2).sum(axis=(1, 2)) / (motion.holds**2).sum(axis=(1, 2))
    np.testing.assert_allclose(ratio, weights / weights.mean())
