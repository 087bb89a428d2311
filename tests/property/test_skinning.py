"""Laws that hold for every sequence: where it stands does not matter, and weights are weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.character import Skin
from osteon.core.errors import GeometryError
from osteon.core.options import change_options
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import apply, nearest_rotation
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.pose import pose_frames
from osteon.fit.clustering.core_bones import triangle_rotations
from osteon.fit.problem import pose_problem
from osteon.fit.skin.bones import seed_bones
from osteon.fit.skin.procrustes import rotations_of
from osteon.fit.skin.refine import RefineOptions, refine_skin
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import BakeOptions, RandomOptions, bake_chain, bake_random_model
from osteon.synth.shapes import make_ball

from ..tolerance import assert_near, assert_same_points

ROTATION_VECTORS = arrays.arrays(np.float64, 3, elements=st.floats(-3, 3))
STRETCHES = arrays.arrays(np.float64, 3, elements=st.floats(0.05, 20))


TURNS = ROTATION_VECTORS.map(lambda vector: Rotation.from_rotvec(vector).as_matrix())


@st.composite
def places(draw: st.DrawFn, turns: st.SearchStrategy[np.ndarray] = TURNS) -> np.ndarray:
    """A rotation, a translation and a uniform scale as one transform (3,4)."""
    scale = 10.0 ** draw(st.floats(-3, 3))
    shift = draw(arrays.arrays(np.float64, 3, elements=st.floats(-5, 5)))
    return scale * np.concatenate([draw(turns), shift[:, None]], axis=1)


UPRIGHT = places(st.just(np.eye(3)))


def moved(sequence: MeshSequence, by: np.ndarray) -> MeshSequence:
    """Rest and all frames moved alike."""
    frames, rest = sequence.frames.astype(np.float64), sequence.rest.astype(np.float64)
    return replace(sequence, frames=apply(np.broadcast_to(by, (len(frames), 3, 4)), frames), rest=apply(by, rest))


#: Lumpy balls with fewer bones than they were made from, so that there is an error to compare. On regular grids and
#: rings distances tie, and rounding alone decides where a bone is split.
SUBJECTS = {
    "small": (lambda: bake_random_model(2, options=RandomOptions(5, 8, 120, 3)).sequence, 3),
    "larger": (lambda: bake_random_model(5, options=RandomOptions(8, 10, 300, 4)).sequence, 4),
}


@cache
def subject(name: str) -> MeshSequence:
    return SUBJECTS[name][0]()


def skin(sequence: MeshSequence, n_bones: int, bone_type: str) -> float:
    """E % of the whole way."""
    fit = skin_sequence(sequence, options=SkinOptions(bones=n_bones, bone_type=bone_type))
    assert fit.model.n_bones == n_bones
    return fit.report.error_percent


def split_and_refine(sequence: MeshSequence, n_bones: int, bone_type: str) -> float:
    """E % from the splitting start alone."""
    problem = pose_problem(sequence)
    fit = refine_skin(problem, [seed_bones(problem, n_bones, 1)], options=RefineOptions(bone_type=bone_type))
    return problem.error_percent(fit.influences.errors)


@cache
def error_at_home(name: str, bone_type: str, way: Callable[[MeshSequence, int, str], float]) -> float:
    return way(subject(name), SUBJECTS[name][1], bone_type)


CASES = [(name, bone_type) for name in SUBJECTS for bone_type in ("rigid", "flexible")]
#: A fit takes a good part of a second: no time to shrink a failure.
FEW = settings(max_examples=8, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])


def assert_same_error(
    name: str, bone_type: str, by: np.ndarray, way: Callable[[MeshSequence, int, str], float], rel: float = 1e-3
) -> None:
    home = error_at_home(name, bone_type, way)
    assert home > 1
    assert way(moved(subject(name), by), SUBJECTS[name][1], bone_type) == pytest.approx(home, rel=rel)


@pytest.mark.parametrize(("name", "bone_type"), CASES)
@FEW
@given(by=UPRIGHT)
def test_error_does_not_depend_on_place_and_unit(name, bone_type, by):
    assert_same_error(name, bone_type, by, skin)


@pytest.mark.parametrize(("name", "bone_type"), CASES)
@FEW
@given(by=places())
def test_refinement_does_not_depend_on_orientation(name, bone_type, by):
    assert_same_error(name, bone_type, by, split_and_refine)


@pytest.mark.parametrize(("name", "bone_type"), CASES)
@FEW
@given(by=places())
def test_error_hardly_depends_on_orientation(name, bone_type, by):
    """The paper compares rotation matrices in the L1 norm, which is no property of the motion alone: turning everything
    may give other clusters, another start, and another of many nearly equal fits."""
    assert_same_error(name, bone_type, by, skin, rel=0.15)


@FEW
@given(by=places())
def test_the_number_of_bones_found_does_not_depend_on_them_either(by):
    sequence = bake_chain(3, options=BakeOptions(frames=6, bend=60.0)).sequence
    for preset in ("default", "paper"):
        fit = skin_sequence(moved(sequence, by), options=change_options(SkinOptions(), preset=preset, rounds=1))
        assert fit.model.n_bones == 3
        assert fit.report.error_percent < 0.1


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_vertices=st.integers(4, 30),
    n_frames=st.integers(2, 5),
    n_bones=st.integers(1, 6),
    influences=st.integers(1, 8),
    noise=st.sampled_from([1e-4, 0.1, 10.0]),
    bone_type=st.sampled_from(["rigid", "flexible"]),
    preset=st.sampled_from(["default", "paper"]),
)
def test_weights_are_weights_whatever_moves(seed, n_vertices, n_frames, n_bones, influences, noise, bone_type, preset):
    rng = np.random.default_rng(seed)
    ball = make_ball(n_vertices)
    frames = ball.vertices + noise * rng.normal(size=(n_frames, n_vertices, 3))
    n_bones = min(n_bones, n_vertices)
    options = change_options(
        SkinOptions(), preset=preset, bones=n_bones, influences=influences, bone_type=bone_type, rounds=3, seed=seed
    )
    fit = skin_sequence(MeshSequence(frames, ball.faces, ball.vertices), options=options)
    skin, transforms = fit.model.skin, fit.model.track.transforms
    assert fit.model.n_bones == n_bones
    assert skin.n_influences == min(influences, n_bones)
    assert skin.weights.min() >= 0
    assert np.abs(skin.weights.sum(axis=1, dtype=np.float64) - 1).max() < 1e-6
    assert np.isfinite(transforms).all()
    if bone_type == "rigid":
        linear = transforms[..., :3].astype(np.float64)
        assert np.abs(linear @ np.swapaxes(linear, 2, 3) - np.eye(3)).max() < 1e-5
        assert np.linalg.det(linear).min() > 0.9


@settings(max_examples=25, deadline=None)
@given(frames=arrays.arrays(np.float32, (3, 5, 3), elements=st.floats(-4, 4, width=16)))
def test_any_motion_of_a_pyramid(frames):
    """Frames may collapse to points and lines: the answer is finite, or says that nothing moves."""
    rest = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0.5, 1]], np.float32)
    faces = np.array([[0, 2, 1], [0, 3, 2], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]], np.int32)
    sequence, options = MeshSequence(frames, faces, rest), SkinOptions(bones=2, rounds=3)
    if np.ptp(frames, axis=0).max() == 0:
        with pytest.raises(GeometryError, match="equal"):
            skin_sequence(sequence, options=options)
    else:
        assert np.isfinite(pose_frames(skin_sequence(sequence, options=options).model)).all()


@settings(max_examples=100, deadline=None)
@given(turn=ROTATION_VECTORS, axes=ROTATION_VECTORS, stretch=STRETCHES)
def test_polar_factor_of_rotation_times_stretch_is_the_rotation(turn, axes, stretch):
    rotation = Rotation.from_rotvec(turn).as_matrix()
    frame = Rotation.from_rotvec(axes).as_matrix()
    matrix = rotation @ (frame * stretch) @ frame.T
    assert_near(nearest_rotation(matrix), rotation, 1e-9)
    found = rotations_of(np.concatenate([matrix, np.ones((3, 1))], axis=1)[None, None])
    assert_near(found[0, 0], rotation, 1e-9)


@settings(max_examples=100, deadline=None)
@given(turn=ROTATION_VECTORS, axes=ROTATION_VECTORS, stretch=STRETCHES)
def test_rotation_of_a_triangle_ignores_stretch_in_its_plane(turn, axes, stretch):
    rotation = Rotation.from_rotvec(turn).as_matrix()
    frame = Rotation.from_rotvec(axes).as_matrix()  # the triangle lies in its first two axes
    rest = np.array([[0.1, 0.2, 0], [1.3, 0.1, 0], [0.4, 0.9, 0]]) @ frame.T
    posed = rest @ (rotation @ (frame * [stretch[0], stretch[1], 1]) @ frame.T).T
    found, valid = triangle_rotations(
        rest.astype(np.float32), posed[None].astype(np.float32), np.array([[0, 1, 2]], np.int32)
    )
    assert valid[0]
    ratio = max(stretch[:2]) / min(stretch[:2])
    assert_near(found.reshape(3, 3), rotation, 3e-6 * ratio)  # float32 corners of a thin triangle


@settings(max_examples=30, deadline=None)
@given(by=places(), seed=st.integers(0, 1000))
def test_bones_that_share_a_motion_move_the_mesh_with_it(by, seed):
    rng = np.random.default_rng(seed)
    rest = rng.normal(size=(20, 3)).astype(np.float32)
    skin = Skin(rng.integers(0, 4, (20, 3)), rng.dirichlet(np.ones(3), 20))
    model = linear_blend_model(rest, [[0, 1, 2]], skin, BoneTrack(np.tile(by, (1, 4, 1, 1))))
    assert_same_points(pose_frames(model)[0], apply(by, rest.astype(np.float64)), 1e-5)
