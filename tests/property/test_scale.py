"""Rigs that carry a scale: another unit for the rest pose or for all bones changes nothing that a person sees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import BoneTrack, bone_type_of
from osteon.core.mesh import scale_of_bones
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import nearest_rotation
from osteon.deform.pose import pose_frames
from osteon.io import load_model, save_model
from osteon.pipeline.skin import skin_sequence
from osteon.synth.cloth import make_cloth

UNITS = (100.0, 0.01, 1000.0)


@pytest.fixture(scope="module")
def cloth() -> MeshSequence:
    return make_cloth()


def error_of(sequence: MeshSequence, **more: object) -> float:
    return skin_sequence(sequence, options=SkinOptions(bones=8, rounds=8, **more)).report.error_percent


@pytest.fixture(scope="module", params=["flexible", "rigid"])
def known(request: pytest.FixtureRequest, cloth: MeshSequence) -> tuple[str, float]:
    return request.param, error_of(cloth, bone_type=request.param)


@pytest.mark.parametrize("unit", UNITS)
def test_the_unit_of_the_rest_pose_does_not_matter(cloth: MeshSequence, known: tuple[str, float], unit: float) -> None:
    bone_type, expected = known
    larger = cloth.with_parts(rest=unit * cloth.rest.astype(np.float64))
    assert larger.diagonal == pytest.approx(cloth.diagonal, rel=0.1)
    assert error_of(larger, bone_type=bone_type) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("unit", [37.0, 39.37, 0.3048])
def test_any_unit_is_seen(cloth: MeshSequence, unit: float) -> None:
    larger = cloth.with_parts(rest=unit * cloth.rest.astype(np.float64))
    assert larger.play_scale * unit == pytest.approx(1, rel=0.01)
    assert larger.diagonal == pytest.approx(cloth.diagonal, rel=0.01)


def test_the_note_says_so_and_the_model_has_the_size_that_plays(cloth: MeshSequence) -> None:
    larger = cloth.with_parts(rest=100 * cloth.rest.astype(np.float64))
    fit = skin_sequence(larger, options=SkinOptions(bones=6, rounds=2, bone_type="rigid"))
    assert any("100 times larger" in note for note in fit.report.warnings)
    assert fit.model.rest == pytest.approx(cloth.rest, rel=1e-5, abs=1e-6)


def scaled_rig(sequence: MeshSequence, unit: float) -> SkinnedModel:
    """A rig of rigid joints whose rest mesh is `unit` times larger and whose bones scale it back."""
    model = skin_sequence(sequence, options=SkinOptions(bones=6, rounds=4, bone_type="rigid")).model
    transforms = np.array(model.track.transforms, np.float64)
    transforms[..., :3] /= unit
    return model.with_mesh(rest=unit * model.rest.astype(np.float64)).with_animation(
        track=BoneTrack(transforms.astype(np.float32), "flexible")
    )


@pytest.mark.parametrize("unit", [100.0, 0.01])
def test_a_rig_that_carries_a_scale_keeps_its_joints(cloth: MeshSequence, unit: float, tmp_path: Path) -> None:
    plain, rig = scaled_rig(cloth, 1.0), scaled_rig(cloth, unit)
    played = MeshSequence(pose_frames(plain), cloth.faces, cloth.rest)
    assert scale_of_bones(rig.track.transforms) == pytest.approx(1 / unit)
    assert rig.diagonal == pytest.approx(plain.diagonal, rel=0.02)
    errors = []
    for given in (plain, rig):
        fit = skin_sequence(played, options=SkinOptions(), rig=given)
        assert np.array_equal(fit.model.track.transforms, given.track.transforms)
        errors.append(fit.report.error_percent)
    assert errors == pytest.approx([0, 0], abs=0.1)
    save_model(fit.model, tmp_path / "rig.glb")
    again = load_model(tmp_path / "rig.glb")
    assert np.abs(pose_frames(again) - pose_frames(fit.model)).max() <= 1e-5 * plain.diagonal


def test_a_result_that_is_far_off_is_never_silent(cloth: MeshSequence) -> None:
    rng = np.random.default_rng(3)
    noise = cloth.with_parts(frames=rng.normal(size=cloth.frames.shape).astype(np.float32))
    report = skin_sequence(noise, options=SkinOptions(bones=2, rounds=1, influences=1)).report
    assert report.error_percent > 50
    assert report.warnings
    assert any(words in report.warnings[0] for words in ("E is", "no use", "centroid of every frame"))


def test_one_rule_for_rigid_bones() -> None:
    """Nearly orthogonal bones are rigid, and so are those that all carry one scale; bones that stretch are not."""
    rng = np.random.default_rng(0)
    turns = nearest_rotation(rng.normal(size=(4, 5, 3, 3)))
    shift = rng.normal(size=(4, 5, 3, 1))
    bones = np.concatenate([turns, shift], axis=3)
    slightly = np.concatenate([turns @ (np.eye(3) + 8e-5 * np.ones((3, 3))), shift], axis=3)
    stretched = np.concatenate([turns * [1.0, 1.0, 1.01], shift], axis=3)
    scaled = np.concatenate([0.01 * turns, shift], axis=3)
    assert [bone_type_of(t) for t in (bones, slightly, scaled, stretched)] == ["rigid", "rigid", "rigid", "scaled"]
    one_larger = scaled.copy()
    one_larger[2, 3, :, :3] *= 1.5
    assert bone_type_of(one_larger) == "scaled"
    one_sheared = scaled.copy()
    one_sheared[2, 3, :, :3] = 0.01 * turns[2, 3] @ np.array([[1.0, 0.3, 0], [0, 1, 0], [0, 0, 1]])
    one_sheared[1, 3, :, :3] = 0.01 * turns[1, 3] @ np.diag([1.0, 1.3, 0.8])
    assert bone_type_of(one_sheared) == "flexible"
