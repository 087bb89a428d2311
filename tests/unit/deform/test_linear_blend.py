from __future__ import annotations

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.core.character import Corrections, Skin
from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.core.transforms import identity
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.pose import pose_frames, pose_vertices

from ...tolerance import assert_same_points


def random_model(n_vertices: int = 40, n_frames: int = 7, n_bones: int = 5, rank: int = 0) -> SkinnedModel:
    rng = np.random.default_rng(n_vertices + rank)
    weights = rng.dirichlet(np.ones(3), n_vertices)
    corrections = None
    if rank:
        corrections = Corrections(rng.normal(size=(rank, n_vertices, 3)), rng.normal(size=(n_frames, rank)))
    return linear_blend_model(
        rng.normal(size=(n_vertices, 3)),
        np.array([[0, 1, 2]]),
        Skin(rng.integers(0, n_bones, (n_vertices, 3)), weights),
        BoneTrack(rng.normal(size=(n_frames, n_bones, 3, 4))),
        corrections=corrections,
    )


def blended(model: SkinnedModel) -> np.ndarray:
    """(f,v,3) by the formula, in one einsum over all bones."""
    rest = np.repeat(model.rest[None].astype(np.float64), model.n_frames, axis=0)
    if model.corrections is not None:
        basis, coefficients = (a.astype(np.float64) for a in (model.corrections.basis, model.corrections.coefficients))
        rest = rest + np.einsum("fr,rvi->fvi", coefficients, basis)
    point = np.concatenate([rest, np.ones((*rest.shape[:2], 1))], axis=2)
    transforms = model.track.transforms.astype(np.float64)
    return np.einsum("vb,fbij,fvj->fvi", model.skin.dense(model.n_bones), transforms, point)


@pytest.mark.parametrize("rank", [0, 1, 4])
@pytest.mark.parametrize("n_frames", [1, 7])
def test_frames_are_the_weighted_sum_of_bones(rank, n_frames):
    model = random_model(n_frames=n_frames, rank=rank)
    posed = pose_frames(model)
    assert posed.dtype == np.float32
    assert_same_points(posed, blended(model))


@pytest.mark.parametrize("rank", [0, 3])
def test_parts_are_the_same_as_the_whole(rank):
    model = random_model(rank=rank)
    whole = pose_frames(model)
    assert np.array_equal(pose_frames(model, 2, 5), whole[2:5])
    assert np.array_equal(pose_frames(model, 6), whole[6:])
    assert np.array_equal(pose_frames(model, 2, 3), whole[2:3])  # corrections of one frame are not those of the first
    assert np.array_equal(pose_vertices(model, 4), whole[4])
    assert pose_frames(model, 3, 3).shape == (0, 40, 3)


def test_corrections_of_rank_zero_change_nothing():
    model = random_model()
    none = Corrections(np.zeros((0, 40, 3)), np.zeros((7, 0)))
    assert np.array_equal(pose_frames(model.with_corrections(none)), pose_frames(model))


def test_number_of_threads_does_not_matter():
    model = random_model(9000, 3)  # more than two blocks of vertices
    assert np.array_equal(pose_frames(model, threads=1), pose_frames(model, threads=3))


def test_identity_gives_the_rest_pose():
    model = random_model().with_animation(track=BoneTrack(identity(7, 5), "rigid"))
    assert_same_points(pose_frames(model), np.repeat(model.rest[None], 7, axis=0))


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (3, 2), (0, 8), (8, 8)])
def test_frames_that_do_not_exist(start, stop, refused):
    with refused(OptionError, "0 … 7"):
        pose_frames(random_model(), start, stop)


@pytest.mark.parametrize("frame", [-1, 7])
def test_a_frame_that_does_not_exist(frame, refused):
    with refused(OptionError, "0 … 7"):
        pose_vertices(random_model(), frame)
