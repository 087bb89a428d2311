"""Levels of a character with EigenSkin displacements: coarse meshes carry the columns, and what is baked the motion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from osteon.core.character import StoredDisplacement
from osteon.core.model import SkinnedModel
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.pose import pose_character, pose_frames
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.io import load_model, save_model
from osteon.lod.mesh.simplify import simplify_model
from osteon.lod.model_levels import ModelLevels, load_levels, save_levels
from osteon.lod.options import LodOptions
from osteon.pipeline.eigenskin import learn_eigenskin, rig_of_mesh
from osteon.pipeline.level_measures import measure_models
from osteon.pipeline.levels import fit_levels
from osteon.view.pack.model_pack import pack_model
from tests.eigenskin_arm import make_rig, pose_set
from tests.tolerance import assert_same_points


@pytest.fixture(scope="module", name="arm")
def _arm() -> SkinnedModel:
    """Three bones, 600 triangles, five columns, as `osteon eigenskin` learns them."""
    poses, options = pose_set(make_rig()), EigenSkinOptions()
    return learn_eigenskin(rig_of_mesh(poses.mesh, poses.skeleton, options), poses, options=options).model


@pytest.fixture(scope="module", name="levels")
def _levels(arm: SkinnedModel) -> ModelLevels:
    return fit_levels(arm, options=LodOptions(triangles="50%,25%", threads=1)).levels


def in_bytes(model: SkinnedModel) -> SkinnedModel:
    packed = tuple(d.in_8_bits() for d in model.character.displacements)
    return SkinnedModel(replace(model.character, displacements=packed), model.animation)


def columns_of(model: SkinnedModel) -> EigenSkin:
    found = model.character.displacement("eigenskin")
    assert isinstance(found, EigenSkin)
    return found


def plain(model: SkinnedModel) -> SkinnedModel:
    return SkinnedModel(replace(model.character, displacements=()), model.animation)


def test_coarse_meshes_carry_the_columns(arm: SkinnedModel, levels: ModelLevels) -> None:
    for number in (1, 2):
        coarse = levels.mesh_model(number)
        found = columns_of(coarse)
        assert found.basis.shape == (len(columns_of(arm).basis), coarse.n_vertices, 3)
        assert found.normal_basis is not None
        assert np.array_equal(found.coefficients(arm.animation), columns_of(arm).coefficients(arm.animation))
        assert np.abs(found.basis).max() <= np.abs(columns_of(arm).basis).max()  # mixtures of its rows


def test_columns_bring_a_level_closer(arm: SkinnedModel) -> None:
    """Without its flesh the same level is farther from the source."""
    from osteon_bench.lod_mesh import surface_apart

    level = simplify_model(arm, triangles=[300]).levels[0].model
    frames = np.arange(arm.n_frames, dtype=np.int32)
    with_columns, without = (surface_apart(arm, one, frames, evenly=True).mean for one in (level, plain(level)))
    assert with_columns < 0.5 * without


def test_columns_stay_where_they_were(arm: SkinnedModel) -> None:
    """A column moves no vertex of a level that stands for none of those that it moved."""
    found = simplify_model(arm, triangles=[300]).levels[0]
    before, after = (np.any(columns_of(m).basis, axis=2) for m in (arm, found.model))
    assert (~before).any()
    for r in range(len(before)):
        moved = np.unique(found.vertex_of_source[before[r]])
        assert set(np.flatnonzero(after[r])) <= set(moved.tolist())


def test_columns_of_bytes_stay_in_bytes(arm: SkinnedModel) -> None:
    packed = in_bytes(arm)
    whole, small = (simplify_model(m, triangles=[300]).levels[0].model for m in (arm, packed))
    assert columns_of(small).bits == 8
    assert columns_of(whole).bits == 32
    assert columns_of(small).basis_bytes < columns_of(whole).basis_bytes / 3
    one, other = (pose_frames(m) for m in (small, plain(small)))
    assert np.abs(one - other).max() > 0.01


@pytest.mark.parametrize("suffix", [".glb", ".npz"])
@pytest.mark.parametrize("bits", [32, 8])
def test_files_give_all_of_it_back(arm: SkinnedModel, suffix: str, bits: int, tmp_path: Path) -> None:
    source = arm if bits == 32 else in_bytes(arm)
    levels = fit_levels(source, options=LodOptions(triangles="50%", threads=1)).levels
    save_levels(levels, tmp_path / f"arm{suffix}")
    found = load_levels(tmp_path / f"arm{suffix}")
    assert found is not None
    assert found.levels == levels.levels
    for level in levels.levels:
        again, before = found.clip_at(level, "poses"), levels.clip_at(level, "poses")
        assert [len(d.basis) for d in again.character.displacements] == [len(columns_of(source).basis)]
        assert_same_points(pose_frames(again), pose_frames(before), 1e-5)


def test_columns_play_as_with_all_bones(levels: ModelLevels) -> None:
    """A bone that follows another tells nothing of its joint's turn; the flesh still moves, and that is closer."""
    clip, fewer = levels.model.clips[0], replace(levels.levels[0], bones=1)
    shown = levels.clip_at(fewer, clip.name)
    exact = columns_of(levels.model).coefficients(levels.model.animation)[clip.start : clip.stop]
    assert np.array_equal(shown.animation.coefficients, exact)
    frames = pose_frames(levels.model, clip.start, clip.stop)
    live = SkinnedModel(levels.model.character, shown.animation)
    assert np.linalg.norm(pose_frames(shown) - frames) < np.linalg.norm(pose_frames(live) - frames)
    whole = levels.clip_at(levels.levels[0], clip.name)
    assert columns_of(whole).rbf.n_columns == len(exact.T)
    assert np.array_equal(pose_frames(whole), frames)


