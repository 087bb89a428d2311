"""`osteon rig` as people use it, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from osteon.io import load_model, save_sequence

from ...subjects import bent_tube


@pytest.fixture(scope="module")
def tube(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tube") / "tube.npz"
    save_sequence(bent_tube(3, n_frames=10).sequence, path)
    return path


def test_a_skeleton_is_written_and_told(run, tube):
    done = run("rig", tube, "-o", "tube.glb", "-o", "tube.npz", "--json", "found.json")
    assert done.returncode == 0, done.stderr
    for words in ("3 joints in one tree", "if each has its own motion", "tube.glb", "plays in"):
        assert words in done.stdout
    told = json.loads((run.folder / "found.json").read_text())
    skeleton = told["skeleton"]
    assert len(skeleton["names"]) == len(skeleton["parents"]) == len(skeleton["positions"]) == 3
    assert told["form"] == "articulated"
    model = load_model(run.folder / "tube.glb")
    assert model.skeleton is not None
    assert list(model.skeleton.names) == skeleton["names"]
    assert model.skeleton.parents.tolist() == skeleton["parents"]
    np.testing.assert_allclose(model.skeleton.world_from_joint[:, :, 3], skeleton["positions"], atol=1e-5)


def test_the_skin_has_the_skeleton_and_nothing_else(run, tube):
    assert run("rig", tube, "-o", "only.gltf", "-q").returncode == 0
    document = json.loads((run.folder / "only.gltf").read_text())
    (skin,) = document["skins"]
    moving = {c["target"]["node"] for a in document["animations"] for c in a["channels"]}
    assert moving <= set(skin["joints"])
    shifted = {
        c["target"]["node"]
        for a in document["animations"]
        for c in a["channels"]
        if c["target"]["path"] == "translation"
    }
    assert len(shifted) <= 1  # the root


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-o", "x.obj"), "a rig is written as a model"),
        (("-o", "x.glb", "--root", "99999"), "--root: vertex 99999 asked for"),
        (("-o", "x.glb", "--bones", "-1"), "--bones"),
        (("-o", "x.npz", "--quantize"), "--quantize"),
        (("-o", "x.glb", "--frames", "0:1"), "one frame"),
    ],
)
def test_one_line_and_nothing_written(run_here, tube, arguments, says):
    done = run_here("rig", tube, *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(run_here.folder.glob("x.*"))


def test_an_edited_tree_is_fitted(run, tube):
    assert run("rig", tube, "-o", "one.glb", "--save-tree", "tree.json").returncode == 0
    stored = json.loads((run.folder / "tree.json").read_text())
    names = list(stored["joints"])
    stored["joints"] = {("paw" if name == names[-1] else name): joint for name, joint in stored["joints"].items()}
    (run.folder / "tree.json").write_text(json.dumps(stored))
    done = run("rig", tube, "-o", "two.glb", "--tree", "tree.json", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["skeleton"]["names"] == [*names[:-1], "paw"]

    stored["joints"]["paw"]["parent"] = "nobody"
    (run.folder / "tree.json").write_text(json.dumps(stored))
    refused = run("rig", tube, "-o", "three.glb", "--tree", "tree.json")
    assert refused.returncode == 2
    assert "the joint 'nobody' is unknown" in refused.stderr
    assert not (run.folder / "three.glb").exists()
