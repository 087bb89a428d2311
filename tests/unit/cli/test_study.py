"""`osteon study` as a person runs it: served, killed, continued, reported, and bad input."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.io import save_model, save_sequence
from osteon.synth.baked import bake_cylinder
from osteon.view.bundle import STATIC

RATER = "ab" * 16

needs_page = pytest.mark.skipif(not (STATIC / "study.js").is_file(), reason="the page was not built")


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tube, its model, and what cannot be compared with it."""
    folder = tmp_path_factory.mktemp("subjects")
    baked = bake_cylinder(2)
    tube = baked.sequence
    save_sequence(tube, folder / "tube.npz")
    save_model(baked.model, folder / "model.npz")
    save_sequence(tube.with_parts(frames=tube.frames * np.float32(1.02)), folder / "larger.npz")
    save_sequence(tube.take_frames(np.arange(4)), folder / "short.npz")
    save_sequence(tube.with_parts(faces=tube.faces[:, ::-1]), folder / "inside-out.npz")
    save_sequence(bake_cylinder(3).sequence, folder / "other.npz")
    return folder


class RunningStudy:
    """`osteon study run` in a process of its own."""

    def __init__(self, folder: Path, *arguments: str | Path) -> None:
        self.facts = folder / "facts.json"
        self.facts.unlink(missing_ok=True)
        command = [sys.executable, "-m", "osteon", "study", "run", *map(str, arguments), "--no-browser"]
        self.process = subprocess.Popen(
            [*command, "--json", "-"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests may run in the background
        )
        assert self.process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read() if self.process.stderr else ""
            text += line
        self.told: dict[str, Any] = json.loads(text)

    def ask(self, path: str, body: object = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(self.told["address"] + path, data, timeout=300) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def answer(self, number: object, score: object, rater: str = RATER) -> int:
        return self.ask("answer", {"rater": rater, "number": number, "score": score})[0]


@contextmanager
def running(folder: Path, *arguments: str | Path) -> Iterator[RunningStudy]:
    study = RunningStudy(folder, *arguments)
    try:
        yield study
    finally:
        study.process.kill()
        study.process.communicate()


@needs_page
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(tmp_path, subjects, run_here):
    arguments = (subjects / "tube.npz", subjects / "model.npz", subjects / "larger.npz", "-o", tmp_path / "a.sqlite")
    with running(tmp_path, *arguments) as study:
        assert study.told["questions"] == 4
        for number, score in ((1, 9), (2, 0), (3, 10)):
            assert study.answer(number, score) == 200
        os.kill(study.process.pid, signal.SIGKILL)  # at once: no end of any kind
        study.process.wait()
        address = study.told["address"]
    with running(tmp_path, *arguments) as study:  # the same study goes on
        assert (study.told["answers"], study.told["raters"]) == (3, 1)
        assert study.told["address"].rsplit("/", 2)[1] == address.rsplit("/", 2)[1]  # links stay good
        assert study.answer(3, 1) == 409
        assert study.answer(4, 5) == 200
        assert study.ask(f"state?rater={RATER}") == (200, {"questions": 4, "answered": 4, "next": None})
        study.process.send_signal(signal.SIGINT)
        _, said = study.process.communicate(timeout=300)
        assert study.process.returncode == 130
        assert "stopped; 4 answers of 1 rater in" in said
    done = run_here("study", "report", tmp_path / "a.sqlite", "-o", "r.html", "--csv", "r.csv", "--json", "-")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["answers"], facts["raters"], facts["finished"]) == (4, 1, 1)
    rows = (run_here.folder / "r.csv").read_text().splitlines()
    assert [int(row.split(",")[5]) for row in rows[1:]] == [9, 0, 10, 5]
    again = run_here("study", "report", tmp_path / "a.sqlite", "-o", "r.html", "--csv", "r.csv", "--quiet", "--force")
    assert (again.returncode, again.stdout) == (0, "")


@needs_page
def test_what_is_no_answer_is_refused(tmp_path, subjects):
    with running(tmp_path, subjects / "tube.npz", subjects / "model.npz", "-o", "a.sqlite") as study:
        for score in (-1, 11, 5.0, 5.5, "5", True, None, [5]):
            assert study.answer(1, score) == 422, score
        for number in (0, 2, 3, "1", None):
            assert study.answer(number, 5) == 422, number
        for rater in ("", "me", "AB" * 16, 7):
            assert study.answer(1, 5, rater) == 422, rater
        assert study.ask("pack/../a.sqlite")[0] == 404
        assert study.answer(1, 5) == 200
        assert study.answer(1, 5) == 409
        assert study.answer(1, 7, "cd" * 16) == 200  # another rater
    with sqlite3.connect(tmp_path / "a.sqlite") as base:
        assert base.execute("SELECT score FROM answer ORDER BY score").fetchall() == [(5,), (7,)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("tube.npz",), "at least one candidate"),
        (("tube.npz", "missing.npz"), "no such file"),
        (("tube.npz", "short.npz"), "has 4 frames, but the reference"),
        (("tube.npz", "other.npz"), "vertices, but the reference"),
        (("tube.npz", "inside-out.npz"), "has other triangles than the reference"),
        (("tube.npz", "model.npz", "--names", "a,b"), "--names: expected 1"),
        (("tube.npz", "model.npz", "--port", "70000"), "port"),
        (("tube.npz", "model.npz", "--host", "0.0.0.0"), "--host: name the one address"),
        (("tube.npz", "model.npz", "--host", "no such host"), "--host: 'no such host'"),
        (("tube.npz", "model.npz", "--host", "192.0.2.1"), "--host: 192.0.2.1 is no address of this machine"),
        (("missing.json",), "cannot be read"),
    ],
)
@needs_page
def test_bad_studies_are_one_line_and_exit_code_2(run_here, subjects, arguments, says):
    files = [subjects / a if a.endswith((".npz", ".json")) else a for a in arguments]
    done = run_here("study", "run", *files, "-o", "a.sqlite", "--no-browser")
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 or "Usage" in done.stderr
    assert not list(run_here.folder.iterdir())


