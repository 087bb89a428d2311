"""What the time of a command went to: the parts sum to the whole, in the report and in the table."""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from osteon.cli.common import WallTime, _TimeLeft, process_began, time_text
from osteon.core.compile_kernels import Waited
from osteon.core.progress import ProgressEvent, RemainingTime

from .conftest import Run


class Clock:
    """Says what the test wants."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


def test_stages_and_what_no_stage_took_sum_to_the_wall_time() -> None:
    clock = Clock()
    clock.advance(1.5)
    watch = WallTime(0.5, clock)  # the process began a second ago
    with watch.stage("load"):
        clock.advance(2)
        with watch.stage("import"):
            clock.advance(4)
    clock.advance(8)
    with watch.stage("load"):
        clock.advance(16)
    seconds = watch.seconds()
    assert seconds == {"import": 5.0, "load": 18.0, "other": 8.0, "wall": 31.0}


def test_compiling_is_a_stage_of_its_own_wherever_it_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    waited = Waited()
    monkeypatch.setattr("osteon.core.compile_kernels.WAITED", waited)
    watch = WallTime(0.0, clock)

    def compile_for(seconds: float) -> None:
        clock.advance(seconds)
        waited.seconds += seconds

    with watch.stage("fit"):
        compile_for(4)
        with watch.stage("load"):
            clock.advance(1)
            compile_for(2)
        clock.advance(8)
    compile_for(16)
    seconds = watch.seconds()
    assert seconds == {"import": 0.0, "compile": 22.0, "load": 1.0, "fit": 8.0, "other": 0.0, "wall": 31.0}
    assert time_text(seconds) == "31.00 s: compiling 22.00, loading 1.00, fit 8.00"


def test_only_the_main_thread_waits_and_what_is_cached_does_not_count() -> None:
    waited = Waited()
    with waited.counting(), waited.counting():
        pass
    assert 0 < waited.seconds < 1
    before = waited.seconds
    with waited.counting() as wait:
        wait.counts = False
    thread = threading.Thread(target=lambda: waited.counting().__enter__())
    thread.start()
    thread.join()
    assert waited.seconds == before


def test_a_stage_that_knows_its_parts_is_split() -> None:
    clock = Clock()
    watch = WallTime(0.0, clock)
    with watch.stage("fit"):
        clock.advance(10)
    watch.split("fit", {"measure": 2.0, "fit": 5.0}, "search")
    assert watch.seconds() == {"import": 0.0, "measure": 2.0, "fit": 5.0, "search": 3.0, "other": 0.0, "wall": 10.0}


def test_a_failed_stage_is_timed_too() -> None:
    clock = Clock()
    watch = WallTime(0.0, clock)
    with suppress(KeyError), watch.stage("load"):
        clock.advance(3)
        raise KeyError
    assert watch.seconds()["load"] == 3


def test_the_text_has_the_parts_in_order_and_leaves_out_what_took_no_time() -> None:
    seconds = {"seed": 0.25, "refine": 1.0, "fit": 1.5, "measure": 0.25, "total": 1.75}
    more = {"import": 0.5, "load": 0.001, "write": 0.249, "other": 0.0, "wall": 2.5}
    text = "2.50 s: importing 0.50, fit 1.50 (seed 0.25, refine 1.00), measuring 0.25, writing 0.25"
    assert time_text(seconds | more) == text


def test_without_a_wall_time_the_parts_are_all_that_is_known() -> None:
    assert time_text({"fit": 1.0, "measure": 0.5}).startswith("1.50 s: fit 1.00")


def test_the_process_began_before_now() -> None:
    import time

    assert process_began() <= time.perf_counter()


def parts_of(text: str) -> tuple[float, list[float]]:
    """The wall time that a table shows, and its parts without those in brackets."""
    wall, _, rest = " ".join(text.split()).partition(" s: ")
    return float(wall), [float(number) for number in re.findall(r"\d+\.\d\d", re.sub(r"\(.*?\)", "", rest))]


def test_the_table_of_skin_says_what_the_time_went_to(run: Run, tube_npz: Path) -> None:
    done = run("skin", tube_npz, "--bones", "3", "--rounds", "2", "-o", "out.glb", "--json", "report.json")
    assert done.returncode == 0, done.stderr
    shown = re.search(r"^time +(.*?)^\w", done.stdout, re.MULTILINE | re.DOTALL)
    assert shown is not None, done.stdout
    wall, parts = parts_of(shown[1])
    assert sum(parts) == pytest.approx(wall, abs=0.005 * (len(parts) + 4))
    seconds = json.loads((run.folder / "report.json").read_text())["seconds"]  # type: ignore[attr-defined]
    names = ("import", "load", "fit", "measure", "write", "other")
    assert all(name in seconds for name in names)
    assert sum(seconds[name] for name in names) == pytest.approx(seconds["wall"], abs=1e-6)
    assert seconds["import"] > 0.05  # Python, NumPy and numba


def test_a_search_is_a_part_of_its_own(run_here: Run, tube_npz: Path) -> None:
    done = run_here("skin", tube_npz, "--max-error", "5", "--rounds", "2", "-o", "out.glb", "--json", "report.json")
    assert done.returncode in (0, 1), done.stderr
    seconds = json.loads((run_here.folder / "report.json").read_text())["seconds"]  # type: ignore[attr-defined]
    parts = ("import", "load", "search", "fit", "measure", "write", "other")
    assert sum(seconds[name] for name in parts) == pytest.approx(seconds["wall"], abs=1e-6)


def test_the_tables_of_play_and_info_say_it_too(run_here: Run, tube_npz: Path) -> None:
    assert run_here("skin", tube_npz, "--bones", "3", "--rounds", "1", "-o", "out.glb", "-q").returncode == 0
    played = run_here("play", "out.glb", "-o", "played.npz", "--json", "report.json")
    assert re.search(r"^time +\d.*writing", played.stdout, re.MULTILINE), played.stdout
    facts = json.loads((run_here.folder / "report.json").read_text())  # type: ignore[attr-defined]
    assert facts["seconds"] == facts["seconds_by_stage"]["wall"]
    told = run_here("info", "out.glb", "--json", "info.json")
    assert re.search(r"^time +\d", told.stdout, re.MULTILINE), told.stdout
    assert "time" not in json.loads((run_here.folder / "info.json").read_text())  # type: ignore[attr-defined]


def test_the_bar_says_what_is_left_of_the_stage() -> None:
    clock = Clock()
    remaining = RemainingTime(clock)
    shown = _TimeLeft(remaining)
    assert f"{shown}" == ""
    remaining.update(ProgressEvent("refine", 0.0))
    clock.advance(20)
    remaining.update(ProgressEvent("refine", 0.2, 1.5))
    assert f"{shown}" == "about 1 min 20 s left in this stage"
    clock.advance(75)
    assert f"{shown}" == "about 5 s left in this stage"
