"""Four triangles for each: exact small meshes, and what every family and kind of displacement keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.apply.edit.subdivide import subdivide_character, subdivide_model
from osteon.core.mesh import Asset, Mesh
from osteon.core.topology import triangle_areas
from osteon.deform.pose import pose_frames
from osteon.deform.registry import DEFORMERS, DISPLACEMENTS
from tests.contract.families import DEFORMER_CASES, DISPLACEMENT_CASES
from tests.cube import CORNERS, FACES, hard_normals
from tests.small_meshes import OCTAHEDRON, SQUARE, TETRAHEDRON, fan, grid, still
from tests.tolerance import assert_near, assert_same_points


def test_a_triangle_becomes_four() -> None:
    model = still(([[0.0, 0, 0], [2, 0, 0], [0, 2, 0]], [[0, 1, 2]]))
    found = subdivide_model(model).mesh
    assert found.rest.tolist() == [[0, 0, 0], [2, 0, 0], [0, 2, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
    assert found.faces.tolist() == [[0, 3, 4], [1, 5, 3], [2, 4, 5], [3, 5, 4]]


@pytest.mark.parametrize("shape", [SQUARE, TETRAHEDRON, OCTAHEDRON, fan(0.5), grid(3)])
def test_midpoints_keep_the_surface(shape) -> None:
    model = still(shape)
    found = subdivide_model(model, 2).mesh
    assert found.n_triangles == 16 * len(model.faces)
    assert np.array_equal(found.rest[: model.n_vertices], model.rest)
    before, after = (triangle_areas(mesh.rest, mesh.faces) for mesh in (model.mesh, found))
    assert_near(after.reshape(-1, 16), np.tile(before[:, None] / 16, 16), 1e-6)


def test_loop_moves_vertices_by_its_rules() -> None:
    """An octahedron: inner vertices of four neighbours, b = 3/32; the middle of an edge from 3/8 and 1/8."""
    found = subdivide_model(still(OCTAHEDRON), 1, "loop").mesh
    assert found.rest[0] == pytest.approx([1 - 4 * 3 / 32, 0, 0])  # its neighbours' sum is zero
    middle = found.rest[6:]
    assert_near(np.sort(np.abs(middle), axis=1), np.tile([0.0, 0.375, 0.375], (12, 1)), 1e-6)
    three = subdivide_model(still(TETRAHEDRON), 1, "loop").mesh.rest[0]
    assert three == pytest.approx(3 / 16 * np.ones(3))


def test_loop_smooths_a_border_along_itself() -> None:
    found = subdivide_model(still(([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])), 1, "loop").mesh
    assert_near(found.rest[0], [0.125, 0.125, 0], 1e-6)
    assert_near(found.rest[3:], [[0.5, 0, 0], [0, 0.5, 0], [0.5, 0.5, 0]], 1e-6)


def test_loop_keeps_a_plane_flat_and_seams_closed() -> None:
    rest, faces = (np.array(a) for a in grid(4))
    torn = Mesh(rest[faces].reshape(-1, 3), np.arange(faces.size).reshape(-1, 3))  # every corner stored for itself
    whole, split = (
        subdivide_model(still((mesh.rest, mesh.faces)), 1, "loop").mesh for mesh in (Mesh(rest, faces), torn)
    )
    assert np.array_equal(whole.rest[:, 2], np.zeros(whole.n_vertices))
    assert_near(split.rest[split.faces], whole.rest[whole.faces], 1e-6)


@pytest.mark.parametrize("kind", sorted(DEFORMERS))
def test_old_vertices_move_as_before_and_new_ones_between(kind: str) -> None:
    model = DEFORMER_CASES[kind]()
    found = subdivide_model(model)
    before, after = pose_frames(model), pose_frames(found)
    assert np.array_equal(after[:, : model.n_vertices], before)
    assert type(found.deformer) is type(model.deformer)
    assert (found.deformer.stock_skin() is None) == (model.deformer.stock_skin() is None)
    still_there = subdivide_model(
        model.with_animation(track=replace(model.track, transforms=_at_rest(model)), clips=())
    )
    assert_same_points(pose_frames(still_there)[0], found.rest)
    assert model.skin.n_influences <= found.skin.n_influences <= 8


def _at_rest(model) -> np.ndarray:
    out = np.zeros_like(model.track.transforms[:1])
    out[..., :3] = np.eye(3)
    return out


def test_weights_are_the_mean_of_the_ends() -> None:
    """Of two vertices with one bone each: half and half; what is beyond the influences goes to the largest."""
    model = DEFORMER_CASES["linear_blend"]()
    found = subdivide_model(model)
    dense, mixed = model.skin.dense(model.n_bones), found.skin.dense(model.n_bones)
    edge = found.faces[0, 1]
    i, j = model.faces[0, :2]
    mean = 0.5 * (dense[i] + dense[j])
    assert_near(mixed[edge], mean, 1e-6)
    assert_near(mixed.sum(axis=1), np.ones(found.n_vertices), 1e-5)
    one_bone = still(SQUARE)
    assert_near(subdivide_model(one_bone).skin.weights, np.ones((9, 1)), 0)


@pytest.mark.parametrize("kind", sorted(DISPLACEMENTS))
def test_columns_are_interpolated(kind: str) -> None:
    model = DISPLACEMENT_CASES[kind]()
    old = model.character.displacements[0]
    new = subdivide_character(model.character).displacements[0]
    count = model.n_vertices
    assert np.array_equal(new.basis[:, :count], old.basis)
    found = subdivide_character(model.character).mesh.faces[0, 1]
    i, j = model.faces[0, :2]
    assert_near(new.basis[:, found], 0.5 * (old.basis[:, i] + old.basis[:, j]), 1e-6)
    assert (new.normal_basis is None) == (old.normal_basis is None)


def test_attributes_are_interpolated() -> None:
    uvs = np.arange(24, dtype=np.float32).reshape(4, 3, 2) / 24
    asset = Asset(
        uvs=uvs,
        more_uvs=(uvs[:, :, ::-1],),
        colors=np.eye(5, 4, dtype=np.float32),
        triangle_material=np.array([0, 0, 0, 0]),
        primitive_of_triangle=np.array([0, 1, 1, 0]),
        primitive_names=("a", "b"),
        polygon_of_triangle=np.array([0, 0, 1, 1]),
    )
    found = subdivide_model(still(fan(0.5)).with_mesh(asset=asset)).mesh
    assert found.asset.uvs.shape == (16, 3, 2)
    assert_near(found.asset.uvs[0], [uvs[0, 0], (uvs[0, 0] + uvs[0, 1]) / 2, (uvs[0, 0] + uvs[0, 2]) / 2], 1e-6)
    assert_near(found.asset.uvs[3].mean(axis=0), uvs[0].mean(axis=0), 1e-6)
    assert_near(found.asset.colors[found.faces[0, 1]], 0.5 * (asset.colors[0] + asset.colors[1]), 1e-6)
    assert found.asset.primitive_of_triangle.tolist() == [0] * 4 + [1] * 8 + [0] * 4
    assert found.asset.polygon_of_triangle is None


def test_hard_edges_stay_hard() -> None:
    model = still((CORNERS, FACES)).with_mesh(asset=Asset(normals=hard_normals()))
    found = subdivide_model(model, 2).mesh
    normals = found.asset.normals
    side = np.repeat(model.asset.normals.values[model.asset.normals.of_corner[:, 0]], 16, axis=0)
    assert_near(normals.values[normals.of_corner], np.repeat(side[:, None], 3, axis=1), 1e-6)
