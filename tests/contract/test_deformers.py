"""What every family of deformers promises, asked of every one that is registered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.character import Deformer
from osteon.core.model import SkinnedModel
from osteon.core.transforms import apply, compose, identity, invert
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.pose import blends_of, pose_frames, pose_points
from osteon.deform.registry import DEFORMERS, deformer_class, restore_deformer
from osteon.io import load_model, save_model
from osteon.measure.skin_report import compression_ratio

from .families import DEFORMER_CASES

FORMATS = (".npz", ".glb", ".gltf", ".usdc", ".usda")


@pytest.fixture(params=sorted(DEFORMERS), scope="module")
def model(request: pytest.FixtureRequest) -> SkinnedModel:
    assert request.param in DEFORMER_CASES, f"{request.param} is registered and not tested: tests/contract/families.py"
    return DEFORMER_CASES[request.param]()


def rest_of(model: SkinnedModel) -> np.ndarray:
    return model.rest.astype(np.float64)[None]


def test_every_case_is_registered() -> None:
    assert set(DEFORMER_CASES) == set(DEFORMERS)
    assert len(DEFORMERS) >= 2


def test_states_what_it_is(model: SkinnedModel) -> None:
    deformer = model.deformer
    assert isinstance(deformer, Deformer)
    assert deformer_class(deformer.kind) is type(deformer)
    assert model.track.bone_type in deformer.bone_types
    assert (deformer.n_vertices, deformer.n_bones) == (model.n_vertices, model.n_bones)
    assert deformer.n_floats > 0
    assert compression_ratio(model) > 0


def test_bones_at_rest_leave_the_rest_pose(model: SkinnedModel) -> None:
    posed = pose_points(model.deformer, rest_of(model), identity(2, model.n_bones))
    assert np.abs(posed - model.rest).max() <= 1e-6 * model.diagonal


def test_one_rigid_motion_of_all_bones_moves_the_mesh_rigidly(model: SkinnedModel) -> None:
    moves = np.concatenate([Rotation.from_euler("xyz", [0.4, -1.1, 2.6]).as_matrix(), [[3.0], [-2.0], [0.5]]], axis=1)
    before = pose_points(model.deformer, rest_of(model), model.track.transforms)
    after = pose_points(model.deformer, rest_of(model), compose(moves[None, None], model.track.transforms))
    assert np.abs(after - apply(moves[None], before)).max() <= 2e-6 * model.diagonal


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_scene_that_lies_elsewhere_in_other_units_moves_the_same(model: SkinnedModel, scale: float) -> None:
    """x' = G x where rest pose, bones and deformer are placed by G."""
    turn = np.eye(3) if scale != 1 else Rotation.from_euler("xyz", [0.7, 2.1, -0.4]).as_matrix()
    place = np.concatenate([scale * turn, scale * np.array([[0.3], [-2.0], [0.5]])], axis=1)
    bones = compose(compose(place, model.track.transforms.astype(np.float64)), invert(place))
    before = pose_points(model.deformer, rest_of(model), model.track.transforms)
    after = pose_points(model.deformer.placed(place), apply(place, rest_of(model)), bones)
    assert np.abs(after - apply(place, before)).max() <= 4e-6 * scale * model.diagonal


def test_linear_part_is_the_slope(model: SkinnedModel) -> None:
    """Against central differences of the blends' own map, which is affine in the rest point."""
    transforms, step = model.track.transforms[3].astype(np.float64), 1e-3 * model.diagonal
    blends = blends_of(model.deformer, transforms)
    for axis in range(3):
        ahead, behind = (rest_of(model) + sign * step * np.eye(3)[axis] for sign in (1, -1))
        moved = [pose_points(model.deformer, points, transforms[None])[0] for points in (ahead, behind)]
        slope = (moved[0].astype(np.float64) - moved[1]) / (2 * step)
        assert np.abs(slope - blends[:, :, axis]).max() <= 2e-4


def test_arrays_and_back(model: SkinnedModel) -> None:
    arrays = model.deformer.arrays()
    again = restore_deformer(model.deformer.kind, {name: array.copy() for name, array in arrays.items()})
    assert set(again.arrays()) == set(arrays)
    posed = [pose_points(deformer, rest_of(model), model.track.transforms) for deformer in (model.deformer, again)]
    assert np.array_equal(*posed)


def test_some_vertices(model: SkinnedModel) -> None:
    chosen = np.array([5, 3, 3, 100], np.int32)
    taken = model.deformer.take(chosen)
    transforms = model.track.transforms[2].astype(np.float64)
    assert np.array_equal(blends_of(taken, transforms), blends_of(model.deformer, transforms)[chosen])
    assert np.array_equal(blends_of(model.deformer, transforms, chosen.astype(np.int64)), blends_of(taken, transforms))


def test_weights_for_colours_sum_to_one(model: SkinnedModel) -> None:
    skin = model.deformer.bone_weights()
    assert skin.n_vertices == model.n_vertices
    assert skin.bones.max() < model.n_bones


def test_threads_change_nothing(model: SkinnedModel) -> None:
    assert np.array_equal(pose_frames(model, threads=1), pose_frames(model, threads=3))


def test_stock_skin_shows_the_same(model: SkinnedModel) -> None:
    """A family that claims a stock form is shown exactly by it."""
    stock = model.deformer.stock_skin()
    if stock is None:
        assert model.character.stock_skin() is model.character.fallback
        return
    shown = model.with_character(deformer=LinearBlend(stock))
    assert np.abs(pose_frames(shown) - pose_frames(model)).max() <= 1e-6 * model.diagonal


@pytest.mark.parametrize("suffix", FORMATS)
def test_files_give_it_back(model: SkinnedModel, suffix: str, tmp_path: Path) -> None:
    save_model(model, tmp_path / f"model{suffix}")
    again = load_model(tmp_path / f"model{suffix}")
    assert again.deformer.kind == model.deformer.kind
    assert np.abs(pose_frames(again) - pose_frames(model)).max() <= 1e-6 * model.diagonal
