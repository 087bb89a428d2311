"""Both forms of eq. 13: what each is exact for, and where they agree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.core.normals import vertex_normals
from osteon.core.skin import Skin
from osteon.deform.normals import NormalCorrections, normal_map, pose_normals
from osteon.deform.pose import linear_parts, pose_vertices
from osteon.synth.motion import rigid_skin
from osteon.synth.shapes import make_sphere

from ...subjects import bent_tube
from ...tolerance import assert_near

AFFINE = np.array([[1.3, 0.4, -0.2], [0.1, 0.7, 0.3], [-0.3, 0.2, 1.1]])


def sphere(*linear: np.ndarray) -> SkinnedModel:
    """A sphere on one bone, moved by a matrix in each frame."""
    shape = make_sphere(2, 1.0)
    transforms = np.concatenate([np.stack(linear), np.ones((len(linear), 3, 1))], axis=2)[:, None]
    return SkinnedModel(shape.vertices, shape.faces, rigid_skin(np.zeros(len(shape.vertices))), BoneTrack(transforms))


def plain(model: SkinnedModel, form: str, rest: np.ndarray | None = None) -> NormalCorrections:
    rest = vertex_normals(model.rest, model.faces) if rest is None else rest
    empty = np.zeros((0, model.n_vertices, 3))
    return NormalCorrections(rest, empty, np.zeros((model.n_frames, 0)), form)


def test_both_forms_agree_for_rotations():
    turns = [Rotation.from_rotvec(v).as_matrix() for v in ([0, 0, 0], [1.0, -2, 0.5], [0, 3.1, 0])]
    model = sphere(*turns)
    for f, turn in enumerate(turns):
        linear, inverse = (pose_normals(model, f, plain(model, form)) for form in ("linear", "inverse_transpose"))
        assert_near(linear, inverse, 1e-6)
        assert_near(linear, vertex_normals(model.rest, model.faces) @ turn.T, 1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_inverse_transpose_is_exact_for_an_affine_sphere(sign):
    """The gradient of |F^-1 x| at the moved points, which is the true normal of the ellipsoid."""
    affine = sign * AFFINE
    model = sphere(affine)
    found = pose_normals(model, 0, plain(model, "inverse_transpose", model.rest))
    gradient = model.rest.astype(np.float64) @ np.linalg.inv(affine)
    assert_near(found, gradient / np.linalg.norm(gradient, axis=1, keepdims=True), 1e-6)


def test_inverse_transpose_is_exact_for_a_flat_patch():
    """Every vertex of a moved square has the normal of the moved plane; F n does not."""
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 1, 4)), axis=-1).reshape(-1, 2)
    rest = np.concatenate([grid, 0.5 * grid[:, :1] - 0.2 * grid[:, 1:]], axis=1)
    corner = np.array([4 * i + j for i in range(3) for j in range(3)])[:, None]
    faces = (corner + np.array([[0, 1, 4, 1, 5, 4]])).reshape(-1, 3)
    transforms = np.concatenate([AFFINE, np.zeros((3, 1))], axis=1)[None, None]
    model = SkinnedModel(rest, faces, rigid_skin(np.zeros(16)), BoneTrack(transforms))
    moved = vertex_normals(pose_vertices(model, 0), faces)
    assert_near(pose_normals(model, 0, plain(model, "inverse_transpose")), moved, 1e-5)
    assert np.abs(pose_normals(model, 0, plain(model, "linear")) - moved).max() > 0.05


def test_the_map_is_the_inverse_transpose_up_to_a_positive_factor():
    matrices = np.random.default_rng(0).normal(size=(200, 3, 3))
    expected = np.linalg.inv(matrices).transpose(0, 2, 1)
    found = normal_map(matrices, "inverse_transpose")
    factor = np.abs(np.linalg.det(matrices))
    np.testing.assert_allclose(found, factor[:, None, None] * expected, rtol=1e-6, atol=1e-9)
    assert normal_map(matrices, "linear") is matrices


def test_flattened_blends_give_unit_normals_or_none():
    flat = np.diag([1.0, 1.0, 0.0])
    model = sphere(flat, np.zeros((3, 3)))
    squeezed = pose_normals(model, 0, plain(model, "inverse_transpose"))
    clear = np.abs(model.rest[:, 2]) > 1e-3
    assert_near(np.abs(squeezed[clear]), np.broadcast_to([0.0, 0, 1], squeezed[clear].shape), 1e-6)
    for form in ("linear", "inverse_transpose"):
        assert not pose_normals(model, 1, plain(model, form)).any()


def test_corrections_are_added_before_the_map():
    model = bent_tube().model
    rng = np.random.default_rng(0)
    rest = vertex_normals(model.rest, model.faces)
    basis, q = 0.1 * rng.normal(size=(2, model.n_vertices, 3)), rng.normal(size=(model.n_frames, 2))
    found = pose_normals(model, 5, NormalCorrections(rest, basis, q))
    expected = np.einsum("vij,vj->vi", linear_parts(model, 5), rest + np.einsum("r,rvj->vj", q[5], basis))
    assert_near(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), 1e-6)


def test_blends_are_the_weighted_sum():
    model = bent_tube(3).model
    weights = model.skin.dense(3)
    expected = np.einsum("vb,bij->vij", weights, model.track.transforms[4, :, :, :3])
    assert_near(linear_parts(model, 4), expected, 1e-7)


def test_shapes_are_checked(refused):
    rest, basis, q = np.zeros((5, 3)), np.zeros((2, 5, 3)), np.zeros((4, 2))
    NormalCorrections(rest, basis, q)
    with refused(GeometryError, "basis"):
        NormalCorrections(rest, basis[:, :4], q)
    with refused(GeometryError, "coefficients"):
        NormalCorrections(rest, basis, q[:, :1])
    with refused(GeometryError, "form"):
        NormalCorrections(rest, basis, q, "sideways")


def test_several_influences():
    """Half of a turn and half of none: the shaders' F n, by hand."""
    quarter = Rotation.from_rotvec([0, 0, np.pi / 2]).as_matrix()
    transforms = np.stack([np.eye(3), quarter])[None]
    track = BoneTrack(np.concatenate([transforms, np.zeros((1, 2, 3, 1))], axis=3))
    rest = np.array([[0.0, 0, 0], [0, 1, 0], [0, 0, 1]])  # normal along x
    model = SkinnedModel(rest, [[0, 1, 2]], Skin(np.tile([0, 1], (3, 1)), np.full((3, 2), 0.5)), track)
    root = np.sqrt(0.5)
    assert_near(pose_normals(model, 0, plain(model, "linear")), np.tile([root, root, 0], (3, 1)), 1e-6)
