from __future__ import annotations

import json

import pytest

from osteon.core.options import SkinOptions
from osteon.measure.skin_report import peak_memory_mb
from osteon.pipeline import SkinFit, skin_sequence
from osteon.synth.baked import BakeOptions, bake_cylinder

#: DESIGN, section 7: others build on these keys.
KEYS = {
    *("input", "preset", "bones", "bone_type", "influences", "weights", "near_rigid_fraction", "tolerance"),
    *("error_percent", "error_percent_by_rank", "rms", "worst", "normal_deviation_degrees", "heldout_error_percent"),
    *("compression_ratio", "output_bytes", "seconds", "peak_memory_mb", "seed", "version"),
}


@pytest.fixture(scope="module", params=["default", "paper"])
def fit(request) -> SkinFit:
    sequence = bake_cylinder(1, options=BakeOptions(frames=6)).sequence
    return skin_sequence(sequence, options=SkinOptions(preset=request.param, bones=2, holdout=3, seed=4))


def test_keys(fit):
    told = json.loads(json.dumps(fit.report.to_json()))
    assert set(told) >= KEYS
    assert set(told["input"]) >= {"frames", "vertices", "triangles", "degenerate_triangles"}
    assert set(told["worst"]) == {"distance", "vertex", "frame"}
    assert set(told["normal_deviation_degrees"]) == {"mean", "max"}
    assert set(told["seconds"]) >= {"fit", "total"}


def test_values(fit):
    report, sequence_size = fit.report, (6, 698, 1392)
    assert tuple(report.input[k] for k in ("frames", "vertices", "triangles")) == sequence_size
    assert report.bones == fit.model.n_bones == 2
    assert report.error_percent == fit.distortion.error_percent
    assert report.error_percent_by_rank == {"0": report.error_percent}
    assert report.seconds["total"] >= report.seconds["fit"] > 0
    assert (report.seed, report.heldout_error_percent is not None) == (4, True)
    assert 0 < report.smallest_singular_value["min"] <= report.smallest_singular_value["percentile_1"] < 1.1


def test_memory_is_in_megabytes():
    assert 20 < peak_memory_mb() < 1e5
