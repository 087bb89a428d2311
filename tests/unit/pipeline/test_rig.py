"""A rig that exists already: joints stay, weights are found, helpers help, and what does not match is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.core.character import Skeleton
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.topology import weld_vertices
from osteon.core.transforms import compose
from osteon.deform.pose import pose_frames
from osteon.fit.problem import InputTransforms, pose_problem
from osteon.fit.skin.helper_bones import HelperOptions, fit_helper_bones
from osteon.fit.skin.influences import select_influences
from osteon.fit.skin.weights import solve_weights
from osteon.pipeline.skin import SkinFit, skin_sequence

from ...subjects import bent_tube, random_problem
from ...tolerance import assert_near, assert_plays

NAMES = ("hip", "knee", "foot")


def rig() -> SkinnedModel:
    """A tube of three rigid bones in a row, with a skeleton."""
    places = np.tile(np.eye(3, 4), (3, 1, 1))
    places[:, 0, 3] = [0.0, 0.6, 1.2]
    model = bent_tube(3, 10).model
    track = BoneTrack(model.track.transforms, "rigid", NAMES)
    return model.with_character(skeleton=Skeleton(NAMES, np.array([-1, 0, 1]), places)).with_animation(track=track)


def fleshy() -> MeshSequence:
    """What the rig plays, with a muscle that swells at the knee."""
    sequence = bent_tube(3, 10).sequence
    swell = 0.3 * np.sin(np.arange(10))[:, None] * np.exp(-20 * (sequence.rest[:, 0] - 0.6) ** 2)
    frames = sequence.frames.astype(np.float64)
    frames[..., 1] *= 1 + swell
    return replace(sequence, frames=frames)


def still(model: SkinnedModel) -> SkinnedModel:
    return model.with_animation(track=replace(model.track, transforms=model.track.transforms[:1]), clips=())


def skin(sequence: MeshSequence, model: SkinnedModel, **options: object) -> SkinFit:
    return skin_sequence(sequence, rig=model, options=SkinOptions(**({"threads": 1} | options)))


def joints_stay(fit: SkinFit, model: SkinnedModel) -> None:
    """Bit for bit."""
    assert np.array_equal(fit.model.track.transforms[:, : model.n_bones], model.track.transforms)
    assert fit.model.track.names[: model.n_bones] == NAMES
    assert fit.model.skeleton is not None
    assert model.skeleton is not None
    assert fit.model.skeleton.parents[: model.n_bones].tolist() == [-1, 0, 1]
    assert np.array_equal(fit.model.skeleton.world_from_joint[: model.n_bones], model.skeleton.world_from_joint)


def test_weights_of_a_known_rig_are_found_again():
    baked = rig()
    fit = skin(bent_tube(3, 10).sequence, baked)
    joints_stay(fit, baked)
    assert (fit.model.n_bones, fit.model.track.bone_type) == (3, "rigid")
    assert_plays(fit.model, bent_tube(3, 10).sequence, 1e-6)
    # On the axis of a joint both bones agree, and any weights do.
    moved = (
        np.einsum("fbij,vj->fvbi", baked.track.transforms[..., :3], baked.rest)
        + baked.track.transforms[:, None, :, :, 3]
    )
    clear = np.linalg.norm(moved[:, :, :2] - moved[:, :, 1:], axis=3).max(axis=0).min(axis=1) > 1e-2
    assert clear.mean() > 0.8
    assert_near(fit.model.skin.dense(3)[clear], baked.skin.dense(3)[clear], 1e-3)


@pytest.mark.parametrize("method", ["tsvd", "nnls", "bounded"])
def test_the_papers_weights_for_given_joints(method):
    """Section 5 of Skinning Mesh Animations: the weights of `solve_weights`, which is checked against SciPy."""
    baked, sequence = rig(), fleshy()
    known = {"delta": 0.2} if method == "bounded" else {}
    fit = skin(sequence, baked, preset="paper", weights=method, **known)
    joints_stay(fit, baked)
    vertices, welded = weld_vertices(sequence)
    problem = pose_problem(sequence, vertices)
    joints = problem.from_input(InputTransforms.of(baked.track))
    expected = solve_weights(problem, joints, 4, method=method, **known)
    dense = expected.dense(3)[welded]
    assert_near(fit.model.skin.dense(3), dense, 1e-4 * np.abs(dense).max())
    assert (fit.model.skin.weights.min() < -1e-3) == (method != "nnls")
    assert fit.report.weights == method


def test_the_papers_weights_where_the_rig_has_no_motion():
    """The joints are fitted with the weights of the rig, once; then the weights are the paper's."""
    baked = rig()
    fit = skin(bent_tube(3, 10).sequence, still(baked), preset="paper", weights="tsvd", bone_type="rigid")
    assert fit.model.track.names == NAMES
    assert_plays(fit.model, bent_tube(3, 10).sequence, 1e-3)


def test_the_papers_corrections_of_a_rig():
    plain = skin(fleshy(), rig(), preset="paper").report
    corrected = skin(fleshy(), rig(), preset="paper", rank=2).report
    assert corrected.error_percent < 0.5 * plain.error_percent
    assert corrected.error_percent_by_rank["0"] == pytest.approx(plain.error_percent, rel=1e-3)


