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
    done = run_here("skin", run, rig, "--rig", rig, "-o", "out.glb", "--json", "report.json", "--threads", "1")
    assert done.returncode == 0, done.stderr
    made = load_model(run_here.folder / "out.glb")
    assert [clip.name for clip in made.clips] == ["run", load_model(rig).clips[0].name]
    assert made.track.names == NAMES
    assert made.skeleton is not None
    assert json.loads((run_here.folder / "report.json").read_text())["error_percent"] < 1e-3
    assert run_here("skin", run, "--rig", rig, "--rest", "0", "-o", "b.glb").returncode == 2
