"""`osteon lod`: levels and single levels of any skinned model, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.pose import pose_frames
from osteon.io import load_model, save_model
from osteon.lod.model_levels import load_levels, save_levels
from osteon.lod.options import LodOptions
from osteon.pipeline.levels import fit_levels
from osteon.report import lod_gallery
from osteon_bench.level_characters import joint_driven_model
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.lod_rigs import two_clips
from tests.tolerance import assert_same_points
from tests.unit.lod.test_fit_progressive import still

CHARACTERS = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "characters"
JOINTED = JointedOptions(joints=6, vertices=40)


@pytest.fixture(scope="module", name="files")
def _files(tmp_path_factory) -> dict[str, Path]:
    """A model as it is, one of others, one with levels, one without motion."""
    folder = tmp_path_factory.mktemp("characters")
    model = two_clips(make_jointed(1, JOINTED), make_jointed(1, replace(JOINTED, swing=0.3)))
    for suffix in ("glb", "npz", "usda"):
        save_model(model, folder / f"plain.{suffix}")
    save_model(model, folder / "other.gltf")
    root = json.loads((folder / "other.gltf").read_text())
    root["asset"]["generator"] = "another program"
    (folder / "other.gltf").write_text(json.dumps(root))
    save_levels(fit_levels(model, options=LodOptions(bones="4,2", threads=1)).levels, folder / "levels.glb")
    save_model(still(), folder / "still.npz")
    return {path.name: path for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["plain.glb", "plain.npz", "plain.usda", "other.gltf"])
def test_every_format_gets_levels(run_here, files, name):
    done = run_here("lod", files[name], "-o", "a.glb", "-o", "a.npz", "--json", "a.json", "--levels", "3")
    assert done.returncode == 0, done.stderr
    assert "level  bones  blends  triangles" in done.stdout
    found = load_levels(run_here.folder / "a.glb")
    assert len(found.levels) == 3
    assert len(load_levels(run_here.folder / "a.npz").levels) == 3
    assert_same_points(pose_frames(load_model(run_here.folder / "a.glb")), pose_frames(load_model(files[name])), 2e-6)
    facts = json.loads((run_here.folder / "a.json").read_text())
    assert facts.keys() >= {"levels", "clips", "by", "bones", "reached", "plays", "notes", "seconds", "outputs"}
    assert [level["bones"] for level in facts["levels"]] == [level.bones for level in found.levels]
    assert [clip["name"] for clip in facts["clips"]] == ["one", "two", None]
    assert all(level["bytes"] > 0 for level in facts["levels"])


def test_a_page_of_levels(run_here, files, monkeypatch):
    monkeypatch.setattr(lod_gallery, "WIDE", {1: 60})
    monkeypatch.setattr(lod_gallery, "LARGEST", 40)
    done = run_here("lod", files["plain.glb"], "-o", "a.glb", "--report", "a.html", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "levels of detail" in (run_here.folder / "a.html").read_text()


def test_a_level_alone(run_here, files):
    done = run_here("lod", files["levels.glb"], "--bake-level", "1", "-o", "a.glb", "--json", "-")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    baked = load_model(run_here.folder / "a.glb")
    assert facts["baked"]["bones"] == 4
    assert baked.n_bones == facts["baked"]["joints"] <= 5
    assert load_levels(run_here.folder / "a.glb") is None
    assert len(baked.faces) == facts["levels"][1]["triangles"]
    assert "bones" not in facts["seconds"]  # nothing was searched


def test_level_0_is_the_model(run_here, files):
    done = run_here("lod", files["levels.glb"], "--bake-level", "0", "-o", "a.npz", "-q")
    assert done.returncode == 0, done.stderr
    assert_same_points(pose_frames(load_model(run_here.folder / "a.npz")), pose_frames(load_model(files["levels.glb"])))


def test_a_part_of_the_cost_alone(run_here, files):
    done = run_here("lod", files["plain.npz"], "--bake-level", "40%", "-o", "a.usda", "-o", "a.glb")
    assert done.returncode == 0, done.stderr
    assert "baked" in done.stdout
    baked, whole = load_model(run_here.folder / "a.glb"), load_model(files["plain.npz"])
    assert baked.n_bones < whole.n_bones
    assert len(baked.faces) == len(whole.faces)


def test_dual_quaternions(run_here, files):
    plain = make_jointed(2, JOINTED)
    save_model(
        plain.with_character(deformer=DualQuaternion(plain.skin), fallback=plain.skin), run_here.folder / "dqs.npz"
    )
    done = run_here("lod", "dqs.npz", "-o", "a.glb", "--bones", "3,2", "--quiet")
    assert done.returncode == 0, done.stderr
    found = load_levels(run_here.folder / "a.glb")
    assert found.model.deformer.kind == "dual_quaternion"
    assert {mesh.character.deformer.kind for mesh in found.coarse} <= {"dual_quaternion"}
    assert run_here("lod", "a.glb", "-o", "b.glb", "--bake-level", "2", "-q").returncode == 0
    assert load_model(run_here.folder / "b.glb").deformer.kind == "dual_quaternion"


def test_corrections_that_follow_joints(run_here):
    save_model(joint_driven_model(make_jointed(2, JOINTED)), run_here.folder / "driven.glb")
    done = run_here("lod", "driven.glb", "-o", "a.glb", "-o", "a.npz", "--triangles", "50%")
    assert done.returncode == 0, done.stderr
    for name in ("a.glb", "a.npz"):
        found = load_levels(run_here.folder / name)
        assert {d.kind for mesh in found.coarse for d in mesh.character.displacements} == {"eigenskin"}
    for level, kind in (("0", "eigenskin"), ("1", "corrections"), ("40%", "corrections")):
        done = run_here("lod", "a.glb", "-o", "b.glb", "--bake-level", level, "--force", "-q")
        assert (done.returncode, done.stderr) == (0, "")
        assert [d.kind for d in load_model(run_here.folder / "b.glb").character.displacements] == [kind], level


def test_a_bound_that_cannot_be_reached(run_here, files):
    done = run_here("lod", files["plain.npz"], "-o", "a.npz", "--triangles", "1", "--levels", "2")
    assert done.returncode == 1
    assert "the fewest possible were written" in done.stderr
    assert "allow no fewer than" in done.stdout
    assert load_levels(run_here.folder / "a.npz") is not None


def test_a_model_without_motion(run_here, files):
    done = run_here("lod", files["still.npz"], "-o", "a.npz")
    assert done.returncode == 0, done.stderr
    assert "the model has one frame" in done.stdout
    refused = run_here("lod", files["still.npz"], "-o", "b.npz", "--bones", "3")
    assert refused.returncode == 2
    assert "--bones: the model has one frame" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-o", "a.usdc"), "binary USD has no place for levels of detail; write a .glb, .gltf or .npz"),
        (("-o", "a.obj"), "levels are those of a model; use one of"),
        (("-o", "a.glb", "--bones", "9,3"), "--bones: asked for 9, but the model uses 6"),
        (("-o", "a.glb", "--bones", "4,2", "--levels", "3"), "--levels: the list defines the levels"),
        (("-o", "a.glb", "--bones", "4", "--screen", "100"), "already; omit one"),
        (("-o", "a.glb", "--bones", "2,4"), "--bones: expected --bones from fine to coarse"),
        (("-o", "a.glb", "--bake-level", "9"), "level: expected 0 … 3, got 9"),
        (("-o", "a.glb", "--bake-level", "0.4"), "expected the number of a level, or a part of the full cost as 35%"),
        (("-o", "a.glb", "--bake-level", "140%"), "expected the number of a level"),
        (("-o", "a.glb", "--bake-level", "40%", "--levels", "3"), "--levels: of levels that have a number"),
        (("-o", "a.npz", "--quantize"), "--quantize: only glTF has 16-bit numbers"),
        (("-o", "a.glb", "--fallback", "none"), "--fallback: the file has a form for this deformer"),
        (("-o", "a.glb", "--report", "a.txt"), "--report: expected a name that ends in .html"),
        (("-o", "a.glb", "--keep-mesh", "--triangles", "50%"), "--keep-mesh: --triangles requests coarser meshes"),
    ],
)
def test_what_is_refused(run_here, files, arguments, told):
    done = run_here("lod", files["plain.npz"], *arguments)
    assert done.returncode == 2
    assert told in done.stderr.replace("\n", " ").replace("  ", " ")
    assert done.stdout == ""
    assert not list(run_here.folder.iterdir())


def test_inputs_are_never_overwritten(run_here, files):
    before = files["levels.glb"].read_bytes()
    done = run_here("lod", files["levels.glb"], "-o", files["levels.glb"], "--force")
    assert done.returncode == 2
    assert files["levels.glb"].read_bytes() == before


def test_what_is_no_model_is_told(run_here):
    done = run_here("lod", "nothing.glb", "-o", "a.glb")
    assert done.returncode == 2
    assert "nothing.glb: there is no such file" in done.stderr


def test_one_clip_of_many(run_here, files):
    done = run_here("lod", files["plain.npz"], "-o", "a.npz", "--clip", "two", "--keep-mesh", "-q")
    assert done.returncode == 0, done.stderr
    assert [order.clip for order in load_levels(run_here.folder / "a.npz").skin.orders] == ["two"]


def test_same_in_same_out(run_here, files):
    for name in ("a", "b"):
        assert run_here("lod", files["plain.npz"], "-o", f"{name}.npz", "-q").returncode == 0
    first, second = (np.load(run_here.folder / f"{name}.npz") for name in ("a", "b"))
    for name in first.files:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


@pytest.mark.skipif(not CHARACTERS.is_dir(), reason="no shared data beside the repository")
def test_a_character_of_others(run_here):
    done = run_here("lod", CHARACTERS / "RiggedFigure.glb", "-o", "a.glb", "--levels", "3")
    assert done.returncode == 0, done.stderr
    assert load_levels(run_here.folder / "a.glb").levels[-1].bones < 19