def test_level_0_alone_still_follows_its_joints(levels: ModelLevels, tmp_path: Path) -> None:
    baked = levels.baked(levels.levels[0])
    save_model(baked, tmp_path / "arm.glb")
    again = load_model(tmp_path / "arm.glb")
    turned = np.roll(again.animation.transforms, 1, axis=0)
    assert columns_of(again).rbf.n_columns == columns_of(levels.model).rbf.n_columns
    assert_same_points(pose_character(again.character, turned), pose_character(levels.model.character, turned), 1e-5)


@pytest.mark.parametrize("number", [1, 2])
def test_a_level_alone_keeps_the_motion_of_its_columns(levels: ModelLevels, number: int, tmp_path: Path) -> None:
    """Bones are gone, so what followed them is stored; it is no farther off than the level without any columns."""
    level = levels.levels[number]
    baked = levels.baked(level)
    save_model(baked, tmp_path / "arm.glb")
    again, source = load_model(tmp_path / "arm.glb"), levels.mesh_model(level.mesh)
    assert_same_points(pose_frames(again), pose_frames(baked), 1e-5)
    bare = ModelLevels(plain(levels.model), levels.skin, levels.levels, tuple(map(_plain_mesh, levels.coarse)))
    assert measure_models(source, again).rms < measure_models(source, bare.baked(level)).rms


def _plain_mesh(mesh):
    return replace(mesh, character=replace(mesh.character, displacements=()))


def test_both_kinds_of_corrections(arm: SkinnedModel, tmp_path: Path) -> None:
    """Stored ones beside those that follow joints: in files, in what the page reads, and alone."""
    wave = 0.02 * np.sin(3 * arm.rest[None, :, ::-1] + np.arange(2)[:, None, None])
    amounts = np.sin(np.arange(2 * arm.n_frames)).reshape(-1, 2)
    stored = StoredDisplacement(wave.astype(np.float32))
    animation = replace(arm.animation, coefficients=amounts.astype(np.float32))
    both = SkinnedModel(replace(arm.character, displacements=(stored, *arm.character.displacements)), animation)
    levels = fit_levels(both, options=LodOptions(triangles="50%", threads=1)).levels
    save_levels(levels, tmp_path / "arm.glb")
    found = load_levels(tmp_path / "arm.glb")
    assert found is not None
    assert [d.kind for d in found.coarse[0].character.displacements] == ["corrections", "eigenskin"]
    level = levels.levels[1]
    assert_same_points(pose_frames(found.clip_at(level, "poses")), pose_frames(levels.clip_at(level, "poses")), 1e-5)
    assert pack_model(levels.model, levels=levels)
    assert levels.baked(level).rank == 2 + columns_of(arm).rank
    assert levels.baked(level).n_columns == 2 + len(columns_of(arm).basis)
