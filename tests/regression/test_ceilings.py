"""No built-in subject fits worse than it did: every case of ceilings.toml carries its own ceilings."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.pipeline.skin import skin_sequence
from osteon.synth import SUBJECTS

CASES = tomllib.loads((Path(__file__).parent / "ceilings.toml").read_text(encoding="utf-8"))


@cache
def subject(name: str) -> MeshSequence:
    return SUBJECTS[name]()


def test_every_subject_has_a_ceiling() -> None:
    assert {case["subject"] for case in CASES.values()} == set(SUBJECTS)
    assert all(case["error_percent"] > 0 for case in CASES.values())


@pytest.mark.parametrize("name", CASES)
def test_errors_stay_below_their_ceilings(name: str) -> None:
    """Of the fit of positions alone, which is what the ceilings were measured of."""
    case = CASES[name]
    plain = {} if case["options"].get("preset") == "paper" else {"shading": 0.0}
    fit = skin_sequence(subject(case["subject"]), options=SkinOptions(**case["options"], **plain))
    assert fit.report.error_percent <= case["error_percent"]
    assert fit.distortion.normal_mean <= case["normal_degrees"]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["options"].get("preset") != "paper"])
def test_shading_costs_no_more_than_is_allowed(name: str) -> None:
    case = CASES[name]
    options = SkinOptions(**case["options"])
    shaded, plain = (
        skin_sequence(subject(case["subject"]), options=o) for o in (options, replace(options, shading=0.0))
    )
    assert shaded.report.error_percent <= 1.04 * case["error_percent"]
    degrees = [fit.report.shading_deviation_degrees["mean"] for fit in (shaded, plain)]
    assert degrees[0] <= degrees[1] + 1e-6
