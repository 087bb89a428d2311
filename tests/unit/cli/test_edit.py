"""`osteon edit`: every input, what it writes and prints, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from osteon.core.mesh import Asset
from osteon.core.sequence import MeshSequence
from osteon.deform.edits import edits_of
from osteon.deform.pose import linear_parts, pose_frames, pose_vertices
from osteon.io import load_model, load_sequence, load_stored_levels, save_model, save_sequence
from osteon.lod.model_levels import load_levels, save_levels
from osteon.lod.options import LodOptions
from osteon.pipeline.levels import fit_levels
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.tolerance import assert_same_points


def bump(rest: np.ndarray) -> np.ndarray:
    """(v,3) a displacement of the vertices around one."""
    size = np.linalg.norm(np.ptp(rest, axis=0))
    out = np.zeros_like(rest)
    out[np.linalg.norm(rest - rest[5], axis=1) < 0.2 * size, 1] = 0.05 * size
    return out


def mesh_of(rest: np.ndarray, faces: np.ndarray) -> MeshSequence:
    return MeshSequence(rest[None], faces, rest)


@pytest.fixture(scope="module", name="files")
def _files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("edit")
    model = make_jointed(1, JointedOptions(joints=5, vertices=60))
    uvs = (model.rest[model.faces][:, :, :2] / model.diagonal).astype(np.float32)
    save_model(model, folder / "model.glb")
    save_model(model.with_mesh(asset=Asset(uvs=uvs)), folder / "textured.glb")
    save_model(model, folder / "other.gltf")
    root = json.loads((folder / "other.gltf").read_text())
    root["asset"]["generator"] = "another program"
    (folder / "other.gltf").write_text(json.dumps(root))
    save_levels(fit_levels(model, options=LodOptions(bones="4,2", threads=1)).levels, folder / "levels.glb")
    save_sequence(mesh_of(model.rest + bump(model.rest), model.faces), folder / "sculpted.obj")
    save_sequence(mesh_of(model.rest, model.faces), folder / "same.obj")
    save_sequence(mesh_of(model.rest[:9], model.faces[(model.faces < 9).all(axis=1)]), folder / "fewer.obj")
    posed = pose_vertices(model, 4)
    moved = posed + np.einsum("vij,vj->vi", linear_parts(model, 4), bump(model.rest))
    save_sequence(mesh_of(moved.astype(np.float32), model.faces), folder / "frame4.obj")
    Image.fromarray(np.full((4, 4), 255, np.uint8)).save(folder / "white.png")
    strokes = {"format": "osteon-edit", "version": 1, "name": "dent", "vertices": model.n_vertices}
    (folder / "dent.json").write_text(json.dumps(strokes | {"moved": [3], "displacements": [[0, 0.1, 0]]}))
    (folder / "text.hdr").write_text("text")
    return {path.name: path for path in folder.iterdir()}


def edits_in(path: Path):
    return edits_of(load_model(path).character)


@pytest.mark.parametrize("name", ["model.glb", "other.gltf"])
def test_a_sculpted_mesh_is_seen_in_all_frames(run_here, files, name):
    done = run_here(
        *("edit", files[name], files["sculpted.obj"], "--name", "hump", "--blends-only"),
        *("-o", "a.glb", "-o", "a.npz", "--json", "a.json"),
    )
    assert done.returncode == 0, done.stderr
    assert "hump" in done.stdout
    model, found = load_model(files[name]), load_model(run_here.folder / "a.glb")
    d = bump(model.rest).astype(np.float64)
    expected = pose_frames(model) + np.stack(
        [np.einsum("vij,vj->vi", linear_parts(model, f), d) for f in range(model.n_frames)]
    )
    assert_same_points(pose_frames(found), expected, 5e-6)
    assert edits_in(run_here.folder / "a.npz").names == ("hump",)
    facts = json.loads((run_here.folder / "a.json").read_text())
    assert facts.keys() >= {"edits", "warnings", "notes", "coarse_meshes", "seconds", "outputs", "frames"}
    (edit,) = facts["edits"]
    assert (edit["name"], edit["vertices"]) == ("hump", int(d.any(axis=1).sum()))
    assert edit["largest_percent"] == pytest.approx(5, rel=0.02)
    assert edit["length_change_percent"].keys() == {"max", "mean", "frame", "vertex", "per_frame"}
    shown = run_here("info", run_here.folder / "a.glb").stdout
    assert "hump" in shown


def test_a_zero_edit_gives_the_same_bytes(run_here, files):
    assert run_here("edit", files["model.glb"], "-o", "plain.glb").returncode == 0
    done = run_here("edit", files["model.glb"], files["same.obj"], "-o", "zero.glb")
    assert "no vertex differs" in done.stdout
    assert (run_here.folder / "zero.glb").read_bytes() == (run_here.folder / "plain.glb").read_bytes()
    save_model(load_model(files["model.glb"]), run_here.folder / "saved.glb")
    assert (run_here.folder / "zero.glb").read_bytes() == (run_here.folder / "saved.glb").read_bytes()


def test_edits_add_up_scale_and_go(run_here, files):
    run_here("edit", files["model.glb"], files["sculpted.obj"], "--name", "b", "-o", "1.glb")
    run_here("edit", "1.glb", files["dent.json"], "--scale", "2", "-o", "2.glb")
    run_here("edit", files["model.glb"], files["dent.json"], "--scale", "2", "-o", "3.glb")
    run_here("edit", "3.glb", files["sculpted.obj"], "--name", "b", "-o", "4.glb")
    both = [load_model(run_here.folder / name) for name in ("2.glb", "4.glb")]
    assert [edits_of(m.character).names for m in both] == [("b", "dent")] * 2
    assert_same_points(pose_frames(both[0]), pose_frames(both[1]))
    done = run_here("edit", "2.glb", "--name", "dent", "--scale", "0.5", "-o", "5.glb")
    assert done.returncode == 0, done.stderr
    assert edits_in(run_here.folder / "5.glb").scales.tolist() == [1.0, 0.5]
    run_here("edit", "2.glb", "--remove", "b", "--remove", "dent", "-o", "6.glb")
    assert edits_in(run_here.folder / "6.glb").names == ()
    assert_same_points(pose_frames(load_model(run_here.folder / "6.glb")), pose_frames(load_model(files["model.glb"])))


def test_a_sculpt_of_a_frame(run_here, files):
    words = ("edit", files["model.glb"], files["frame4.obj"], "--at-frame", "4")
    done = run_here(*words, "--blends-only", "-o", "a.glb")
    assert done.returncode == 0, done.stderr
    basis = edits_in(run_here.folder / "a.glb").basis[0]
    assert np.abs(basis - bump(load_model(files["model.glb"]).rest)).max() <= 1e-4


def test_columns_turn_an_edit_as_the_source_turns(run_here, files):
    model = load_model(files["model.glb"])
    save_sequence(MeshSequence(pose_frames(model), model.faces, model.rest), run_here.folder / "source.npz")
    words = ("edit", files["model.glb"], files["sculpted.obj"])
    done = run_here(*words, "--source", "source.npz", "-o", "a.glb", "--json", "a.json")
    assert done.returncode == 0, done.stderr
    assert "correction columns leave" in done.stdout
    (edit,) = json.loads((run_here.folder / "a.json").read_text())["edits"]
    assert edit["columns"] == load_model(run_here.folder / "a.glb").rank > 0
    turn = edit["deviation"]
    assert turn["local_frames"] == "source"
    assert turn["max_percent"] <= 1 < turn["blends_percent"]["max"]
    run_here(*words, "-o", "b.glb")  # the source is what the model shows
    assert_same_points(*(pose_frames(load_model(run_here.folder / name)) for name in ("a.glb", "b.glb")), 2e-4)
    assert "turned by" in run_here("edit", "a.glb", "-o", "c.glb").stdout


def test_a_map_and_subdivision(run_here, files):
    done = run_here(
        *("edit", files["textured.glb"], "--map", files["white.png"], "--height", "0.02", "--subdivide", "1"),
        *("--name", "skin", "-o", "a.glb", "--mesh", "a.obj"),
    )
    assert done.returncode == 0, done.stderr
    before, found = load_model(files["textured.glb"]), load_model(run_here.folder / "a.glb")
    assert len(found.faces) == 4 * len(before.faces)
    edits = edits_of(found.character)
    assert np.linalg.norm(edits.basis[0], axis=1) == pytest.approx(0.02, rel=0.01)
    written = load_sequence(run_here.folder / "a.obj")
    assert_same_points(written.rest, found.rest + edits.basis[0], 1e-5)


def test_levels_are_edited_too(run_here, files):
    done = run_here("edit", files["levels.glb"], files["sculpted.obj"], "-o", "a.glb", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["coarse_meshes"] == len(load_stored_levels(files["levels.glb"]).coarse) > 0
    assert all(edits_of(mesh.character).names == ("edit",) for mesh in load_levels(run_here.folder / "a.glb").coarse)
    done = run_here("edit", files["levels.glb"], "--subdivide", "1", "-o", "b.glb")
    assert "left out; run osteon lod again" in done.stdout
    assert load_levels(run_here.folder / "b.glb") is None


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("model.glb", "fewer.obj"), "fewer.obj: its 9 vertices do not match the"),
        (("model.glb", "missing.obj"), "missing.obj"),
        (("model.glb", "text.hdr"), "text.hdr"),
        (("model.glb", "dent.json", "--at-frame", "0"), "only an edited mesh has a pose"),
        (("model.glb", "sculpted.obj", "--at-frame", "99"), "expected 0 … 11"),
        (("model.glb", "sculpted.obj", "--map", "white.png"), "omit one"),
        (("model.glb", "sculpted.obj", "--height", "2"), "use --map"),
        (("model.glb", "--map", "white.png"), "no texture coordinates"),
        (("textured.glb", "--map", "sculpted.obj"), "is not a picture"),
        (("model.glb", "--name", "hump"), "there is no edit"),
        (("model.glb", "sculpted.obj", "--source", "fewer.obj"), "fewer.obj: its 9 vertices do not match"),
        (("model.glb", "sculpted.obj", "--source", "same.obj"), "same.obj: expected the 12 frames of the model, got 1"),
        (("model.glb", "--source", "same.obj"), "it turns a new edit"),
        (("model.glb", "sculpted.obj", "--source", "same.obj", "--blends-only"), "no edit turns with it"),
        (("model.glb", "sculpted.obj", "--source", "same.obj", "--subdivide", "1"), "has no frames of the vertices"),
        (("model.glb", "sculpted.obj", "--blends-only", "--turn-columns", "3"), "there are no columns"),
        (("model.glb", "sculpted.obj", "--turn-tolerance", "0"), "--turn-tolerance"),
        (("model.glb", "--scheme", "loop"), "--scheme"),
        (("model.glb", "--remove", "horns"), "no edit of that name; it has none"),
        (("model.glb", "sculpted.obj", "--subdivide", "1"), "do not match"),
        (("sculpted.obj", "sculpted.obj"), "sculpted.obj"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(run_here, files, words, what):
    given = [files.get(word, word) for word in words]
    done = run_here("edit", *given, "-o", "out.glb")
    assert done.returncode == 2
    assert what in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 3
    assert not (run_here.folder / "out.glb").exists()


def test_nan_in_a_mesh_is_named(run_here, files):
    text = files["sculpted.obj"].read_text().splitlines()
    row = next(i for i, line in enumerate(text) if line.startswith("v "))
    text[row] = "v nan 0 0"
    (run_here.folder / "nan.obj").write_text("\n".join(text))
    done = run_here("edit", files["model.glb"], "nan.obj", "-o", "out.glb")
    assert (done.returncode, "nan.obj" in done.stderr) == (2, True)
    assert not (run_here.folder / "out.glb").exists()


def test_only_models_are_written(run_here, files):
    done = run_here("edit", files["model.glb"], files["sculpted.obj"], "-o", "a.obj")
    assert done.returncode == 2
    assert "the result is a model" in done.stderr


def test_weights_of_zero_change_nothing(run_here, files):
    """An edit of scale 0 is stored, and not seen."""
    run_here("edit", files["model.glb"], files["sculpted.obj"], "--scale", "0", "-o", "a.glb")
    found = load_model(run_here.folder / "a.glb")
    assert edits_of(found.character).scales.tolist() == [0.0]
    plain = replace(found, character=replace(found.character, displacements=()))
    assert np.array_equal(pose_frames(found), pose_frames(plain))


def test_the_demo_needs_no_data(run_here):
    done = run_here("demo", "edit", "-o", "demo", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert [edit["name"] for edit in json.loads(done.stdout)["edits"]] == ["crest", "horn"]
    names = {path.name for path in (run_here.folder / "demo").iterdir()}
    assert names == {"fox.glb", "fox-edited.glb", "crest.ply", "picture.png", "report.json"}
    edited, crest = load_model(run_here.folder / "demo" / "fox-edited.glb"), run_here.folder / "demo" / "crest.ply"
    run_here("edit", run_here.folder / "demo" / "fox.glb", crest, "--name", "crest", "-o", "again.glb")
    found = edits_in(run_here.folder / "again.glb")
    assert np.abs(found.basis[0] - edits_of(edited.character).basis[0]).max() <= 1e-5
