"""Progress without a terminal: a line per stage, a line per minute, nothing of work that is quick."""

from __future__ import annotations

import time

from osteon.cli.common import ProgressLines, progress_lines
from osteon.core.progress import ProgressEvent

from .test_wall_time import Clock


def test_each_stage_is_said_once_and_how_far_it_is_when_asked() -> None:
    clock, said = Clock(), []
    lines = ProgressLines(said.append, 2.5, clock)
    clock.advance(1)
    lines.listen(ProgressEvent("load", 0.0))
    clock.advance(1)
    lines.listen(ProgressEvent("compiling 1 of 9, once", 0.0))
    assert said == [], "it is not long yet"
    clock.advance(1)
    lines.listen(ProgressEvent("compiling 2 of 9, once", 0.1))
    assert len(said) == 2
    for step in range(5):
        clock.advance(10)
        lines.listen(ProgressEvent("refine", step / 10, 2.5 - step / 10))
        lines.listen(ProgressEvent("measure", 1.0) if step == 2 else ProgressEvent("refine", step / 10, 2.5))
    lines.tick()
    assert said == [
        "     1.0 s  load",
        "     2.0 s  compiling 1 of 9, once",
        "    13.0 s  refine",
        "    33.0 s  measure",
        "    53.0 s  refine, 40% done, E 2.500 %, about 60 s left in this stage",
    ]


def test_work_that_ends_soon_after_its_last_step_says_nothing() -> None:
    said: list[str] = []
    with progress_lines(said.append, interval=60, patience=0.05) as listen:
        listen(ProgressEvent("load", 1.0))
        time.sleep(0.1)  # and then it is refused
    assert said == []


def test_a_silent_stage_is_told_of_every_minute() -> None:
    said: list[str] = []
    with progress_lines(said.append, interval=0.05, patience=30) as listen:
        listen(ProgressEvent("load", 0.5))
        until = time.monotonic() + 300
        while len(said) < 3 and time.monotonic() < until:
            time.sleep(0.01)
    assert said[0].endswith(" s  load")
    assert said[1].endswith(" s  load, 50% done")
