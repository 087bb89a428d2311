"""Both forms of eq. 13: what each is exact for, and where they agree; which normals a mesh is shaded with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.character import Corrections, Skin
from osteon.core.errors import GeometryError
from osteon.core.mesh import CornerNormals
from osteon.core.model import SkinnedModel
from osteon.core.normals import vertex_normals
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.normals import displaced_normals, normal_map, pose_normals, rest_normals, unit_vectors
from osteon.deform.pose import linear_parts, pose_vertices
from osteon.synth.baked import rigid_skin
from osteon.synth.shapes import make_sphere

from ...subjects import bent_tube
from ...tolerance import assert_near

AFFINE = np.array([[1.3, 0.4, -0.2], [0.1, 0.7, 0.3], [-0.3, 0.2, 1.1]])


def sphere(*linear: np.ndarray) -> SkinnedModel:
    """A sphere on one bone, moved by a matrix in each frame."""
    shape = make_sphere(2, 1.0)
    transforms = np.concatenate([np.stack(linear), np.ones((len(linear), 3, 1))], axis=2)[:, None]
    return linear_blend_model(
        shape.vertices, shape.faces, rigid_skin(np.zeros(len(shape.vertices))), BoneTrack(transforms)
    )


def shaded(model: SkinnedModel, normals: np.ndarray) -> SkinnedModel:
    """The model with a normal of its own (v,3) at each vertex."""
    return model.with_mesh(asset=replace(model.asset, normals=CornerNormals(normals, model.faces)))


def test_both_forms_agree_for_rotations():
    turns = [Rotation.from_rotvec(v).as_matrix() for v in ([0, 0, 0], [1.0, -2, 0.5], [0, 3.1, 0])]
    model = sphere(*turns)
    for f, turn in enumerate(turns):
        linear, inverse = (pose_normals(model, f, form) for form in ("linear", "inverse_transpose"))
        assert_near(linear, inverse, 1e-6)
        assert_near(linear, vertex_normals(model.rest, model.faces) @ turn.T, 1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_inverse_transpose_is_exact_for_an_affine_sphere(sign):
    """The gradient of |F^-1 x| at the moved points, which is the true normal of the ellipsoid."""
    affine = sign * AFFINE
    model = sphere(affine)
    found = pose_normals(shaded(model, model.rest), 0, "inverse_transpose")
    gradient = model.rest.astype(np.float64) @ np.linalg.inv(affine)
    assert_near(found, gradient / np.linalg.norm(gradient, axis=1, keepdims=True), 1e-6)


def test_inverse_transpose_is_exact_for_a_flat_patch():
    """Every vertex of a moved square has the normal of the moved plane; F n does not."""
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 1, 4)), axis=-1).reshape(-1, 2)
    rest = np.concatenate([grid, 0.5 * grid[:, :1] - 0.2 * grid[:, 1:]], axis=1)
    corner = np.array([4 * i + j for i in range(3) for j in range(3)])[:, None]
    faces = (corner + np.array([[0, 1, 4, 1, 5, 4]])).reshape(-1, 3)
    transforms = np.concatenate([AFFINE, np.zeros((3, 1))], axis=1)[None, None]
    model = linear_blend_model(rest, faces, rigid_skin(np.zeros(16)), BoneTrack(transforms))
    moved = vertex_normals(pose_vertices(model, 0), faces)
    assert_near(pose_normals(model, 0, "inverse_transpose"), moved, 1e-5)
    assert np.abs(pose_normals(model, 0, "linear") - moved).max() > 0.05


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
    squeezed = pose_normals(model, 0, "inverse_transpose")
    clear = np.abs(model.rest[:, 2]) > 1e-3
    assert_near(np.abs(squeezed[clear]), np.broadcast_to([0.0, 0, 1], squeezed[clear].shape), 1e-6)
    for form in ("linear", "inverse_transpose"):
        assert not pose_normals(model, 1, form).any()


def test_corrections_are_added_before_the_map():
    model = bent_tube().model
    rng = np.random.default_rng(0)
    rest = vertex_normals(model.rest, model.faces)
    basis, q = 0.1 * rng.normal(size=(2, model.n_vertices, 3)), rng.normal(size=(model.n_frames, 2))
    moved = model.with_corrections(Corrections(np.zeros_like(basis), q, basis))
    found = pose_normals(moved, 5)
    expected = np.einsum("vij,vj->vi", linear_parts(model, 5), rest + np.einsum("r,rvj->vj", q[5], basis))
    assert_near(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), 1e-6)
    assert np.array_equal(pose_vertices(moved, 5), pose_vertices(model, 5))


def test_blends_are_the_weighted_sum():
    model = bent_tube(3).model
    weights = model.skin.dense(3)
    expected = np.einsum("vb,bij->vij", weights, model.track.transforms[4, :, :, :3])
    assert_near(linear_parts(model, 4), expected, 1e-7)


def test_shapes_are_checked(refused):
    model = bent_tube().model
    n, f = model.n_vertices, model.n_frames
    basis, q = np.zeros((2, n, 3)), np.zeros((f, 2))
    with refused(GeometryError, "normal_basis"):
        Corrections(basis, q, np.zeros((1, n, 3)))
    with refused(GeometryError, "normal_basis"):
        model.with_corrections(Corrections(basis, q, np.zeros((2, n - 1, 3))))
    with refused(GeometryError, "normals"):
        shaded(model, np.zeros((n - 1, 3)))


def test_a_mesh_is_shaded_with_its_own_normals_or_smooth_ones():
    model = bent_tube().model
    assert_near(rest_normals(model.mesh), vertex_normals(model.rest, model.faces), 1e-9)
    own = unit_vectors(np.random.default_rng(0).normal(size=(model.n_vertices, 3)))
    assert_near(rest_normals(shaded(model, own).mesh), own, 1e-6)
    assert_near(displaced_normals(shaded(model, own), 3), own, 1e-6)


def test_a_normal_of_no_length_points_upwards():
    model = bent_tube().model
    none = np.zeros((model.n_vertices, 3))
    assert_near(rest_normals(shaded(model, none).mesh), np.broadcast_to([0.0, 0, 1], none.shape), 0)


def test_several_normals_at_a_vertex_follow_its_blend():
    """Each corner of each triangle has a normal of its own."""
    model = bent_tube(3).model
    corners = np.arange(3 * len(model.faces), dtype=np.int32).reshape(-1, 3)
    values = unit_vectors(np.random.default_rng(1).normal(size=(corners.size, 3)))
    split = model.with_mesh(asset=replace(model.asset, normals=CornerNormals(values, corners)))
    assert split.mesh.n_normals == corners.size
    assert np.array_equal(split.mesh.vertex_of_normal, model.faces.reshape(-1))
    assert np.array_equal(split.mesh.vertex_of_normal[split.mesh.normal_of_vertex], np.arange(model.n_vertices))
    expected = np.einsum("nij,nj->ni", linear_parts(model, 6)[model.faces.reshape(-1)], values)
    assert_near(pose_normals(split, 6), expected / np.linalg.norm(expected, axis=1, keepdims=True), 1e-6)


def test_several_influences():
    """Half of a turn and half of none: the shaders' F n, by hand."""
    quarter = Rotation.from_rotvec([0, 0, np.pi / 2]).as_matrix()
    transforms = np.stack([np.eye(3), quarter])[None]
    track = BoneTrack(np.concatenate([transforms, np.zeros((1, 2, 3, 1))], axis=3))
    rest = np.array([[0.0, 0, 0], [0, 1, 0], [0, 0, 1]])  # normal along x
    model = linear_blend_model(rest, [[0, 1, 2]], Skin(np.tile([0, 1], (3, 1)), np.full((3, 2), 0.5)), track)
    root = np.sqrt(0.5)
    assert_near(pose_normals(model, 0, "linear"), np.tile([root, root, 0], (3, 1)), 1e-6)
