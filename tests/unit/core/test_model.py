from __future__ import annotations

import numpy as np
import pytest

from osteon.core.animation import Animation, BoneTrack, Clip
from osteon.core.character import Corrections, Skeleton, Skin
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.transforms import identity
from osteon.deform.linear_blend import linear_blend_model

FACES = np.array([[0, 1, 2]], np.int32)
REST = np.eye(3, dtype=np.float32)
SKELETON = Skeleton(("hip", "knee"), np.array([-1, 0]), identity(2))
SKIN = Skin(np.array([[0, 1], [1, 0], [0, 0]]), np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]]))


def model(**changed: object) -> SkinnedModel:
    """A triangle on two bones that stand still for four frames."""
    plain = {"rest": REST, "faces": FACES, "skin": SKIN, "track": BoneTrack(identity(4, 2))}
    return linear_blend_model(**{**plain, **changed})


def test_counts():
    made = model()
    assert (made.n_frames, made.n_vertices, made.n_bones, made.skin.n_influences) == (4, 3, 2, 2)
    assert made.clips == (Clip("clip", 0, 4),)
    assert made.track.names == ("bone_0", "bone_1")
    assert made.skin.weights.dtype == np.float32
    assert made.skin.bones.dtype == np.int32


def test_dense_weights_add_slots_that_name_one_bone_twice():
    assert SKIN.dense(3).tolist() == [[0.25, 0.75, 0], [0, 1, 0], [1, 0, 0]]


def test_weights_must_sum_to_one(refused):
    with refused(GeometryError, "vertex 1", "0.9"):
        Skin([[0, 1], [0, 1]], [[0.5, 0.5], [0.5, 0.4]])
    Skin([[0, 1]], [[1.5, -0.5]])  # negative weights are TSVD's right
    Skin([[0, 1, 2]], [[1 / 3, 1 / 3, 1 / 3]])


@pytest.mark.parametrize(
    ("bones", "weights"),
    [([[0, 1]], [[1.0]]), ([[0]], [[np.nan]]), ([[-1]], [[1.0]]), ([[0.0]], [[1.0]]), ([0], [1.0])],
)
def test_bad_skins(bones, weights, refused):
    with refused(GeometryError):
        Skin(np.array(bones), np.array(weights))


def test_bad_tracks(refused):
    with refused(GeometryError, "transforms"):
        BoneTrack(np.zeros((2, 3, 4)))
    with refused(GeometryError, "bone_type", "'soft'"):
        BoneTrack(identity(2, 2), "soft")
    with refused(GeometryError, "names", "expected 2"):
        BoneTrack(identity(2, 2), names=("hip",))


def test_skeleton_is_a_forest(refused):
    Skeleton(("a", "b", "c"), [-1, 0, -1], identity(3))
    with refused(GeometryError, "ancestor"):
        Skeleton(("a", "b", "c"), [-1, 2, 1], identity(3))
    with refused(GeometryError, "ancestor"):
        Skeleton(("a",), [0], identity(1))
    with refused(GeometryError, "parents"):
        Skeleton(("a", "b"), [-1, 2], identity(2))
    with refused(GeometryError, "parents"):
        Skeleton(("a", "b"), [-1, -2], identity(2))
    with refused(GeometryError, "parents"):
        Skeleton(("a", "b"), [-1], identity(2))


def test_a_long_chain_of_joints_is_fine():
    n = 300
    chain = Skeleton(tuple(map(str, range(n))), np.arange(-1, n - 1), identity(n))
    assert chain.parents[-1] == n - 2


def test_corrections_agree_with_their_rank_and_model(refused):
    good = Corrections(np.zeros((2, 3, 3)), np.zeros((4, 2)))
    assert model(corrections=good).n_columns == 2
    assert (model(corrections=good).rank, model(corrections=good).normal_rank) == (0, 2)  # they move no position
    with refused(GeometryError, "coefficients"):
        Corrections(np.zeros((2, 3, 3)), np.zeros((4, 3)))
    with refused(GeometryError, "basis"):
        model(corrections=Corrections(np.zeros((2, 5, 3)), np.zeros((4, 2))))
    with refused(GeometryError, "coefficients"):
        model(corrections=Corrections(np.zeros((2, 3, 3)), np.zeros((3, 2))))


def test_parts_must_fit_each_other(refused):
    with refused(GeometryError, "2 rows", "3 vertices"):
        model(skin=Skin(np.zeros((2, 1), int), np.ones((2, 1))))
    with refused(GeometryError, "bone 1 of 1"):
        model(track=BoneTrack(identity(4, 1)))
    with refused(GeometryError, "faces"):
        model(faces=np.array([[0, 1, 3]]))


@pytest.mark.parametrize("clips", [(Clip("a", 0, 3),), (Clip("a", 2, 4),), (Clip("a", 0, 1), Clip("b", 2, 4))])
def test_clips_cover_all_frames_in_order(clips, refused):
    with refused(GeometryError, "clips"):
        model(clips=clips)


def test_changed_copies_share_what_stays():
    made = model(corrections=Corrections(np.ones((2, 3, 3)), np.ones((4, 2))), skeleton=SKELETON)
    named = made.with_mesh(name="wing")
    assert (named.name, made.name) == ("wing", "mesh")
    assert named.animation is made.animation
    assert named.with_character(skeleton=None).skeleton is None
    renamed = made.with_animation(clips=(Clip("flap", 0, 4),))
    assert [clip.name for clip in renamed.clips] == ["flap"]
    assert renamed.character is made.character
    assert renamed.track is made.track
    plain = made.with_corrections(None)
    assert (plain.corrections, plain.animation.coefficients, plain.rank) == (None, None, 0)
    assert plain.skeleton is made.skeleton
    again = plain.with_corrections(made.corrections)
    assert np.array_equal(again.corrections.basis, made.corrections.basis)


def test_truncated_corrections():
    normals = np.zeros((3, 3, 3))
    normals[2] = 1
    basis = np.ones((3, 3, 3))
    basis[2] = 0
    made = model(corrections=Corrections(basis, np.ones((4, 3)), normals))
    assert (made.rank, made.normal_rank) == (2, 1)
    assert made.truncate(2) is made
    assert (made.truncate(1).rank, made.truncate(1).normal_rank) == (1, 1)
    assert model().truncate(0).corrections is None


def test_a_model_without_its_coefficients_is_refused(refused):
    made = model(corrections=Corrections(np.ones((2, 3, 3)), np.ones((4, 2))))
    with refused(GeometryError, "coefficients", "stores none"):
        SkinnedModel(made.character, Animation(made.track))
    with refused(GeometryError, "coefficients", "(1, 2)"):
        SkinnedModel(made.character, Animation(made.track, (), np.ones((4, 3), np.float32)))
