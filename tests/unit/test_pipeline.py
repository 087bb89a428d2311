"""The whole way from a sequence to a model: counts, limits, what is kept, and that threads do not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.mesh import Asset
from osteon.core.model import SkinnedModel
from osteon.core.options import change_options
from osteon.core.progress import ProgressEvent
from osteon.core.sequence import MeshSequence, join_clips
from osteon.core.skin_options import SkinOptions
from osteon.deform.pose import pose_frames
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import BakeOptions, RandomOptions, bake_cylinder, bake_random_model, bake_shells
from osteon.synth.cloth import ClothOptions, make_cloth

from ..subjects import bent_tube

PRESETS = ["default", "paper"]


def cloth(n_frames: int = 12) -> MeshSequence:
    return make_cloth(ClothOptions(frames=n_frames, columns=14, rows=9))


def skin(sequence: MeshSequence, **options: object) -> SkinnedModel:
    return skin_sequence(sequence, options=change_options(SkinOptions(), **options)).model


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
@pytest.mark.parametrize(("n_bones", "influences"), [(1, 4), (5, 1), (7, 4), (12, 8)])
def test_what_was_asked_for(preset, bone_type, n_bones, influences):
    options = change_options(
        SkinOptions(), preset=preset, bones=n_bones, bone_type=bone_type, influences=influences, rounds=3
    )
    fit = skin_sequence(cloth(), options=options)
    model = fit.model
    assert (model.n_bones, model.track.bone_type, fit.report.bones) == (n_bones, bone_type, n_bones)
    assert model.skin.n_influences == min(influences, n_bones)
    assert model.skin.weights.min() >= 0
    np.testing.assert_allclose(model.skin.weights.sum(axis=1), 1, atol=1e-6)
    if bone_type == "rigid":
        linear = model.track.transforms[..., :3].astype(np.float64)
        off = linear @ np.swapaxes(linear, 2, 3) - np.eye(3)
        assert np.abs(off).max() < 1e-5
        assert np.linalg.det(linear).min() > 0


@pytest.mark.parametrize("preset", PRESETS)
def test_the_report_is_about_the_model(preset):
    sequence = cloth()
    fit = skin_sequence(sequence, options=change_options(SkinOptions(), preset=preset, bones=6, rounds=5))
    frames, posed = sequence.frames.astype(np.float64), pose_frames(fit.model).astype(np.float64)
    error = 100 * np.linalg.norm(frames - posed) / np.linalg.norm(frames - frames.mean(axis=0))
    assert fit.report.error_percent == pytest.approx(error, rel=1e-6)
    assert fit.report.worst["distance"] == pytest.approx(np.linalg.norm(frames - posed, axis=2).max(), rel=1e-6)
    assert len(fit.labels) == (sequence.n_triangles if preset == "paper" else 0)


def test_refinement_agrees_with_the_measured_error():
    fit = skin_sequence(cloth(), options=SkinOptions(bones=6, rounds=12, shading=0.0))
    assert fit.stages[-1].history[-1] == pytest.approx(fit.report.error_percent, rel=1e-3)


@pytest.mark.parametrize("preset", PRESETS)
def test_number_of_bones_is_found(preset):
    fit = skin_sequence(
        bake_shells(options=BakeOptions(frames=12)).sequence,
        options=change_options(SkinOptions(), preset=preset, rounds=2),
    )
    assert fit.model.n_bones == 8
    assert fit.report.near_rigid_fraction > 0.9


def test_the_default_is_better_than_the_paper():
    errors = [
        skin_sequence(cloth(), options=SkinOptions(preset=p, bones=8)).report.error_percent
        for p in ("default", "paper")
    ]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.parametrize("method", ["tsvd", "nnls", "bounded"])
def test_weights_of_the_paper(method):
    model = skin(cloth(), preset="paper", bones=6, weights=method, delta=0.05)
    np.testing.assert_allclose(model.skin.weights.sum(axis=1), 1, atol=1e-6)
    assert (model.skin.weights.min() >= 0) == (method == "nnls")
    if method == "bounded":
        assert model.skin.weights.min() > -0.1


@pytest.mark.parametrize("preset", PRESETS)
def test_what_the_sequence_carried_comes_out_again(preset):
    parts = [replace(cloth(6), name=name, clips=()) for name in ("walk", "run")]
    sequence = join_clips(parts)
    model = skin(sequence, preset=preset, bones=4, rounds=2)
    assert [(c.name, c.n_frames) for c in model.clips] == [("walk", 6), ("run", 6)]
    assert np.array_equal(model.asset.uvs, sequence.asset.uvs)
    assert np.array_equal(model.asset.colors, sequence.asset.colors)
    assert model.asset.materials == sequence.asset.materials
    assert np.array_equal(model.rest, sequence.rest)
    assert np.array_equal(model.faces, sequence.faces)
    assert model.name == sequence.name


@pytest.mark.parametrize("preset", PRESETS)
def test_vertices_that_coincide_stay_together(preset):
    """A mesh cut along a seam and stored with doubled vertices: no crack opens in any frame."""
    source = cloth()
    flat = source.faces.ravel()
    sequence = MeshSequence(source.frames[:, flat], np.arange(len(flat)).reshape(-1, 3), source.rest[flat])
    model = skin(sequence, preset=preset, bones=5, rounds=3)
    posed = pose_frames(model)
    first = np.array([np.flatnonzero(flat == v)[0] for v in flat])
    assert np.array_equal(posed, posed[:, first])


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("holdout", [2, 3, 5])
def test_frames_held_out(preset, holdout):
    """Weights do not see them; their bones are fitted afterwards, and their error is told apart."""
    sequence = cloth(10)
    out = np.arange(10)[np.arange(1, 11) % holdout == 0]
    fit = skin_sequence(
        sequence, options=change_options(SkinOptions(), preset=preset, bones=6, holdout=holdout, rounds=6)
    )
    assert fit.model.n_frames == 10
    frames, posed = sequence.frames[out].astype(np.float64), pose_frames(fit.model)[out]
    if len(out) > 1:
        error = 100 * np.linalg.norm(frames - posed) / np.linalg.norm(frames - frames.mean(axis=0))
        assert fit.report.heldout_error_percent == pytest.approx(error, rel=1e-6)
        assert fit.report.heldout_error_percent < 1.5 * fit.report.error_percent  # not just the frame next to it
    spoiled = sequence.frames.copy()
    spoiled[out] += np.random.default_rng(0).normal(size=spoiled[out].shape).astype(np.float32)
    other = skin(replace(sequence, frames=spoiled), preset=preset, bones=6, holdout=holdout, rounds=6)
    assert np.array_equal(other.skin.weights, fit.model.skin.weights)
    assert np.array_equal(other.skin.bones, fit.model.skin.bones)


def test_smooth_weights_are_smoother():
    sequence = cloth()
    edges = np.concatenate([sequence.faces[:, [0, 1]], sequence.faces[:, [1, 2]], sequence.faces[:, [2, 0]]])
    rough = []
    for smooth in (0.0, 1e-3, 1e-2):
        weights = skin(sequence, bones=8, rounds=10, smooth_weights=smooth, shading=0.0).skin.dense(8)
        rough.append(np.abs(weights[edges[:, 0]] - weights[edges[:, 1]]).sum())
    assert rough[0] > 1.1 * rough[1] > 1.1 * rough[2]


@pytest.mark.parametrize("smooth", [0.0, 1e-2])
def test_vertices_of_no_triangle_are_skinned_all_the_same(smooth):
    source = cloth()
    extra = source.frames[:, :3] + np.float32(0.01)
    sequence = MeshSequence(
        np.concatenate([source.frames, extra], axis=1), source.faces, np.concatenate([source.rest, source.rest[:3]])
    )
    fit = skin_sequence(sequence, options=SkinOptions(bones=5, rounds=4, smooth_weights=smooth))
    assert any("3 vertices" in w for w in fit.report.warnings)
    assert fit.distortion.per_vertex[-3:].max() < 0.1 * sequence.diagonal


def test_some_triangles_without_area():
    source = cloth()
    faces = np.concatenate([source.faces, [[0, 0, 1], [5, 5, 5]]])
    for preset in PRESETS:
        fit = skin_sequence(
            MeshSequence(source.frames, faces, source.rest),
            options=change_options(SkinOptions(), preset=preset, bones=5, rounds=2),
        )
        assert fit.report.input["degenerate_triangles"] == 2
        assert any("2 triangles" in w for w in fit.report.warnings)
        assert np.isfinite(fit.report.error_percent)


def test_triangles_that_collapse_in_every_frame():
    """No rotation is known, so no structure is found; a number of bones is taken all the same."""
    line = cloth()
    flat = line.frames * np.float32([1, 0, 0])
    fit = skin_sequence(MeshSequence(flat, line.faces, line.rest), options=SkinOptions(rounds=2))
    assert fit.model.n_bones >= 16
    assert fit.report.near_rigid_fraction == 0
    assert fit.report.warnings


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e12])
@pytest.mark.parametrize("preset", PRESETS)
def test_any_unit_of_length(preset, scale):
    source = cloth()
    sequence = MeshSequence(scale * source.frames, source.faces, scale * source.rest)
    options = change_options(SkinOptions(), preset=preset, bones=5, rounds=4)
    one, other = (skin_sequence(s, options=options).report for s in (source, sequence))
    assert other.error_percent == pytest.approx(one.error_percent, rel=1e-2)
    assert other.rms == pytest.approx(scale * one.rms, rel=1e-2)


def test_a_character_far_from_the_origin():
    """Coordinates are multiples of 1/1024, so the move by thousands itself rounds nothing."""
    source = bake_random_model(3, options=RandomOptions(4, 8, 200)).sequence
    near = replace(source, frames=np.round(source.frames * 1024) / 1024, rest=np.round(source.rest * 1024) / 1024)
    away = replace(near, frames=near.frames + np.float32([4096, -2048, 0]), rest=near.rest + np.float32([0, 0, 1024]))
    one, other = (skin_sequence(s, options=SkinOptions(bones=3, rounds=8)) for s in (near, away))
    assert other.stages[-1].history[-1] == pytest.approx(one.stages[-1].history[-1], rel=1e-3)
    assert other.report.error_percent == pytest.approx(one.report.error_percent, rel=1e-2)


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
@pytest.mark.parametrize("preset", PRESETS)
def test_same_answer_on_one_thread_and_on_two(preset, bone_type):
    sequence = bake_cylinder(3, options=BakeOptions(frames=12)).sequence  # several blocks of vertices and of frames
    options = change_options(SkinOptions(), preset=preset, bones=7, bone_type=bone_type, rounds=8, seed=5)
    fits = [skin_sequence(sequence, options=replace(options, threads=n)) for n in (1, 2, 2)]
    for other in fits[1:]:
        assert np.array_equal(other.model.track.transforms, fits[0].model.track.transforms)
        assert np.array_equal(other.model.skin.weights, fits[0].model.skin.weights)
        assert np.array_equal(other.model.skin.bones, fits[0].model.skin.bones)
        assert np.array_equal(other.labels, fits[0].labels)
        assert other.report.error_percent == fits[0].report.error_percent


def test_same_answer_on_a_sample_of_a_large_mesh():
    sequence = bake_random_model(1, options=RandomOptions(6, 6, 7000)).sequence
    fits = [skin_sequence(sequence, options=SkinOptions(bones=6, rounds=4, threads=n)) for n in (1, 2)]
    assert np.array_equal(fits[0].model.track.transforms, fits[1].model.track.transforms)
    assert np.array_equal(fits[0].model.skin.weights, fits[1].model.skin.weights)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_input_is_left_as_it_was(preset):
    sequence = bake_cylinder(1, options=BakeOptions(frames=5)).sequence
    before = sequence.frames.copy(), sequence.rest.copy()
    skin(sequence, preset=preset, bones=2, rounds=2)
    assert np.array_equal(sequence.frames, before[0])
    assert np.array_equal(sequence.rest, before[1])


@pytest.mark.parametrize("preset", PRESETS)
def test_progress_goes_forward_and_ends(preset):
    heard: list[ProgressEvent] = []
    fit = skin_sequence(
        bent_tube().sequence,
        options=change_options(SkinOptions(), preset=preset, bones=2, rounds=4),
        progress=heard.append,
    )
    for stage in {e.stage for e in heard}:
        fractions = [e.fraction for e in heard if e.stage == stage]
        assert all(0 <= f <= 1 for f in fractions)
        if stage != "rotations":
            assert fractions == sorted(fractions)
    assert heard[-1] == ProgressEvent("measure", 1.0, fit.report.error_percent)


def test_two_frames_are_enough():
    sequence = bent_tube().sequence.take_frames(np.array([0, 3]))
    for preset in PRESETS:
        assert skin_sequence(sequence, options=SkinOptions(preset=preset, bones=2)).report.error_percent < 20


def test_one_triangle_is_enough():
    rest = np.eye(3)
    frames = np.stack([rest, rest[[1, 2, 0]] + 1])
    sequence = MeshSequence(frames, [[0, 1, 2]], rest, (Clip("hop", 0, 2, 12.0),), Asset(), "tiny")
    for preset in PRESETS:
        fit = skin_sequence(sequence, options=SkinOptions(preset=preset, bones=1))
        assert fit.report.error_percent < 0.1