def test_far_from_the_origin_the_joints_stay_bit_for_bit():
    baked, sequence = rig(), fleshy()
    shift = np.float32([1000, -500, 300])
    transforms = baked.track.transforms.copy()
    transforms[..., 3] += shift
    away = baked.with_animation(track=replace(baked.track, transforms=transforms))
    joints_stay(skin(replace(sequence, frames=sequence.frames + shift), away, helpers=2), away)


@pytest.mark.parametrize("bone_type", ["flexible", "rigid"])
def test_helpers_lower_the_error_and_joints_stay(bone_type):
    baked, sequence = rig(), fleshy()
    errors = []
    for helpers in (0, 1, 3, 6):
        fit = skin(sequence, baked, helpers=helpers, **({"bone_type": bone_type} if helpers else {}))
        joints_stay(fit, baked)
        assert fit.model.n_bones == 3 + helpers
        assert fit.model.track.names[3:] == tuple(f"helper_{h}" for h in range(helpers))
        errors.append(fit.report.error_percent)
    assert errors == sorted(errors, reverse=True)
    assert errors[1] < 0.7 * errors[0]
    assert errors[-1] < 0.2 * errors[0]


def test_helpers_of_a_rig_that_needs_none():
    """They may move nothing at all; names and tree still count them."""
    baked = rig()
    for helpers in (1, 4):
        fit = skin(bent_tube(3, 10).sequence, baked, helpers=helpers, influences=1)
        joints_stay(fit, baked)
        assert len(fit.model.track.names) == 3 + helpers
        assert fit.model.skeleton is not None
        assert len(fit.model.skeleton.names) == 3 + helpers


def test_helpers_hang_below_the_joint_they_work_with():
    fit = skin(fleshy(), rig(), helpers=3)
    assert fit.model.skeleton is not None
    weights = fit.model.skin.dense(6)
    for helper in (3, 4, 5):
        parent = int(fit.model.skeleton.parents[helper])
        assert parent in (0, 1)  # the muscle lies between hip and knee
        assert weights[:, helper] @ weights[:, parent] > 0
        place = fit.model.skeleton.world_from_joint[helper, :, 3]
        center = weights[:, helper] @ fit.model.rest / weights[:, helper].sum()
        assert_near(place, center, 1e-3)


def test_names_of_helpers_that_are_taken():
    baked = rig()
    named = baked.with_character(skeleton=None).with_animation(track=replace(baked.track, names=("helper_0", "b", "c")))
    names = skin(fleshy(), named, helpers=2).model.track.names
    assert len(set(names)) == 5
    assert names[:3] == ("helper_0", "b", "c")


def test_corrections_on_top_of_a_rig():
    baked, sequence = rig(), fleshy()
    plain = skin(sequence, baked).report.error_percent
    fit = skin(sequence, baked, rank=3)
    joints_stay(fit, baked)
    assert fit.model.rank == 3
    assert fit.report.error_percent < 0.3 * plain
    assert fit.report.error_percent_by_rank["0"] == pytest.approx(plain, rel=1e-3)
    assert skin(sequence, baked, rank=50).report.error_percent < 1e-3


@pytest.mark.parametrize("bone_type", ["flexible", "rigid"])
def test_a_rig_without_motion(bone_type):
    """The same vertices and one frame: the joints are made to follow."""
    baked, sequence = rig(), fleshy()
    fit = skin(sequence, still(baked), bone_type=bone_type)
    assert fit.model.track.names == NAMES
    assert (fit.model.n_bones, fit.model.n_frames) == (3, 10)
    # Joints that stretch would stretch all below them: here rigid ones are closer, and that is said.
    assert fit.model.track.bone_type == "rigid"
    assert any("rigid joints are closer" in note for note in fit.report.warnings) == (bone_type == "flexible")
    assert fit.report.error_percent < 5
    found = fit.model.skin.dense(3)
    assert (found.argmax(axis=1) == baked.skin.dense(3).argmax(axis=1)).mean() > 0.9  # each joint stays where it was
    helped = skin(sequence, still(baked), bone_type=bone_type, helpers=2, rank=2)
    assert helped.model.n_bones == 5
    assert helped.report.error_percent < 0.7 * fit.report.error_percent


def test_the_rest_pose_is_the_one_the_rig_was_bound_in():
    """A sequence that does not begin with the bind pose."""
    baked, sequence = rig(), bent_tube(3, 10).sequence
    later = replace(sequence, frames=sequence.frames[3:], rest=sequence.frames[3], clips=())
    fit = skin(later, still(baked))
    assert np.array_equal(fit.model.rest, baked.rest)
    assert_plays(fit.model, later, 1e-3)


def halved(sequence: MeshSequence) -> MeshSequence:
    """Only the first part of the tube."""
    count = 96
    faces = sequence.faces[(sequence.faces < count).all(axis=1)]
    return MeshSequence(sequence.frames[:, :count], faces, sequence.rest[:count])


