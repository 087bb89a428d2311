"""Orders of whole characters: what must hold for every one of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.character import Skeleton
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import linear_blend_model
from osteon.lod.bone_order import BoneOrder, pose_at_count
from osteon.lod.search.fit_orders import fit_orders
from osteon.lod.search.skin_motion import read_skin_motion
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.lod_rigs import direct_error, two_clips, with_doubles, with_unused


def orders_of(model: SkinnedModel, form: str = "advanced") -> tuple[BoneOrder, ...]:
    return fit_orders(read_skin_motion(model), form)


@pytest.mark.parametrize("form", ["advanced", "offset", "mean", "copy"])
def test_error_never_rises_and_ends_at_none(form):
    model = make_jointed(1)
    order = orders_of(model, form)[0]
    assert (np.diff(order.shares) <= 0).all()
    assert order.shares[-1] == 0
    np.testing.assert_array_equal(
        pose_at_count(order, model.animation.transforms, model.n_bones), model.animation.transforms
    )
    errors = [
        direct_error(model, pose_at_count(order, model.animation.transforms, n)) for n in range(model.n_bones + 1)
    ]
    np.testing.assert_allclose(errors, order.errors[order.active_counts], rtol=1e-9, atol=1e-10 * order.base)


def test_forms_are_what_they_say():
    model = make_jointed(2)
    mean, copy, offset, advanced = (orders_of(model, form)[0] for form in ("mean", "copy", "offset", "advanced"))
    below = copy.parents >= 0
    np.testing.assert_allclose(copy.offsets[below], np.broadcast_to(np.eye(4)[:3], (below.sum(), 3, 4)), atol=1e-6)
    for order in (mean, copy, offset):
        for b, above in enumerate(order.parents):
            up = model.skeleton.parents[b]
            while up >= 0 and up != above:
                up = model.skeleton.parents[up]
            assert up == above
    quarters = [order.count_for_share(part) for order in (advanced,) for part in (0.25, 0.5, 0.75)]
    assert (advanced.shares[quarters] <= offset.shares[quarters] * (1 + 1e-5)).all()
    assert copy.errors[1] == pytest.approx(copy.base, rel=1e-6)  # only the root is active, and copied by all


def test_bones_that_stay_on_another_come_last_and_cost_nothing():
    model = make_jointed(3, JointedOptions(joints=6))
    transforms = model.animation.transforms.copy()
    above = model.skeleton.parents[5]
    transforms[:, 5] = transforms[:, above]
    order = orders_of(model.with_animation(track=replace(model.track, transforms=transforms)))[0]
    assert order.errors[-2] <= 1e-12 * order.base
    assert set(order.order[-1:]) <= {5, above}


def placed(model: SkinnedModel, turn: np.ndarray, shift: np.ndarray, scale: float) -> SkinnedModel:
    """The same scene, turned, moved and in other units."""
    new_from_old = np.eye(4)
    new_from_old[:3, :3], new_from_old[:3, 3] = scale * turn, shift
    back = np.linalg.inv(new_from_old)

    def whole(matrices: np.ndarray) -> np.ndarray:
        out = np.tile(np.eye(4), (*matrices.shape[:-2], 1, 1))
        out[..., :3, :] = matrices
        return out

    moved = (new_from_old @ whole(model.animation.transforms) @ back)[..., :3, :]
    joints = (new_from_old @ whole(model.skeleton.world_from_joint))[..., :3, :]
    joints[..., :3] /= scale
    return linear_blend_model(
        model.rest @ new_from_old[:3, :3].T + shift,
        model.faces,
        model.skin,
        BoneTrack(moved.astype(np.float32), "rigid", model.track.names),
        skeleton=Skeleton(model.skeleton.names, model.skeleton.parents, joints.astype(np.float32)),
    )


def test_turning_the_scene_and_changing_its_units_changes_nothing():
    model = make_jointed(4)
    turn = Rotation.from_rotvec([0.4, -1.0, 0.3]).as_matrix()
    other = placed(model, turn, np.array([3.0, -2.0, 1.0]), 100.0)
    first, second = orders_of(model)[0], orders_of(other)[0]
    np.testing.assert_array_equal(second.order, first.order)
    np.testing.assert_array_equal(second.parents, first.parents)
    np.testing.assert_allclose(second.shares, first.shares, rtol=1e-3, atol=1e-6)
    assert second.base == pytest.approx(1e4 * first.base, rel=1e-3)


def test_a_body_that_moves_as_one_needs_one_bone():
    model = make_jointed(5)
    rng = np.random.default_rng(0)
    turns = Rotation.random(model.n_frames, random_state=rng).as_matrix()
    whole = np.concatenate([turns, rng.normal(size=(model.n_frames, 3, 1))], axis=2)[:, None]
    track = BoneTrack(np.repeat(whole, model.n_bones, axis=1).astype(np.float32), "rigid", model.track.names)
    order = orders_of(model.with_animation(track=track))[0]
    assert order.errors[1] <= 1e-10 * model.diagonal**2 * order.samples


def test_every_clip_has_its_own_order_and_one_serves_all():
    options = JointedOptions(joints=7)
    model = two_clips(make_jointed(6, options), make_jointed(6, replace(options, swing=0.1)))
    one, two, every = orders_of(model)
    assert (one.clip, two.clip, every.clip) == ("one", "two", "")
    assert every.samples == one.samples + two.samples
    assert every.errors[3] >= 0.999 * (one.errors[3] + two.errors[3])
    single = orders_of(make_jointed(6, options))
    np.testing.assert_array_equal(single[0].order, single[1].order)


def test_same_input_same_order():
    first, second = orders_of(make_jointed(7))[0], orders_of(make_jointed(7))[0]
    assert {n: a.tobytes() for n, a in first.arrays().items()} == {n: a.tobytes() for n, a in second.arrays().items()}


@pytest.mark.parametrize("change", [with_unused, with_doubles])
def test_joints_that_nothing_needs_follow_for_ever(change):
    model = change(make_jointed(8))
    order = orders_of(model)[0]
    left = np.setdiff1d(np.arange(model.n_bones), order.order)
    assert len(left) == model.n_bones - 8
    exact = model.animation.transforms.astype(np.float64)
    used = pose_at_count(order, exact, order.n_ordered)
    assert direct_error(model, used) <= 1e-10 * order.base
    np.testing.assert_array_equal(used[:, order.order], exact[:, order.order])


def test_progress_is_told():
    heard = []
    fit_orders(read_skin_motion(make_jointed(9, JointedOptions(joints=4))), progress=heard.append)
    assert [event.stage for event in heard] == ["bones"] * 3
    assert heard[-1].fraction == 1


def test_by_area_the_bones_of_the_visible_surface_come_first():
    """Two bones that move alike: one has many vertices of no area, the other few of a large one."""
    model = make_jointed(2, JointedOptions(joints=6, influences=1, vertices=20))
    motion = read_skin_motion(model)
    by_vertex = fit_orders(motion)[-1]
    least = by_vertex.order[-1]
    areas = np.where(model.skin.bones[:, 0] == least, 1e4, 1.0)
    *clips, by_area = fit_orders(motion, weights=areas)
    assert np.flatnonzero(by_area.order == least)[0] < len(by_area.order) - 1
    assert [np.array_equal(a.order, b.order) for a, b in zip(clips, fit_orders(motion)[:-1], strict=True)] == [True]
    errors = [direct_error(model, pose_at_count(by_area, model.animation.transforms, n)) for n in range(7)]
    np.testing.assert_allclose(errors, by_area.errors[by_area.active_counts], rtol=1e-9, atol=1e-10 * by_area.base)
    assert by_area.base == pytest.approx(by_vertex.base)
    equal = fit_orders(motion, weights=np.full(model.n_vertices, 7.0))[-1]
    assert np.array_equal(equal.order, by_vertex.order)
