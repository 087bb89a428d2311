"""No measured sequence fits worse, or is worse conditioned or larger, than it was: measured.toml has the bounds.

Runs where the data folder beside the repository exists.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.io import load_sequence, save_model
from osteon.pipeline.skin import skin_sequence
from osteon_bench.engines import FITS
from osteon_bench.paper import RANK, TABLE

from ..skip_rules import NO_DATA

SEQUENCES = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "sequences"
CASES = tomllib.loads((Path(__file__).parent / "measured.toml").read_text(encoding="utf-8"))
needs_data = pytest.mark.skipif(not SEQUENCES.is_dir(), reason=NO_DATA)


@cache
def measured(name: str) -> MeshSequence:
    return load_sequence(SEQUENCES / f"{name}.npz")


def test_no_ceiling_is_above_the_bound_of_the_bench() -> None:
    assert CASES.keys() == TABLE.keys()
    for name, case in CASES.items():
        row = TABLE[name]
        assert case["bones"] == row.bones
        assert case["rigid"]["error_percent"] <= row.ceilings["rigid"]
        assert case["flexible"]["error_percent"] <= row.ceilings["flexible"]
        assert case["scaled"]["error_percent"] <= FITS[name].error_percent
        assert case["rank_10"]["error_percent"] <= row.corrected_ceiling
        assert case["rank_10"]["cut_percent"] <= 1.1 * row.ceilings["flexible"]
        assert case["flexible"]["conditioning"] > 0.1


@needs_data
@pytest.mark.parametrize("bone_type", ["rigid", "scaled", "flexible"])
@pytest.mark.parametrize("name", CASES)
def test_bones_stay_within_their_bounds(name: str, bone_type: str, tmp_path: Path) -> None:
    """Of the fit of positions alone, which is what the bounds were measured of."""
    case = CASES[name][bone_type]
    options = SkinOptions(bones=CASES[name]["bones"], bone_type=bone_type, shading=0.0)
    fit = skin_sequence(measured(name), options=options)
    assert fit.report.error_percent <= case["error_percent"]
    assert fit.report.smallest_singular_value["percentile_1"] >= case.get("conditioning", 0.0)
    save_model(fit.model, tmp_path / "model.glb")
    assert (tmp_path / "model.glb").stat().st_size <= 1000 * case["kilobytes"]


@needs_data
@pytest.mark.parametrize("name", CASES)
def test_shading_costs_no_more_than_is_allowed(name: str) -> None:
    """E of the default grows by 4 % at most, and shading falls to less than two thirds."""
    options = SkinOptions(bones=CASES[name]["bones"])
    shaded, plain = (skin_sequence(measured(name), options=o).report for o in (options, replace(options, shading=0.0)))
    assert shaded.error_percent <= 1.04 * plain.error_percent
    assert shaded.shading_deviation_degrees["mean"] <= 0.65 * plain.shading_deviation_degrees["mean"]


@needs_data
@pytest.mark.parametrize("name", CASES)
def test_corrections_stay_within_their_bounds(name: str) -> None:
    case = CASES[name]["rank_10"]
    options = SkinOptions(bones=CASES[name]["bones"], bone_type="flexible", rank=RANK)
    report = skin_sequence(measured(name), options=options).report
    assert report.error_percent <= case["error_percent"]
    assert report.error_percent_by_rank["0"] <= case["cut_percent"]
