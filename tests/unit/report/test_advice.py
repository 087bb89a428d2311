"""Every rule with a case that calls for it and one that does not."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from osteon.report import advice as rules
from osteon.report.advice import RULES, Advice, BoneShare, Evidence, advise

#: A good result in which nothing stands out.
GOOD = Evidence(
    error_percent=1.0,
    bones=30,
    bone_type="flexible",
    near_rigid_fraction=0.85,
    per_frame=np.full(40, 0.01),
    shares=(BoneShare(3, 0.05, 0.08, 17), *(BoneShare(b, 0.03, 0.03, b) for b in range(4, 33))),
)


def _spiked(height: float, count: int = 1) -> np.ndarray:
    errors = np.full(40, 0.01)
    errors[31 : 31 + count] = height
    return errors


SHARED = (BoneShare(3, 0.2, 0.5, 17), BoneShare(4, 0.8, 0.5, 2))

CASES = {
    "low_near_rigid": ({"near_rigid_fraction": 0.13}, {"near_rigid_fraction": 0.5}, ("13\u00a0%",)),
    "frame_jumps": ({"lone_frames": (17,)}, {}, ("Frame 17 of the source is far",)),
    "source_cuts": ({"cuts": (24,)}, {}, ("at frame 24",)),
    "error_spike": (
        {"per_frame": _spiked(0.08)},
        {"per_frame": _spiked(0.02)},
        ("in 31", "frame 31 has 8.0 times"),
    ),
    "bad_region": (
        {"shares": (BoneShare(12, 0.05, 0.34, 77), BoneShare(1, 0.95, 0.66, 2))},
        {"shares": (BoneShare(12, 0.25, 0.34, 77), BoneShare(1, 0.75, 0.66, 2))},
        ("Bone 12", "5.0\u00a0%", "34\u00a0%", "vertex 77"),
    ),
    "flat_blends": ({"smallest_singular": 0.004}, {"smallest_singular": 0.3}, ("0.004",)),
    "overfitted": (
        {"heldout_percent": 3.2},
        {"heldout_percent": 1.2},
        ("3.2\u00a0% instead of 1\u00a0%",),
    ),
    "degenerate_mesh": ({"degenerate": 0.07}, {"degenerate": 0.001}, ("7.0\u00a0%",)),
    "shared_pieces": (
        {"n_shells": 6, "shared": ((3, 4),), "shares": SHARED},
        {"n_shells": 6, "shared": ((4, 4),), "shares": SHARED},
        ("4 of 6 separate pieces share bone 3", "50\u00a0%"),
    ),
}


def test_every_rule_has_a_case() -> None:
    assert [rule.__name__ for rule in RULES] == [name for rule in RULES for name in CASES if name == rule.__name__]
    assert len(RULES) == len(CASES) >= 9


@pytest.mark.parametrize("name", CASES)
def test_rule_speaks_when_it_should(name: str) -> None:
    calls, _, words = CASES[name]
    found = getattr(rules, name)(replace(GOOD, **calls))
    assert isinstance(found, Advice)
    for part in words:
        assert part in found.sentence
    assert found.sentence.endswith(".")
    assert not re.search("--(bones|rank)", found.sentence)  # only trials propose these
    assert "\n" not in found.sentence
    assert 0 < found.weight <= 1


@pytest.mark.parametrize("name", CASES)
def test_rule_is_silent_otherwise(name: str) -> None:
    rule = getattr(rules, name)
    assert rule(GOOD) is None
    assert rule(replace(GOOD, **CASES[name][1])) is None


def test_nothing_to_say_about_a_good_result() -> None:
    assert advise(GOOD) == ()


def test_the_weightiest_comes_first() -> None:
    found = advise(replace(GOOD, cuts=(7,), near_rigid_fraction=0.1, degenerate=0.02))
    assert [a.topic for a in found] == ["near-rigid fraction", "a cut", "degenerate triangles"]
    assert [a.weight for a in found] == sorted((a.weight for a in found), reverse=True)


def test_an_exact_result_needs_nothing_but_a_sound_source() -> None:
    exact = replace(GOOD, error_percent=0.001, near_rigid_fraction=0.1, lone_frames=(3,), heldout_percent=0.5)
    assert {a.topic for a in advise(exact)} == {"a frame that jumps", "held-out frames"}


def test_no_error_at_all() -> None:
    nothing = replace(GOOD, error_percent=0.0, per_frame=np.zeros(40), shares=())
    assert advise(nothing) == ()


def test_fewer_bones_than_pieces() -> None:
    everywhere = replace(GOOD, bones=2, n_shells=5, shared=((3, 3), (4, 2)), shares=SHARED)
    found = rules.shared_pieces(everywhere)
    assert found is not None
    assert "with 5 bones" in found.sentence


def test_rigid_bones_that_collapse() -> None:
    found = rules.flat_blends(replace(GOOD, bone_type="rigid", smallest_singular=0.01))
    assert found is not None
    assert "collapse" in found.sentence


def test_a_long_stretch_of_error_is_no_spike() -> None:
    assert rules.error_spike(replace(GOOD, per_frame=_spiked(0.08, 5))) is not None
    errors = np.where(np.arange(40) < 19, 0.08, 0.01)
    assert rules.error_spike(replace(GOOD, per_frame=errors)) is None


def test_frames_are_listed_for_people() -> None:
    found = rules.frame_jumps(replace(GOOD, lone_frames=(3, 9, 10, 11, 20)))
    assert found is not None
    assert "Frames 3, 9–11 and 20 of the source are" in found.sentence
    many = rules.frame_jumps(replace(GOOD, lone_frames=tuple(range(0, 40, 4))))
    assert many is not None
    assert "0, 4, 8 and 7 more" in many.sentence
