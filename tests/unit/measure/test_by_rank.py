"""One pass gives the error of every rank: the same as cutting and measuring."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.character import Corrections
from osteon.core.options import change_options
from osteon.core.skin_options import SkinOptions
from osteon.deform.pose import pose_frames
from osteon.measure.distortion import error_percent_by_rank, measure_distortion
from osteon.measure.skin_report import shown_ranks
from osteon.pipeline.skin import skin_sequence, truncate_fit
from osteon.synth.baked import RandomOptions, bake_random_model

from ...subjects import bent_tube, corrected


def measured(model, sequence) -> float:
    return measure_distortion(sequence.frames, sequence.faces, lambda a, b: pose_frames(model, a, b)).error_percent


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("bone_type", ["flexible", "rigid"])
def test_every_rank_is_what_the_cut_model_leaves(preset, bone_type):
    sequence = bake_random_model(3, options=RandomOptions(5, 12, 150, 3, "flexible")).sequence
    options = change_options(SkinOptions(), preset=preset, bones=3, rank=6, bone_type=bone_type, rounds=4)
    fit = skin_sequence(sequence, options=options)
    found = error_percent_by_rank(fit.model, sequence.frames)
    assert found.shape == (7,)
    for rank in range(7):
        assert found[rank] == pytest.approx(measured(fit.model.truncate(rank), sequence), rel=1e-5)
        told = fit.report.error_percent_by_rank[str(rank)]
        assert told == pytest.approx(found[rank], rel=1e-5)
        assert truncate_fit(fit, sequence, rank).report.error_percent == pytest.approx(found[rank], rel=1e-5)
    assert fit.report.error_percent_by_rank["6"] == fit.report.error_percent


def test_of_any_corrections_however_bad():
    baked = bent_tube(2)
    rng = np.random.default_rng(0)
    columns = Corrections(rng.normal(size=(4, baked.model.n_vertices, 3)), rng.normal(size=(8, 4)))
    model = baked.model.with_corrections(columns)
    found = error_percent_by_rank(model, baked.sequence.frames, threads=2)
    for rank in range(1, 5):
        assert found[rank] == pytest.approx(measured(model.truncate(rank), baked.sequence), rel=1e-5)
    assert np.array_equal(found, error_percent_by_rank(model, baked.sequence.frames, threads=1))


def test_without_corrections():
    baked = bent_tube(2)
    assert error_percent_by_rank(baked.model, baked.sequence.frames)[0] < 1e-4
    assert len(error_percent_by_rank(baked.model, baked.sequence.frames)) == 1


def test_the_truth_leaves_nothing():
    baked = corrected(bent_tube(2), 2)
    found = error_percent_by_rank(baked.model, baked.sequence.frames)
    assert found[0] > 1
    assert found[2] < 1e-4


def test_a_cut_fit_is_reported_as_what_it_is():
    sequence = bake_random_model(3, options=RandomOptions(5, 12, 150, 3, "flexible")).sequence
    fit = skin_sequence(sequence, options=SkinOptions(bones=3, rank=6, rounds=4))
    assert truncate_fit(fit, sequence, 6) is fit
    assert truncate_fit(fit, sequence, 9) is fit
    for rank in (3, 0):
        cut = truncate_fit(fit, sequence, rank)
        assert (cut.model.rank, cut.report.rank) == (rank, rank)
        assert set(cut.report.error_percent_by_rank) == {str(r) for r in range(rank + 1)}
        assert set(cut.report.shading_deviation_degrees) == {"mean", "p95", "rank_0", f"rank_{rank}"}
        assert cut.report.compression_ratio > fit.report.compression_ratio
        assert cut.report.worst["distance"] == cut.distortion.worst.distance
        assert cut.report.rms > fit.report.rms


def test_ranks_worth_a_line():
    assert shown_ranks(0) == [0]
    assert shown_ranks(5) == [0, 1, 2, 3, 4, 5]
    assert shown_ranks(20) == list(range(21))
    for rank in (21, 48, 400):
        shown = shown_ranks(rank)
        assert shown[:21] == list(range(21))
        assert shown[-1] == rank
        assert shown == sorted(set(shown))
        assert len(shown) < 60
