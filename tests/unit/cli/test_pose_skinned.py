"""`osteon pose MODEL POSE`: a model that its own skin poses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from osteon.core.character import Corrections
from osteon.core.sequence import MeshSequence
from osteon.core.sticks import StickSkeleton
from osteon.deform.pose import pose_frames
from osteon.io import load_model, load_sequence, save_model, save_sequence
from osteon.io.poses import load_poses
from osteon.io.skeletons import save_skeleton
from osteon.pipeline.pose_model import pose_model, sticks_for
from tests.posable import posable_model
from tests.tolerance import assert_same_points

BEND = {"rotate": {"arm": {"axis": [0, 0, 1], "degrees": 50}, "hip": {"axis": "hip-chest", "degrees": 20}}}
MANY = {"fps": 12, "name": "wave", "poses": [{}, BEND, {"translate": [0, 1, 0]}]}


@pytest.fixture(name="run")
def _run(run_here):
    return run_here


@pytest.fixture(name="model", autouse=True)
def _model(run):
    model = posable_model()
    save_model(model, run.folder / "body.glb")
    save_model(posable_model(dual=True), run.folder / "dual.npz")
    save_model(model.with_character(skeleton=None), run.folder / "loose.npz")
    save_sequence(MeshSequence(model.rest[None], model.faces, model.rest), run.folder / "still.obj")
    (run.folder / "bend.json").write_text(json.dumps(BEND))
    (run.folder / "many.json").write_text(json.dumps(MANY))
    return model


def expected(run, model, *files):
    sticks = sticks_for(model)
    return pose_frames(pose_model(model, load_poses([run.folder / name for name in files], sticks.sticks)))


@pytest.mark.parametrize("file", ["body.glb", "dual.npz"])
def test_one_pose_is_what_the_library_gives(run, file):
    done = run("pose", file, "bend.json", "-o", "bent.obj", "--json", "report.json")
    assert done.returncode == 0, done.stderr
    posed = load_sequence(run.folder / "bent.obj").frames
    assert_same_points(posed, expected(run, load_model(run.folder / file), "bend.json"))
    report = json.loads((run.folder / "report.json").read_text())
    assert report["method"] == ("linear_blend" if file == "body.glb" else "dual_quaternion")
    assert (report["skeleton"], report["poses"], report["notes"]) == ({"joints": 5, "root": "hip"}, 1, [])
    assert "bent.obj" in done.stdout


def test_several_poses_become_a_model_that_plays_them_or_frames(run, model):
    posed = expected(run, model, "many.json", "bend.json")
    done = run("pose", "body.glb", "many.json", "bend.json", "-o", "wave.glb", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    again = load_model(run.folder / "wave.glb")
    assert_same_points(pose_frames(again), posed, 1e-5)
    assert (again.clips[0].name, again.clips[0].n_frames, again.clips[0].fps) == ("wave", 3, 12.0)
    assert again.skeleton.names == model.skeleton.names
    done = run("pose", "body.glb", "many.json", "bend.json", "-o", "wave/", "-q")
    assert done.returncode == 0, done.stderr
    assert_same_points(load_sequence(run.folder / "wave").frames, posed)
    assert_same_points(posed[0], model.rest)


def test_its_own_clip_gives_its_own_frames(run, model):
    done = run("pose", "body.glb", "body.glb", "-o", "own.npz", "-q")
    assert done.returncode == 0, done.stderr
    assert_same_points(pose_frames(load_model(run.folder / "own.npz")), pose_frames(model), 1e-5)


def test_a_moved_skeleton_is_a_pose(run, model):
    sticks = sticks_for(model).sticks
    joints = sticks.joints + np.array([0.0, 0.0, 0.4])
    save_skeleton(StickSkeleton(joints, sticks.bones, sticks.names, sticks.root), run.folder / "moved.skel")
    done = run("pose", "body.glb", "moved.skel", "-o", "moved.ply", "-q")
    assert done.returncode == 0, done.stderr
    assert_same_points(load_sequence(run.folder / "moved.ply").frames[0], model.rest + np.float32([0, 0, 0.4]), 1e-5)


def test_with_a_skeleton_of_its_own_between_it_is_a_mesh_as_before(run):
    done = run("pose", "body.glb", "body.glb", "bend.json", "-o", "mesh.obj", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["method"] == "simplex"


def test_corrections_are_left_out_with_a_note(run, model):
    basis = np.full((1, model.n_vertices, 3), 0.1, np.float32)
    corrected = model.with_corrections(Corrections(basis, np.ones((model.n_frames, 1), np.float32)))
    save_model(corrected, run.folder / "soft.npz")
    done = run("pose", "soft.npz", "bend.json", "-o", "bent.obj")
    assert done.returncode == 0, done.stderr
    assert "note: its corrections belong to the frames of the file" in done.stdout
    assert_same_points(load_sequence(run.folder / "bent.obj").frames, expected(run, model, "bend.json"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("body.glb", "-o", "x.obj"), "no pose is named"),
        (("still.obj", "bend.json", "-o", "x.obj"), "is no skinned model, so it needs a skeleton"),
        (("missing.glb", "bend.json", "-o", "x.obj"), "missing.glb: is not there"),
        (("loose.npz", "bend.json", "-o", "x.obj"), "bones have no skeleton"),
        (("body.glb", "wrong.json", "-o", "x.obj"), "there is no joint 'elbow'"),
        (("body.glb", "missing.json", "-o", "x.obj"), "missing.json"),
        (("body.glb", "bend.json", "-o", "body.glb"), "one of the inputs"),
        (("body.glb", "many.json", "-o", "x.obj"), "several frames"),
        (("body.glb", "twist.json", "-o", "x.obj"), "'twist' is of the simplex method"),
        (("body.glb", "bend.json", "-o", "x.obj", "--method", "ssd"), "--method: of the simplex method"),
        (("body.glb", "bend.json", "-o", "x.obj", "--stretch", "none"), "--stretch: of the simplex method"),
        (("body.glb", "bend.json", "-o", "x.obj", "--picture", "p.png"), "--picture: of the simplex method"),
        (("body.glb", "bend.json", "-o", "x.obj", "--segments", "s.npy"), "--segments: of the simplex method"),
        (("body.glb", "bend.json", "-o", "x.obj", "--clip", "Walk"), "no clips"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(run, arguments, told):
    (run.folder / "wrong.json").write_text(json.dumps({"rotate": {"elbow": {"axis": [0, 0, 1], "degrees": 5}}}))
    (run.folder / "twist.json").write_text(json.dumps({"bones": {"arm-hand": {"twist": 30}}}))
    before = sorted(path.name for path in run.folder.iterdir())
    done = run("pose", *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert sorted(path.name for path in run.folder.iterdir()) == before
