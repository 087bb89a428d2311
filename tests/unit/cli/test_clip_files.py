"""Clips without a mesh on the command line: info, play, skin --rig."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from osteon.io import load_model, save_model

from ...formats.test_gltf_clip_files import NAMES, character, clips_of


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rig = tmp_path / "rig.glb"
    save_model(character(), rig)
    return rig, clips_of(rig, tmp_path / "run.glb")


def test_info_tells_joints_clips_and_seconds(run_here, files):
    done = run_here("info", files[1], "--json", "-")
    facts = json.loads(done.stdout)
    assert (facts["kind"], facts["frames"], facts["seconds"]) == ("clips", 10, pytest.approx(9 / 24))
    assert facts["joints"] == len(facts["names"])
    assert set(NAMES) <= set(facts["names"])
    assert "CHARACTER" in run_here("info", files[1]).stdout
    assert run_here("info", files[1], "--rest", "0").returncode == 2


@pytest.mark.parametrize("command", ["play", "skin"])
def test_without_a_character_one_line_says_what_is_needed(run_here, files, command):
    done = run_here(command, files[1], "-o", "out.npz")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "osteon skin --rig CHARACTER" in done.stderr


def test_skin_gives_the_character_with_the_clips(run_here, files):
    rig, run = files
    done = run_here("skin", run, rig, "--rig", rig, "-o", "out.glb", "-o", "out.npz", "--json", "report.json")
    assert done.returncode == 0, done.stderr
    assert "3 of 3 joints matched, size 1." in " ".join(done.stdout.split())
    assert "E 0.000" not in done.stdout
    made, own = load_model(run_here.folder / "out.glb"), load_model(rig).clips[0].name
    assert [clip.name for clip in made.clips] == [own, "run"]
    assert [clip.name for clip in load_model(run_here.folder / "out.npz").clips] == ["run", own]
    assert made.track.names == NAMES
    assert made.skeleton is not None
    facts = json.loads((run_here.folder / "report.json").read_text())
    assert (facts["kind"], facts["joints"]) == ("clips", {"moved": 3, "matched": 3})
    assert facts["size_of_rest"] == pytest.approx(1, abs=0.5)
    assert "error_percent" not in facts
    assert run_here("skin", run, "--rig", rig, "--rest", "0", "-o", "b.glb").returncode == 2


def test_what_has_no_effect_on_clips_is_refused(run_here, files):
    rig, run = files
    for flags in (("--bones", "3"), ("--helpers", "1"), ("--rank", "2"), ("--report", "page.html"), ("--threads", "1")):
        done = run_here("skin", run, "--rig", rig, *flags, "-o", "out.glb")
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
    for flag in ("--quantize", "--compress", "--no-normals"):
        done = run_here("skin", run, "--rig", rig, flag, "-o", "out.glb")
        assert "keeps the character's own file" in done.stderr
    for flag in ("--partial", "--keep-translations"):
        done = run_here("skin", rig, flag, "-o", "out.glb")
        assert f"{flag}: is for clips without a mesh" in done.stderr


def test_a_clip_file_that_lacks_joints(run_here, files, tmp_path):
    rig, _ = files
    strange = clips_of(rig, tmp_path / "strange.glb", rename={"knee": "wing"})
    done = run_here("skin", strange, "--rig", rig, "-o", "out.glb")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--partial" in done.stderr
    done = run_here("skin", strange, "--rig", rig, "--partial", "-o", "out.glb")
    assert done.returncode == 0
    assert "2 of 3 joints matched" in " ".join(done.stdout.split())
