"""What every kind of displacement promises, asked of every one that is registered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.character import Displacement
from osteon.core.model import SkinnedModel
from osteon.deform.pose import displaced_rest, pose_frames
from osteon.deform.registry import DISPLACEMENTS, displacement_class, restore_displacement
from osteon.io import load_model, save_model

from .families import DISPLACEMENT_CASES


@pytest.fixture(params=sorted(DISPLACEMENTS), scope="module")
def model(request: pytest.FixtureRequest) -> SkinnedModel:
    assert request.param in DISPLACEMENT_CASES, f"{request.param} is registered and not tested: families.py"
    return DISPLACEMENT_CASES[request.param]()


def displacement_of(model: SkinnedModel) -> Displacement:
    return model.character.displacements[0]


def test_every_case_is_registered() -> None:
    assert set(DISPLACEMENT_CASES) == set(DISPLACEMENTS)


def test_states_what_it_is(model: SkinnedModel) -> None:
    found = displacement_of(model)
    assert isinstance(found, Displacement)
    assert displacement_class(found.kind) is type(found)
    assert found.basis.shape[1:] == (model.n_vertices, 3)
    assert found.normal_basis is None or found.normal_basis.shape == found.basis.shape
    assert found.coefficients(model.animation).shape == (model.n_frames, len(found.basis))


def test_adds_its_columns_to_the_rest_pose(model: SkinnedModel) -> None:
    found = displacement_of(model)
    q = found.coefficients(model.animation).astype(np.float64)
    expected = model.rest + np.tensordot(q, found.basis.astype(np.float64), axes=1)
    assert displaced_rest(model, 0, model.n_frames) == pytest.approx(expected, abs=1e-12)
    assert displaced_rest(model, 2, 3) == pytest.approx(expected[2:3], abs=1e-12)


def test_arrays_and_back(model: SkinnedModel) -> None:
    found = displacement_of(model)
    again = restore_displacement(found.kind, found.arrays())
    assert np.array_equal(again.basis, found.basis)
    assert set(again.arrays()) == set(found.arrays())


def test_cut_and_taken(model: SkinnedModel) -> None:
    found = displacement_of(model)
    chosen = np.array([7, 1, 1], np.int32)
    assert np.array_equal(found.truncate(2).basis, found.basis[:2])
    assert np.array_equal(found.take(chosen).basis, found.basis[:, chosen])


def test_columns_of_another_mesh(model: SkinnedModel) -> None:
    """Other vertices, the same coefficients; in 8 bits as closely as those hold."""
    found = displacement_of(model)
    smaller, moved = 0.5 * found.basis[:, :5], None if found.normal_basis is None else found.normal_basis[:, 5:10]
    other = found.on_mesh(smaller, moved)
    assert type(other) is type(found)
    assert np.abs(other.basis - smaller).max() <= np.abs(smaller).max() / 100
    assert (other.normal_basis is None) == (moved is None)
    assert np.array_equal(other.coefficients(model.animation), found.coefficients(model.animation))
    assert set(other.arrays()) == set(found.arrays())


@pytest.mark.parametrize("suffix", [".npz", ".glb", ".gltf", ".usdc"])
def test_files_give_it_back(model: SkinnedModel, suffix: str, tmp_path: Path) -> None:
    save_model(model, tmp_path / f"model{suffix}")
    again = load_model(tmp_path / f"model{suffix}")
    assert [d.kind for d in again.character.displacements] == [displacement_of(model).kind]
    assert np.abs(pose_frames(again) - pose_frames(model)).max() <= 2e-6 * model.diagonal
