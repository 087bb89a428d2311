"""Precomputed light in the files that commands read: listed, kept where it still fits, and noted where it does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from osteon.io import load_stored_light
from osteon.pipeline.light_files import save_light
from tests.light_models import lit_body, moving_body

SCENE = {"bodies": [{"shape": "sphere", "radius": 0.1, "position": [0, 3, 0]}]}


@pytest.fixture(scope="module", name="lit")
def _lit(tmp_path_factory) -> Path:
    """Lit models, and a scene of one ball."""
    folder, model = tmp_path_factory.mktemp("lit"), moving_body()
    save_light(model, lit_body(), folder / "lit.glb")
    save_light(model, lit_body(occlusion=True), folder / "occlusion.npz")
    (folder / "scene.json").write_text(json.dumps(SCENE))
    return folder


def test_info_lists_the_light(run_here, lit):
    done = run_here("info", lit / "lit.glb", "--json", "a.json")
    assert done.returncode == 0, done.stderr
    light = lit_body()
    facts = json.loads((run_here.folder / "a.json").read_text())["light"]
    assert facts["kind"] == "transfer"
    assert (facts["order"], facts["rank"]) == (light.order, light.transfer.rank)
    assert facts["environments"] == ["studio", "overcast"]
    assert facts["ground"]["points"] == 8
    assert facts["error_percent"] == pytest.approx(100 * light.transfer.errors[-1])
    said = " ".join(done.stdout.split())
    assert f"transfer of order 4, rank 4 (error {facts['error_percent']:.2f} %)" in said
    assert "environments studio overcast" in said


def test_info_lists_ambient_occlusion(run_here, lit):
    done = run_here("info", lit / "occlusion.npz")
    assert done.returncode == 0, done.stderr
    assert "ambient occlusion, rank 4" in done.stdout
    assert "environments" not in done.stdout


NOTE = "its precomputed light is left out"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("skin", "lit.glb", "--bones", "3", "-o", "a.glb"), "bones of that file"),
        (("skin", "lit.glb", "--rig", "lit.glb", "-o", "a.glb"), "bones of that file"),
        (("rig", "lit.glb", "--bones", "3", "-o", "a.npz"), "bones of that file"),
        (("edit", "lit.glb", "lit.glb", "-o", "a.glb"), "before the edit"),
        (("lod", "lit.glb", "--bake-level", "1", "--triangles", "50%", "-o", "a.glb"), "single level"),
        (("lod", "lit.glb", "--fps", "7", "--triangles", "50%", "-o", "a.glb"), "at another rate"),
        (("collide", "lit.glb", "--bodies", "scene.json", "-o", "a.glb"), "no place"),
    ],
)
def test_a_command_without_light_says_so_once(run_here, lit, arguments, reason):
    named = [lit / word if (lit / word).exists() else word for word in arguments]
    done = run_here(*named)
    assert done.returncode == 0, done.stderr
    said = " ".join((done.stdout + done.stderr).split())
    assert said.count(NOTE) == 1, said
    assert reason in said
    assert load_stored_light(run_here.folder / arguments[-1]) is None


def test_a_file_without_models_gets_no_note(run_here, lit):
    done = run_here("play", lit / "lit.glb", "-o", "frames.npz")
    assert done.returncode == 0, done.stderr
    assert NOTE not in done.stdout + done.stderr
