"""Levels, bind poses and the page's pack carry the normals of a model and the columns that correct them."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.character import Corrections
from osteon.core.model import SkinnedModel
from osteon.core.normals import angles_between
from osteon.core.skin_options import SkinOptions
from osteon.deform.normals import pose_normals
from osteon.deform.pose import pose_frames
from osteon.pipeline.skin import skin_sequence
from osteon.view.pack.arrays import columns_by_kind, displacement_arrays, split_normals

from ...cube import sheared_cube
from ...tolerance import assert_near


@pytest.fixture(scope="module")
def cube() -> SkinnedModel:
    """Hard edges, two columns of normals."""
    return skin_sequence(sheared_cube(), options=SkinOptions(bones=2, rank=1, normal_rank=2)).model


def corner_normals(model: SkinnedModel, frame: int) -> np.ndarray:
    """(3t,3) the shading of every corner."""
    return np.asarray(pose_normals(model, frame)[model.asset.normals.of_corner].reshape(-1, 3))


def test_a_vertex_is_split_where_it_has_several_normals(cube):
    split = split_normals(cube)
    assert split is not None
    assert split.model.n_vertices == split.model.mesh.n_normals == 24
    assert np.array_equal(split.vertices[:8], np.arange(8))
    assert np.array_equal(split.vertices[split.model.faces], cube.faces)
    assert_near(pose_frames(split.model), pose_frames(cube)[:, split.vertices], 1e-6)
    for f in (0, 3, 5):
        assert_near(corner_normals(split.model, f), corner_normals(cube, f), 1e-6)
    assert split_normals(split.model) is None


def test_columns_go_to_the_page_by_what_they_move(cube):
    assert (cube.rank, cube.normal_rank) == (1, 2)
    split = split_normals(cube).model
    arrays = displacement_arrays(split.character.displacements[0], split.animation, split.mesh)
    parts = columns_by_kind("corrections", arrays)
    assert set(parts) == {"corrections", "normals"}
    assert "normal_basis" not in parts["corrections"]
    assert "basis" not in parts["normals"]
    assert parts["corrections"]["basis"].shape == (1, 24, 3)
    assert parts["normals"]["normal_basis"].shape == (2, 24, 3)
    assert np.array_equal(parts["normals"]["coefficients"], cube.corrections.coefficients[:, 1:])
    assert columns_by_kind("eigenskin", arrays) == {"eigenskin": arrays}


def test_cut_and_take_keep_columns_of_normals():
    rng = np.random.default_rng(0)
    basis = np.zeros((5, 4, 3))
    basis[:3] = rng.normal(size=(3, 4, 3))
    added = Corrections(basis, rng.normal(size=(6, 5)), rng.normal(size=(5, 7, 3)))
    assert (added.rank, added.n_columns) == (3, 5)
    for rank, columns in ((3, [0, 1, 2, 3, 4]), (1, [0, 3, 4]), (0, [3, 4]), (9, [0, 1, 2, 3, 4])):
        cut = added.truncate(rank)
        assert (cut.rank, cut.n_columns) == (min(rank, 3), len(columns))
        assert np.array_equal(cut.basis, added.basis[columns])
        assert np.array_equal(cut.normal_basis, added.normal_basis[columns])
        assert np.array_equal(cut.coefficients, added.coefficients[:, columns])


@pytest.mark.parametrize("pose", [0, 4])
def test_a_fitted_file_keeps_its_shading_with_fewer_keys(cube, tmp_path, pose):
    """Fewer keys and compressed weights turn no normal by more than two degrees."""
    from osteon.io import SaveOptions, load_model, save_model

    save_model(cube, tmp_path / "cube.glb", options=SaveOptions(compress=True))
    again = load_model(tmp_path / "cube.glb")
    assert angles_between(corner_normals(again, pose), corner_normals(cube, pose)).max() < 2