@needs_page
def test_files_of_others_are_never_written_to(run_here, subjects, tmp_path):
    named = (subjects / "tube.npz", subjects / "model.npz", "-o")
    (run_here.folder / "notes.sqlite").write_text("mine")
    done = run_here("study", "run", *named, "notes.sqlite", "--no-browser")
    assert (done.returncode, "is no file of answers" in done.stderr) == (2, True)
    assert (run_here.folder / "notes.sqlite").read_text() == "mine"
    done = run_here("study", "run", *named, subjects / "model.npz", "--no-browser", "--force")
    assert done.returncode == 2
    with running(run_here.folder, *named, "a.sqlite"):
        pass
    before = (run_here.folder / "a.sqlite").read_bytes()
    other = run_here("study", "run", subjects / "tube.npz", subjects / "larger.npz", "-o", "a.sqlite", "--no-browser")
    assert (other.returncode, "another study" in other.stderr) == (2, True)
    for flags in (("--json", "a.sqlite"), ("--json", "a.sqlite", "--force")):
        assert run_here("study", "run", *named, "a.sqlite", "--no-browser", *flags).returncode == 2
        assert run_here("study", "report", "a.sqlite", "-o", "r.html", *flags).returncode == 2
    assert (run_here.folder / "a.sqlite").read_bytes() == before


def test_bad_reports(run_here, subjects):
    for file, says in (("missing.sqlite", "No such file"), (subjects / "tube.npz", "is no file of answers")):
        done = run_here("study", "report", file, "-o", "r.html")
        assert done.returncode == 2
        assert says in done.stderr
    assert "ends in .html" in run_here("study", "report", "a.sqlite", "-o", "r.pdf").stderr
    assert not list(run_here.folder.iterdir())


def test_help_says_what_is_needed(run_here):
    said = run_here("study", "run", "--help").stdout
    assert "same vertices and" in said
    assert '"characters"' in said
    assert "report" in run_here("study", "--help").stdout
