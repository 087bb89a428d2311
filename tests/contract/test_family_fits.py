"""What every family that `--model` offers promises of its fit."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinModel, SkinOptions
from osteon.deform.pose import pose_frames
from osteon.fit.models.registry import FAMILY_FITS
from osteon.pipeline.skin import SkinFit, skin_sequence
from osteon.synth.baked import BakeOptions, bake_cylinder

BEGIN = "lbs"  # what every fit begins with has no fit of its own


def options_for(model: SkinModel, **more: object) -> SkinOptions:
    return SkinOptions(model=model, bone_type="rigid", bones=3, rounds=6, **more)


@pytest.fixture(scope="module")
def sequence() -> MeshSequence:
    return bake_cylinder(2, options=BakeOptions(frames=10, bend=60)).sequence


@pytest.fixture(scope="module", params=get_args(SkinModel))
def fit(request: pytest.FixtureRequest, sequence: MeshSequence) -> SkinFit:
    return skin_sequence(sequence, options=options_for(request.param, threads=1))


def test_every_model_has_a_fit() -> None:
    assert set(FAMILY_FITS) | {BEGIN} == set(get_args(SkinModel))


def test_reports_what_was_measured(fit: SkinFit, sequence: MeshSequence) -> None:
    report = fit.report
    moved = sequence.frames - sequence.frames.mean(axis=0, dtype=np.float64)
    error = 100 * np.linalg.norm(pose_frames(fit.model) - sequence.frames) / np.linalg.norm(moved)
    assert report.error_percent == pytest.approx(error, rel=1e-4)
    assert report.method.kind == fit.model.deformer.kind
    assert (report.quality.fallback_error_percent is None) == (fit.model.deformer.stock_skin() is not None)
    assert report.error_percent < 25


def test_same_seed_same_result_on_any_threads(fit: SkinFit, sequence: MeshSequence) -> None:
    model = next(name for name in get_args(SkinModel) if fit.report.method.options["model"] == name)
    again = skin_sequence(sequence, options=options_for(model, threads=2))
    assert np.array_equal(pose_frames(again.model), pose_frames(fit.model))


@pytest.mark.parametrize("name", sorted(FAMILY_FITS))
def test_frames_left_out_are_followed(name: SkinModel, sequence: MeshSequence) -> None:
    fit = skin_sequence(sequence, options=options_for(name, holdout=3))
    assert fit.report.heldout_error_percent is not None
    assert fit.report.heldout_error_percent < 30


@pytest.mark.parametrize("name", sorted(FAMILY_FITS))
def test_refitting_helps(name: SkinModel, sequence: MeshSequence) -> None:
    """The family's own weights and bones are better than those of linear blending used as they are."""
    linear = skin_sequence(sequence, options=options_for("lbs")).model
    fitted = skin_sequence(sequence, options=options_for(name)).model
    borrowed = linear.with_character(deformer=type(fitted.deformer).from_skin(linear.skin))
    off = [np.linalg.norm(pose_frames(model) - sequence.frames) for model in (fitted, borrowed)]
    assert off[0] < off[1]
