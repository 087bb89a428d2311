"""No built-in subject fits worse than it did: every case of ceilings.toml carries its own ceilings."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import pytest

from osteon.core.options import SkinOptions
from osteon.core.sequence import MeshSequence
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
    case = CASES[name]
    fit = skin_sequence(subject(case["subject"]), options=SkinOptions(**case["options"]))
    assert fit.report.error_percent <= case["error_percent"]
    assert fit.distortion.normal_mean <= case["normal_degrees"]
