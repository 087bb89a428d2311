"""`skin --for`: what an engine refuses, what it chooses, and the table of where the file plays."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from osteon.io import load_model, save_sequence
from osteon.synth.cloth import make_cloth
from osteon_bench.doc_tables import write_engine_table

ROOT = Path(__file__).resolve().parents[3]
QUICK = ("-b", "3", "--rounds", "2", "--threads", "1")


@pytest.fixture
def cloth(run_here) -> str:
    save_sequence(make_cloth().take_frames(np.arange(10, dtype=np.int32)), run_here.folder / "cloth.npz")
    return "cloth.npz"


def told(run_here, *arguments: str) -> dict:
    done = run_here("skin", *arguments, *QUICK, "--json", "-", "--force")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def playing(report: dict) -> dict[str, bool]:
    return {entry["engine"]: entry["plays"] for entry in report["plays"]}


def test_the_default_plays_everywhere(run_here, cloth):
    report = told(run_here, cloth, "-o", "out.glb")
    assert load_model(run_here.folder / "out.glb").track.bone_type == "scaled"
    assert len(playing(report)) >= 8
    assert [engine for engine, plays in playing(report).items() if not plays] == ["panda3d"]  # its importer's fault


def test_an_engine_chooses_the_bones_unless_they_are_asked_for(run_here, cloth):
    report = told(run_here, cloth, "-o", "out.glb", "--for", "web")
    assert load_model(run_here.folder / "out.glb").track.bone_type == "flexible"
    assert playing(report)["web"]
    assert not playing(report)["raylib"]
    told(run_here, cloth, "-o", "out.glb", "--for", "web", "--bone-type", "rigid")
    assert load_model(run_here.folder / "out.glb").track.bone_type == "rigid"


def test_flexible_bones_need_no_more_than_to_be_asked_for(run_here, cloth):
    done = run_here("skin", cloth, "-o", "out.glb", "--bone-type", "flexible", *QUICK)
    assert done.returncode == 0, done.stderr
    assert load_model(run_here.folder / "out.glb").track.bone_type == "flexible"
    text = " ".join(done.stdout.split())
    assert "plays in web, blender, cesium once set up godot: import settings in docs/engines.md" in text
    assert "raylib, panda3d: flexible bones" in text
    done = run_here("skin", cloth, "-o", "again.glb", "--bone-type", "flexible", "--for", "raylib", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "note: --for raylib: raylib does not show flexible bones as computed" in " ".join(done.stdout.split())


def test_what_corrections_cost_where_there_are_none(run_here, cloth):
    report = told(run_here, cloth, "-o", "out.glb", "--rank", "2")
    (entry,) = [entry for entry in report["plays"] if entry["engine"] == "raylib"]
    assert (entry["plays"], entry["why"]) == (False, ["no corrections"])
    assert entry["error_percent"] == report["error_percent_by_rank"]["0"]


def test_more_corrections_than_have_room_for_normals(run_here, cloth):
    many = ("--rank", "7", "--normal-rank", "2")
    report = told(run_here, cloth, "-o", "out.glb", *many, "--for", "cesium")
    assert any(
        note.startswith("9 corrections with normals need more than 16 attributes") for note in report["warnings"]
    )
    for engine in ("any", "web"):
        report = told(run_here, cloth, "-o", "out.glb", *many, "--for", engine)
        assert not any("attributes" in note for note in report["warnings"])
        assert not playing(report)["cesium"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--for raylib --quantize -o a.glb", "--quantize: 16-bit positions are read by web"),
        ("--for cesium --short-rotations -o a.glb", "--short-rotations: 16-bit rotations are read by web"),
        ("--for web --influences 8 -o a.glb", "--influences: files for web have at most 4 bones per vertex"),
        ("--for usd -o a.glb", "--for usd: reads USD; write a .usdc"),
        ("--for godot -o a.usdc", "--for godot: reads glTF; write a .glb"),
        ("--for web -o frames/", "--for web: reads glTF; write a .glb"),
    ],
)
def test_an_engine_that_is_named_refuses_what_it_cannot_read(run_here, cloth, flags, says):
    done = run_here("skin", cloth, *QUICK, *flags.split())
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith(f"osteon: {says}"), done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_any_refuses_nothing_and_tells(run_here, cloth):
    report = told(run_here, cloth, "-o", "out.glb", "--quantize", "--short-rotations")
    why = {entry["engine"]: entry["why"] for entry in report["plays"]}
    assert why["raylib"] == ["16-bit positions", "16-bit rotations"]
    assert why["cesium"] == ["16-bit rotations"]
    assert why["web"] == []


def test_an_engine_and_a_rig_that_brings_its_motion(run_here, cloth):
    """Its bones are what they are; the engine asks for no others."""
    told(run_here, cloth, "-o", "rig.glb", "--bone-type", "rigid")
    done = run_here("skin", cloth, "--rig", "rig.glb", "--for", "web", "-o", "out.glb", "--threads", "1")
    assert done.returncode == 0, done.stderr


def test_the_table_is_current():
    """If not: scripts/write-options."""
    text = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    assert text.count("<!-- engines -->") == 1
    assert write_engine_table(text) == text
    assert write_engine_table(text.replace("raylib", "other")) != text
