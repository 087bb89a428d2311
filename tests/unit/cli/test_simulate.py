"""`osteon simulate`: a solid and a skeleton in, its surface in many poses out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.core.sticks import StickSkeleton
from osteon.io import save_sequence
from osteon.io.poses import load_pose_set
from osteon.io.skeletons import save_skeleton
from osteon_bench.subjects import bar_skeleton, make_bar

BEND = {"rotate": {"joint1": {"axis": [0, 1, 0], "degrees": 25}}}
LIMITS = {"limits": {"joint1": {"axis": [0, 1, 0], "degrees": [-20, 40]}}}
SMALL = ("--jobs", "1", "--cells", "14")


@pytest.fixture(name="run")
def _run(run_here):
    folder = run_here.folder
    points, _, faces = make_bar((8, 2, 2))
    used, again = np.unique(faces, return_inverse=True)
    surface, triangles = points[used].astype(np.float32), again.reshape(-1, 3)
    save_sequence(MeshSequence(surface[None], triangles, surface), folder / "bar.obj")
    save_sequence(MeshSequence(surface[None], triangles[4:], surface), folder / "open.obj")
    save_sequence(MeshSequence(surface[None], triangles[:2], surface), folder / "sheet.obj")
    sticks = bar_skeleton()
    save_skeleton(sticks, folder / "bar.tgf")
    save_skeleton(StickSkeleton(sticks.joints + np.array([0, 3, 0]), sticks.bones, sticks.names), folder / "beside.tgf")
    save_skeleton(bar_skeleton(1), folder / "stiff.tgf")
    for name, value in {"bend": BEND, "limits": LIMITS, "still": {}, "other": {"rotate": {"elbow": 3}}}.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    return run_here


def test_poses_in_files(run):
    done = run("simulate", "bar.obj", "bar.tgf", "bend.json", "-o", "poses", *SMALL, "--json", "report.json")
    assert done.returncode == 0, done.stderr
    assert "tetrahedra (lattice)" in done.stdout
    assert "1 (1 train)" in done.stdout
    poses = load_pose_set(run.folder / "poses")
    assert poses.names == ("bend",)
    assert np.ptp(poses.frames[0][:, 2]) > 1.5  # it is bent
    report = json.loads((run.folder / "report.json").read_text())
    assert report["computed"] == report["poses"] == 1
    assert report["worst_imbalance"] <= 1e-4
    assert report["elements"] == "lattice"
    again = run("simulate", "bar.obj", "bar.tgf", "bend.json", "-o", "poses", *SMALL)
    assert "1 were there" in again.stdout
    changed = run("simulate", "bar.obj", "bar.tgf", "bend.json", "-o", "poses", *SMALL, "--poisson", "0.3")
    assert "were there" not in changed.stdout


def test_holes_are_closed_with_a_note_and_each_pose_is_a_line(run):
    done = run("simulate", "open.obj", "bar.tgf", "bend.json", "-o", "poses", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "note: the surface is open along 8 edges; 2 holes were closed" in done.stdout
    assert " per pose, 1 pose, 1 at a time: about " in done.stderr
    assert "  bend: " in done.stderr
    assert load_pose_set(run.folder / "poses").frames.shape[1] == 74
    quiet = run("simulate", "open.obj", "bar.tgf", "bend.json", "-o", "poses", *SMALL, "-q", "--elements", "quadratic")
    assert quiet.returncode == 0, quiet.stderr
    assert quiet.stderr == ""


def test_a_sweep_with_limits_and_a_guess(run):
    sweep = ("--sweep", "--each", "2", "--validate", "1")
    done = run("simulate", "bar.obj", "bar.tgf", "-o", "poses", "--limits", "limits.json", *sweep, *SMALL)
    assert done.returncode == 0, done.stderr
    poses = load_pose_set(run.folder / "poses")
    assert poses.names == ("joint1_-20", "joint1_+40", "random_01")
    assert poses.kinds == ("train", "train", "validate")
    np.testing.assert_allclose(poses.hinge_degrees()[:2, 1], [-20, 40])
    listed = run("simulate", "bar.obj", "bar.tgf", "-o", "more", "--limits", "poses/poses.json", *sweep, *SMALL, "-q")
    assert listed.returncode == 0, listed.stderr
    assert load_pose_set(run.folder / "more").names == poses.names
    guessed = run("simulate", "bar.obj", "bar.tgf", "-o", "guess", "--sweep", "--each", "1", "--validate", "0", *SMALL)
    assert "are a guess" in guessed.stdout
    both = tuple(f"joint1_bend{bend:+d}_sway{sway:+d}" for bend in (20, 40) for sway in (-40, 40))
    assert load_pose_set(run.folder / "guess").names == ("joint1_bend_+40", "joint1_sway_+40", *both)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bar.obj", "bar.tgf"), "no pose is named"),
        (("bar.obj", "bar.tgf", "still.json"), "pose 'still': moves no joint"),
        (("bar.obj", "bar.tgf", "other.json"), "there is no joint 'elbow'"),
        (("sheet.obj", "bar.tgf", "bend.json"), "sheet.obj: 'sheet': has no inside"),
        (("bar.obj", "beside.tgf", "bend.json"), "bone 'joint0-joint1' is outside the flesh"),
        (("bar.obj", "bar.tgf", "bend.json", "--elements", "tetrahedra"), "bar.obj: holds no tetrahedra"),
        (("bar.obj", "bar.tgf", "bend.json", "--validate", "3"), "--validate: needs --sweep"),
        (("bar.obj", "bar.tgf", "--sweep", "--kind", "train"), "--kind: applies to poses in files"),
        (("bar.obj", "bar.tgf", "--sweep", "--joints", "elbow"), "'elbow' has no limits"),
        (("bar.obj", "stiff.tgf", "--sweep"), "no joint of"),
        (("bar.obj", "bar.tgf", "bend.json", "--cells", "1"), "bar.obj: "),
        (("bar.obj", "bar.tgf", "bend.json", "--poisson", "0.6"), "--poisson"),
        (("none.obj", "bar.tgf", "bend.json"), "none.obj"),
    ],
)
def test_bad_input_is_one_line(run, arguments, said):
    done = run("simulate", *arguments, "-o", "poses")
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (run.folder / "poses").exists()


def test_other_folders_and_inputs_are_not_touched(run):
    folder = run.folder / "mine"
    folder.mkdir()
    (folder / "scan.obj").write_text("v 0 0 0\n")
    done = run("simulate", "bar.obj", "bar.tgf", "bend.json", "-o", "mine")
    assert done.returncode == 2
    assert "mine exists already" in done.stderr
    inside = run("simulate", "bar.obj", "bar.tgf", "bend.json", "-o", ".")
    assert inside.returncode == 2
    assert "one of the inputs" in inside.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["scan.obj"]


def test_ctrl_c_leaves_what_is_done_and_it_goes_on(run):
    sweep = ("--sweep", "--limits", "limits.json", "--each", "40", "--validate", "0", "-o", "poses", "--jobs", "2")
    command = [sys.executable, "-m", "osteon", "simulate", "bar.obj", "bar.tgf", *sweep, "--cells", "18"]
    hearing = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # tests may run in the background
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=run.folder, **pipes, **hearing) as child:
        listed = run.folder / "poses" / "poses.json"
        until = time.monotonic() + 300
        while time.monotonic() < until and child.poll() is None:
            if listed.is_file() and json.loads(listed.read_text())["poses"]:
                break
            time.sleep(0.02)
        os.kill(child.pid, signal.SIGINT)
        _, said = child.communicate(timeout=300)
    assert child.returncode == 130, said
    assert "of 40 poses are done; the same command continues" in said
    assert "stopped; written: poses" in said
    there = load_pose_set(run.folder / "poses").n_poses
    assert 0 < there < 40
    assert not [path for path in (run.folder / "poses").iterdir() if path.name.startswith(".")]