def test_another_mesh_with_as_many_frames():
    baked, sequence = rig(), halved(bent_tube(3, 10).sequence)
    fit = skin(sequence, baked)
    assert_plays(fit.model, sequence, 1e-6)
    assert np.array_equal(fit.model.rest, sequence.rest)


def test_another_mesh_stands_in_the_first_frame():
    """Joints are bound anew where they stand in that frame, so node and motion still agree."""
    baked, sequence = rig(), halved(bent_tube(3, 10, softness=0.0).sequence)
    model = baked.with_animation(track=replace(baked.track, transforms=baked.track.transforms[3:]), clips=())
    later = replace(sequence, frames=sequence.frames[3:], rest=sequence.frames[3], clips=())
    fit = skin(later, model)
    assert np.median(fit.distortion.per_vertex) < 1e-6  # all but the rings that stand between two bones
    assert fit.model.skeleton is not None
    assert baked.skeleton is not None
    found = compose(fit.model.track.transforms.astype(np.float64), fit.model.skeleton.world_from_joint[None])
    expected = compose(model.track.transforms.astype(np.float64), baked.skeleton.world_from_joint[None])
    assert_near(found, expected, 1e-5)


def shuffled(sequence: MeshSequence) -> MeshSequence:
    order = np.random.default_rng(0).permutation(sequence.n_vertices)
    place = np.argsort(order)
    return MeshSequence(sequence.frames[:, order], place[sequence.faces], sequence.rest[order])


def test_as_many_vertices_in_another_order(refused):
    """With as many frames the rig's own mesh is not needed; without, vertices are matched by where they are."""
    baked, sequence = rig(), shuffled(bent_tube(3, 10).sequence)
    assert_plays(skin(sequence, baked).model, sequence, 1e-6)
    assert_plays(skin(sequence, still(baked), bone_type="rigid").model, bent_tube(3, 10).sequence, 1e-3)
    bent = replace(sequence, frames=sequence.frames[3:], rest=sequence.frames[3], clips=())
    with refused(GeometryError, "another order", "154"):
        skin(bent, still(baked))  # in no pose that the rig has, and without texture coordinates


def test_triangles_in_another_order_are_the_same_vertices():
    baked, sequence = rig(), fleshy()
    turned = MeshSequence(sequence.frames, np.roll(sequence.faces[::-1], 1, axis=1), sequence.rest)
    assert skin(turned, still(baked)).report.error_percent < 5


def test_other_units_are_seen_and_told():
    baked, sequence = rig(), fleshy()
    fit = skin(replace(sequence, frames=100 * sequence.frames), baked)
    assert any("units" in warning for warning in fit.report.warnings)
    assert not skin(sequence, baked).report.warnings


def test_what_does_not_match_is_refused(refused):
    baked, sequence = rig(), fleshy()
    other = halved(sequence)
    with refused(GeometryError, "frames", "vertices", "154", "96"):
        skin(other, still(baked))
    with refused(GeometryError, "frames", "vertices"):
        skin(replace(other, frames=other.frames[:7], clips=()), baked)
    with refused(GeometryError, "first frame", "--rest"):
        skin(replace(other, rest=other.frames[4]), baked)
    flat = baked.track.transforms.copy()
    flat[0, 1, :, :3] = 0
    with refused(GeometryError, "flattened"):
        skin(other, baked.with_animation(track=BoneTrack(flat, "flexible", NAMES)))
    for options, says in (
        ({"preset": "paper", "helpers": 2}, "helpers"),
        ({"bones": 4}, "helpers"),
        ({"holdout": 3}, "holdout"),
    ):
        with refused(OptionError, says):
            skin(sequence, baked, **options)


def test_near_rigid_fraction_is_measured():
    assert skin(bent_tube(3, 10).sequence, rig()).report.near_rigid_fraction > 0.5
    rng = np.random.default_rng(0)
    sequence = fleshy()
    shaken = sequence.frames + 0.2 * rng.normal(size=sequence.frames.shape)
    assert skin(replace(sequence, frames=shaken), rig()).report.near_rigid_fraction < 0.5


def test_the_fit_alone_leaves_the_joints():
    problem, transforms = random_problem(n_vertices=150, n_bones=5, noise=0.02)
    joints = transforms[:, :3]
    plain = select_influences(problem, joints, 4, thorough=True).errors.sum()
    for helpers in (0, 1, 2, 5):
        found, influences = fit_helper_bones(problem, joints, HelperOptions(helpers=helpers), lambda _: None)
        assert np.array_equal(found[:, :3], joints)
        assert found.shape[1] == 3 + helpers
        assert influences.errors.sum() <= plain * (1 + 1e-9)
        plain = influences.errors.sum()


def test_number_of_threads_does_not_matter():
    fits = [skin(fleshy(), rig(), helpers=3, rank=2, threads=n).model for n in (1, 2)]
    assert np.array_equal(fits[0].track.transforms, fits[1].track.transforms)
    assert np.array_equal(pose_frames(fits[0]), pose_frames(fits[1]))
