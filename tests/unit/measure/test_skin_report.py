from __future__ import annotations

import json

import pytest

from osteon.core.progress import peak_memory_mb
from osteon.core.skin_options import SkinOptions
from osteon.pipeline.skin import SkinFit, skin_sequence
from osteon.synth.baked import BakeOptions, RandomOptions, bake_cylinder, bake_random_model

#: DESIGN, section 7: others build on these keys.
KEYS = {
    *("input", "preset", "bones", "bone_type", "influences", "weights", "near_rigid_fraction", "tolerance"),
    *("error_percent", "error_percent_by_rank", "rms", "worst", "normal_deviation_degrees", "heldout_error_percent"),
    *("compression_ratio", "output_bytes", "seconds", "peak_memory_mb", "seed", "version"),
    *("rounds", "stopped_by", "converged", "warnings", "quality", "method", "ladder"),
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


def test_sections(fit):
    told = fit.report.to_json()
    assert told["method"]["kind"] == "linear_blend"
    assert told["method"]["options"]["bones"] == 2
    assert [stage["stage"] for stage in told["method"]["stages"]]
    assert told["quality"]["error_percent"] == told["error_percent"]
    assert told["ladder"] == ({"of": "rank", "value": 0, "error_percent": told["error_percent"]},)


def test_rounds_are_those_on_all_vertices():
    """A mesh that is larger than the sample is refined twice; the report speaks of the second time."""
    sequence = bake_random_model(1, options=RandomOptions(vertices=6000, bones=4, frames=4)).sequence
    fit = skin_sequence(sequence, options=SkinOptions(bones=4, rounds=9))
    sampled, full = (stage for stage in fit.report.method.stages if stage.stage.startswith("refine"))
    assert (sampled.full_problem, full.full_problem) == (False, True)
    assert (fit.report.rounds, fit.report.stopped_by) == (full.iterations, full.stopped_by)
    assert full.converged == (full.stopped_by == "tolerance")
    assert 1 <= full.iterations <= 80


def test_memory_is_in_megabytes():
    assert 20 < peak_memory_mb() < 1e5
