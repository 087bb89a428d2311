"""The time that is left of long work, by a clock that the test turns."""

from __future__ import annotations

import pytest

from osteon.core.progress import ProgressEvent, RemainingTime, duration_text


class Clock:
    """Says what the test wants."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_what_is_left_follows_from_what_is_done_and_counts_down() -> None:
    clock = Clock()
    remaining = RemainingTime(clock)
    for round_number in range(1, 6):  # of ten, two seconds each
        remaining.update(ProgressEvent("refine", round_number / 10, 2.0))
        clock.seconds += 2
    assert remaining.left() == pytest.approx(10 - 2)
    clock.seconds += 3
    assert remaining.left() == pytest.approx(5)
    clock.seconds += 60
    assert remaining.left() == 0  # late, but not less than nothing


def test_every_stage_is_timed_by_itself() -> None:
    clock = Clock()
    remaining = RemainingTime(clock)
    remaining.update(ProgressEvent("load", 0.0))
    clock.seconds += 50
    remaining.update(ProgressEvent("load", 0.9))
    remaining.update(ProgressEvent("refine", 0.0))
    assert remaining.left() is None
    clock.seconds += 4
    remaining.update(ProgressEvent("refine", 0.5))
    assert remaining.left() == pytest.approx(4)
    remaining.update(ProgressEvent("refine", 0.1))  # the next fit of a search
    assert remaining.left() is None


@pytest.mark.parametrize(("fraction", "seconds"), [(0.01, 30.0), (0.5, 0.2), (1.0, 30.0), (0.0, 30.0)])
def test_nothing_is_said_that_is_not_known(fraction: float, seconds: float) -> None:
    clock = Clock()
    remaining = RemainingTime(clock)
    remaining.update(ProgressEvent("refine", 0.0))
    clock.seconds += seconds
    remaining.update(ProgressEvent("refine", fraction))
    assert remaining.left() is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (8.4, "8 s"), (79.0, "1 min 20 s"), (120.0, "2 min"), (3600.0, "1 h"), (7500.0, "2 h 5 min")],
)
def test_durations_for_people(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
