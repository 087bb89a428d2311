"""`osteon skin` with corrections, rigs and bounds, as a person would call it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from osteon.cli.main import main
from osteon.core.animation import BoneTrack
from osteon.io import load_model, load_sequence, save_model, save_sequence
from osteon.synth.cloth import ClothOptions, make_cloth

from ...subjects import bent_tube
from ...tolerance import assert_same_points

OPTIONS = (
    *("--rank", "--max-error", "--max-distance", "--max-bytes", "--rig", "--helpers", "--report"),
    *("--quantize", "--key-error", "--no-normals"),
)

QUICK = ("--rounds", 4, "--threads", 1)


@pytest.fixture(scope="module")
def cloth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("subjects") / "cloth.npz"
    save_sequence(make_cloth(ClothOptions(frames=12, columns=10, rows=8)), path)
    return path


@pytest.fixture(scope="module")
def limb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("subjects") / "limb.npz"
    save_sequence(bent_tube(2, 8).sequence, path)
    return path


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("subjects") / "rig.npz"
    model = bent_tube(2, 8).model
    save_model(model.with_animation(track=BoneTrack(model.track.transforms, "rigid", ("hip", "knee"))), path)
    return path


@dataclass(frozen=True)
class Done:
    """What a call left."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Like the one beside this file, in this process: to start one for every case would take a minute."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def call(*arguments: object) -> Done:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["osteon", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return Done(code, out, err)

    call.folder = work  # type: ignore[attr-defined]
    return call


def told(done: Done) -> dict:
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    return json.loads(done.stdout)


def refused(run, *arguments, says: str, lines: int | None = 1) -> None:
    """Exit code 2, nothing written; one line, unless it is click that complains about how the program was called."""
    done = run("skin", *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert says in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    if lines is not None:
        assert len(done.stderr.strip().splitlines()) == lines, done.stderr
    assert list(run.folder.iterdir()) == []


def test_help_names_the_options(run):
    done = run("skin", "--help")
    assert done.returncode == 0
    for option in OPTIONS:
        assert option in done.stdout


def test_several_outputs_at_once(run, cloth):
    """Each holds the same corrected model; what is reported is the first one's size."""
    names = ("out.glb", "out.npz", "out.usda")
    outputs = [part for name in names for part in ("-o", name)]
    done = run("skin", cloth, "--bones", 4, "--rank", 3, *outputs, "--json", "-")
    assert done.returncode == 0, done.stderr
    report = told(done)
    assert (report["bones"], report["rank"]) == (4, 3)
    assert list(report["error_percent_by_rank"]) == ["0", "1", "2", "3"]
    errors = list(report["error_percent_by_rank"].values())
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == report["error_percent"]
    assert report["output_bytes"] == (run.folder / "out.glb").stat().st_size
    assert set(report["shading_deviation_degrees"]) == {"mean", "p95", "rank_0", "rank_3"}
    assert "tries" not in report
    for name in names:
        model = load_model(run.folder / name)
        assert (model.rank, model.n_frames) == (3, 12)


def test_the_table_speaks_of_the_rank(run, cloth):
    done = run("skin", cloth, "--bones", 3, "--rank", 2, "-o", "out.npz")
    assert done.returncode == 0, done.stderr
    assert "truncated to rank 0" in done.stdout


def test_a_page_beside_the_model(run, cloth):
    done = run("skin", cloth, "--bones", 3, "--rank", 2, *QUICK, "-o", "out.glb", "--report", "out.html", "-q")
    assert done.returncode == 0, done.stderr
    assert (run.folder / "out.html").read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")


def test_frames_of_a_corrected_model(run, cloth):
    done = run("skin", cloth, "--bones", 2, "--rank", 12, "-o", "frames/out_####.ply", "-o", "out.npz", "--json", "-")
    assert done.returncode == 0, done.stderr
    sizes = [p.stat().st_size for p in (run.folder / "frames").iterdir()]
    assert len(sizes) == 12
    assert told(done)["output_bytes"] == sum(sizes)
    posed, source = load_sequence(run.folder / "frames"), load_sequence(cloth)
    assert_same_points(posed.frames, source.frames, 1e-5)  # as many corrections as frames


def test_a_bound_on_the_error(run, cloth):
    done = run("skin", cloth, "--max-error", 2, *QUICK, "-o", "out.glb", "--json", "-")
    assert done.returncode == 0, done.stderr
    report = told(done)
    assert report["bound_met"] is True
    assert report["error_percent"] <= 2
    assert report["output_bytes"] == (run.folder / "out.glb").stat().st_size
    kept = {"bones", "rank", "error_percent", "worst", "bytes"}
    assert kept | {"shading", "normal_rank"} == set(report["tries"][0])
    assert report["output_bytes"] == min(t["bytes"] for t in report["tries"] if t["error_percent"] <= 2)
    assert done.stderr.count("bones, rank") == len(report["tries"])


def test_a_bound_on_the_distance(run, cloth):
    done = run("skin", cloth, "--max-distance", 0.01, *QUICK, "-o", "out.npz", "--json", "-", "-q")
    assert done.returncode == 0, done.stderr
    assert told(done)["worst"]["distance"] <= 0.01
    assert done.stderr == ""


def test_a_bound_on_the_size(run, cloth):
    done = run("skin", cloth, "--max-bytes", "30k", *QUICK, "-o", "out.glb", "--quantize", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert told(done)["bound_met"] is True
    assert (run.folder / "out.glb").stat().st_size <= 30_000


@pytest.mark.parametrize("bound", [("--max-error", "1e-9"), ("--max-bytes", "50")])
def test_a_bound_that_cannot_be_reached(run, cloth, bound):
    """Exit code 1, one line, and the best that was found is there."""
    done = run("skin", cloth, *bound, *QUICK, "-o", "out.npz", "--json", "report.json", "-q")
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "not reached" in done.stderr
    assert load_model(run.folder / "out.npz").n_bones >= 1
    report = json.loads((run.folder / "report.json").read_text())
    assert report["bound_met"] is False
    assert report["tries"]


@pytest.mark.parametrize("size", ["abc", "", "1.2.3", "5 apples", "9" * 400])
def test_sizes_that_are_none(run, cloth, size):
    refused(run, cloth, "--max-bytes", size, "-o", "out.npz", says="--max-bytes", lines=None)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--max-bytes", "0"), "--max-bytes: "),
        (("--max-bytes=-5",), "max-bytes"),
        (("--max-error", "0"), "--max-error: "),
        (("--max-error=-1",), "--max-error: "),
        (("--max-error", "nan"), "--max-error: "),
        (("--max-distance", "0"), "--max-distance: "),
        (("--rank=-1",), "rank"),
        (("--helpers", "2"), "--rig"),
        (("--max-error", "1", "--rank", "3"), "--rank"),
        (("--max-error", "1", "--bones", "3"), "--bones"),
        (("--max-error", "1", "--preset", "paper"), "paper"),
        (("--max-bytes", "1M", "--holdout", "3"), "--holdout"),
        (("--max-error", "1", "--rig", "rig.npz"), "--rig"),
    ],
)
def test_options_that_contradict_each_other(run, options, says):
    """Told before the input is even looked for."""
    refused(run, "nowhere.npz", *options, "-o", "out.npz", says=says, lines=None if says == "max-bytes" else 1)


def test_outputs_are_checked_before_the_work(run, cloth):
    refused(run, cloth, "-o", "a.npz", "-o", "a.npz", says="twice")
    refused(run, cloth, "-o", "a.npz", "-o", "./x/../a.npz", says="twice")
    refused(run, cloth, "-o", "a.npz", "--report", "x.txt", says=".html")
    refused(run, cloth, "-o", "a.npz", "--report", "x.html", "--json", "x.html", says="twice")


def test_a_rig(run, limb, rig):
    done = run("skin", limb, "--rig", rig, "-o", "out.npz", "--json", "-")
    assert done.returncode == 0, done.stderr
    model, given = load_model(run.folder / "out.npz"), load_model(rig)
    assert model.track.names == ("hip", "knee")
    assert np.array_equal(model.track.transforms, given.track.transforms)
    assert told(done)["error_percent"] < 1e-3


@pytest.mark.parametrize("flags", [("--weights", "tsvd"), ("--weights", "bounded", "--delta", 0.1), ()])
def test_the_papers_weights_on_a_rig(run, limb, rig, flags):
    done = run("skin", limb, "--rig", rig, "--preset", "paper", *flags, "-o", "out.npz", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert np.array_equal(load_model(run.folder / "out.npz").track.transforms, load_model(rig).track.transforms)
    assert told(done)["weights"] == (flags[1] if flags else "nnls")


def test_a_report_of_the_papers_weights_on_a_rig(run, limb, rig):
    done = run("skin", limb, "--rig", rig, "--preset", "paper", "-o", "out.npz", "--report", "out.html", "-q")
    assert done.returncode == 0, done.stderr
    assert "--preset default" in (run.folder / "out.html").read_text()


def test_helpers(run, limb, rig):
    done = run("skin", limb, "--rig", rig, "--helpers", 2, "-o", "out.glb", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert told(done)["bones"] == 4
    assert load_model(run.folder / "out.glb").track.names == ("hip", "knee", "helper_0", "helper_1")


def test_a_rig_from_a_file_that_osteon_wrote(run, limb):
    """As GLB: the joints come back, and are kept."""
    assert run("skin", limb, "--bones", 2, "--bone-type", "rigid", "-o", "rig.glb", "-q").returncode == 0
    done = run("skin", limb, "--rig", "rig.glb", "-o", "out.glb", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert told(done)["error_percent"] < 0.01


def test_a_rig_that_does_not_match(run, cloth, limb, rig, tmp_path):
    refused(run, cloth, "--rig", rig, "-o", "out.npz", says="vertices")
    refused(run, limb, "--rig", "nowhere.glb", "-o", "out.npz", says="nowhere.glb")
    refused(run, limb, "--rig", limb, "-o", "out.npz", says="limb.npz")  # a sequence, not a character
    (tmp_path / "broken.glb").write_bytes(b"glTF")
    refused(run, limb, "--rig", tmp_path / "broken.glb", "-o", "out.npz", says="broken.glb")
    refused(run, limb, "--rig", rig, "--bones", 3, "-o", "out.npz", says="helpers")
