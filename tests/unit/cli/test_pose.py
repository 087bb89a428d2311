"""`osteon pose`: a mesh, a skeleton and poses in, posed meshes out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.core.sticks import StickSkeleton
from osteon.io import load_sequence, save_sequence
from osteon.io.skeletons import save_skeleton
from osteon.simplex.poser import Poser
from osteon.synth.baked import bake_cylinder
from osteon.synth.shapes import make_tube
from tests.tolerance import assert_same_points

TUBE = make_tube(10, 24, 0.15, 2.0)
ARM = StickSkeleton(
    np.array([[0.1, 0, 0], [1.0, 0, 0], [1.9, 0, 0]]), np.array([[0, 1], [1, 2]]), ("shoulder", "elbow", "hand")
)
BEND = {"rotate": {"elbow": {"axis": [0, 0, 1], "degrees": 50}}}


@pytest.fixture(name="run")
def _run(run_here):
    return run_here


@pytest.fixture(name="files")
def _files(run) -> dict[str, str]:
    folder: Path = run.folder
    save_sequence(MeshSequence(TUBE.vertices[None], TUBE.faces, TUBE.vertices), folder / "tube.obj")
    save_skeleton(ARM, folder / "arm.skel")
    (folder / "bend.json").write_text(json.dumps(BEND))
    (folder / "many.json").write_text(json.dumps({"fps": 12, "poses": [{}, BEND, {"translate": [0, 1, 0]}]}))
    moved = StickSkeleton(ARM.joints + np.array([[0, 0, 0], [0, 0, 0], [-0.9, 0.9, 0]]), ARM.bones, ARM.names)
    save_skeleton(moved, folder / "moved.skel")
    return {"mesh": "tube.obj", "skeleton": "arm.skel"}


def test_the_kind_of_twist(run, files):
    (run.folder / "twist.json").write_text(json.dumps({"bones": {"shoulder-elbow": {"twist": 180}}}))
    frames = {}
    for kind in ("rotate", "section"):
        done = run("pose", "tube.obj", "arm.skel", "twist.json", "--twist", kind, "-o", f"{kind}.obj")
        assert done.returncode == 0, done.stderr
        frames[kind] = load_sequence(run.folder / f"{kind}.obj").rest
    middle = np.abs(TUBE.vertices[:, 0] - 0.55) < 0.1
    narrow, kept = (np.linalg.norm(frames[kind][middle, 1:], axis=1).mean() for kind in ("rotate", "section"))
    assert kept == pytest.approx(0.15, rel=0.01)
    assert narrow < 0.97 * kept
    for flags, says in (
        (("bend.json", "--twist", "section"), "--twist: no pose twists"),
        (("twist.json", "--twist", "section", "--method", "ssd"), "--twist: applies to the simplex method"),
        (("twist.json", "--twist", "shear"), "--twist"),
    ):
        refused = run("pose", "tube.obj", "arm.skel", *flags, "-o", "no.obj")
        assert refused.returncode == 2
        assert says in refused.stderr
        assert not (run.folder / "no.obj").exists()


def test_one_pose_is_what_the_library_gives(run, files):
    from osteon.io.poses import load_poses

    done = run("pose", "tube.obj", "arm.skel", "bend.json", "-o", "bent.obj", "--json", "report.json")
    assert done.returncode == 0, done.stderr
    rest = load_sequence(run.folder / "tube.obj")
    track = load_poses([run.folder / "bend.json"], ARM)
    expected = Poser.of(rest.rest.astype(np.float64), rest.faces, ARM).pose(track)
    assert_same_points(load_sequence(run.folder / "bent.obj").frames, expected.astype(np.float32))
    report = json.loads((run.folder / "report.json").read_text())
    assert report.keys() >= {
        "mesh",
        "skeleton",
        "segments",
        "exceptions",
        "method",
        "poses",
        "worst",
        "seconds",
        "output",
    }
    assert report["worst"]["flipped"] == 0
    assert sum(segment["triangles"] for segment in report["segments"].values()) == len(TUBE.faces)
    assert report["seconds"].keys() >= {"tree", "segmentation", "cholesky", "poses", "total"}


def test_a_moved_skeleton_is_a_pose(run, files):
    done = run("pose", "tube.obj", "arm.skel", "moved.skel", "-o", "bent.ply", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    posed = load_sequence(run.folder / "bent.ply").frames[0]
    assert posed[:, 1].max() > 0.7


def test_poses_become_a_sequence_that_can_be_skinned(run, files):
    done = run("pose", "tube.obj", "arm.skel", "many.json", "bend.json", "-o", "all.npz", "-q")
    assert done.returncode == 0, done.stderr
    sequence = load_sequence(run.folder / "all.npz")
    assert [(clip.n_frames, clip.fps) for clip in sequence.clips] == [(3, 12.0), (1, 24.0)]
    assert_same_points(sequence.frames[0], sequence.rest)
    assert_same_points(sequence.frames[1], sequence.frames[3])
    done = run("skin", "all.npz", "--bones", "2", "-o", "arm.glb", "-q")
    assert done.returncode == 0, done.stderr


def test_methods_differ_and_the_picture_shows_both(run, files):
    for method in ("simplex", "ssd"):
        done = run("pose", "tube.obj", "arm.skel", "bend.json", "-o", f"{method}.obj", "--method", method, "-q")
        assert done.returncode == 0, done.stderr
    one, other = (load_sequence(run.folder / f"{m}.obj").frames for m in ("simplex", "ssd"))
    assert np.abs(one - other).max() > 0.01
    more = ("--picture", "p.png", "--segments", "s.npy")
    done = run("pose", "tube.obj", "arm.skel", "many.json", "-o", "out/", "--frame", "1", *more)
    assert done.returncode == 0, done.stderr
    assert (run.folder / "p.png").read_bytes().startswith(b"\x89PNG")
    assert set(np.load(run.folder / "s.npy")) == {0, 1}
    assert len(list((run.folder / "out").iterdir())) == 3


def test_lines_and_pins_without_a_skeleton(run, files):
    pose = {
        "lines": [{"name": "end", "rest": [[1.2, 0, 0], [1.9, 0, 0]], "posed": [[1.2, 0.3, 0], [1.9, 0.3, 0]]}],
        "pins": {"0": [float(x) for x in TUBE.vertices[0]]},
    }
    (run.folder / "lines.json").write_text(json.dumps(pose))
    done = run("pose", "tube.obj", "none", "lines.json", "-o", "lifted.obj", "--json", "-")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["lines"]["end"] > 0
    posed = load_sequence(run.folder / "lifted.obj").frames[0]
    assert np.abs(posed[0] - TUBE.vertices[0]).max() < 1e-5
    assert posed[TUBE.vertices[:, 0] > 1.6, 1].mean() > 0.15


def test_a_model_is_posed_in_its_rest_pose(run, files):
    from osteon.io import save_model

    model = bake_cylinder(2).model
    save_model(model, run.folder / "tube.glb")
    low, high = model.rest.min(axis=0), model.rest.max(axis=0)
    middle = (low + high) / 2
    axis = int(np.argmax(high - low))
    ends = np.tile(middle, (2, 1))
    ends[:, axis] = low[axis], high[axis]
    save_skeleton(StickSkeleton(ends.astype(float), np.array([[0, 1]])), run.folder / "one.json")
    done = run("pose", "tube.glb", "one.json", "one.json", "-o", "same.npz", "-q")
    assert done.returncode == 0, done.stderr
    assert_same_points(load_sequence(run.folder / "same.npz").frames[0], model.rest)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("tube.obj", "arm.skel", "missing.json", "-o", "x.obj"), "missing.json"),
        (("tube.obj", "missing.skel", "bend.json", "-o", "x.obj"), "missing.skel"),
        (("missing.obj", "arm.skel", "bend.json", "-o", "x.obj"), "missing.obj"),
        (("tube.obj", "arm.skel", "bend.json", "-o", "tube.obj"), "one of the inputs"),
        (("tube.obj", "arm.skel", "many.json", "-o", "x.obj"), "several frames"),
        (("tube.obj", "arm.skel", "bend.json", "-o", "x.glb"), "x.glb"),
        (("tube.obj", "arm.skel", "bend.json", "-o", "x.obj", "--frame", "3"), "--frame"),
        (("tube.obj", "arm.skel", "bend.json", "-o", "x.obj", "--picture", "p.jpg"), ".png"),
        (("tube.obj", "none", "bend.json", "-o", "x.obj"), "none is given"),
        (("tube.obj", "arm.skel", "bend.json", "-o", "x.obj", "--dimension", "2"), "differ in z"),
        (("tube.obj", "arm.skel", "bend.json", "-o", "x.obj", "--follow", "-1"), "follow"),
        (("tube.obj", "none", "bend.json", "-o", "x.obj", "--method", "ssd"), "none is given"),
        (("tube.obj", "tube.obj", "bend.json", "-o", "x.obj"), "the skeleton comes second"),
        (("arm.skel", "tube.obj", "bend.json", "-o", "x.obj"), "the mesh comes first"),
        (("tube.obj", "bend.json", "arm.skel", "-o", "x.obj"), "bend.json: holds poses"),
        (("tube.obj", "arm.skel", "bend.json", "-o", "x.obj", "--clip", "Walk"), "no clips"),
        (("tube.obj", "arm.skel", "bend.json", "-o", "x.obj", "--json", "x.obj"), "written by -o"),
        (("tube.obj", "arm.skel", "bend.json", "-o", "x.obj", "--json", "tube.obj/r.json"), "not a folder"),
        (("tube.obj", "none", "bend.json", "-o", "x.obj", "--picture", "p.png"), "--picture"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(run, files, arguments, told):
    before = sorted(path.name for path in run.folder.iterdir())
    done = run("pose", *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert sorted(path.name for path in run.folder.iterdir()) == before


@pytest.mark.parametrize(
    ("scale", "shift", "told"),
    [
        (100.0, 0.0, "other units: its joints extend over 180"),
        (0.01, 0.0, "other units"),
        (1.0, 5.0, "is beside the mesh: 3 of 3 joints"),
        (1.6, 0.0, "joints far outside the mesh: hand"),
        (1.0, 0.0, None),
    ],
)
def test_a_skeleton_of_another_mesh_is_noted(run, files, scale, shift, told):
    moved = StickSkeleton(scale * ARM.joints + np.array([0, shift, 0]), ARM.bones, ARM.names)
    save_skeleton(moved, run.folder / "moved.skel")
    done = run("pose", "tube.obj", "moved.skel", "bend.json", "-o", "x.obj")
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stdout.splitlines() if line.startswith("note: moved.skel")]
    assert len(notes) == (told is not None)
    assert told is None or told in notes[0]


def test_many_notes_of_one_kind_are_gathered():
    from osteon.cli.pose import _gathered

    notes = [f"bone {b} controls no triangle" for b in range(9)]
    assert _gathered([*notes, "else"]) == [*notes[:3], "… and 6 more like these; --json lists all", "else"]
    assert _gathered(notes[:4]) == notes[:4]


def test_a_pose_of_another_skeleton_is_refused(run, files):
    other = StickSkeleton(np.eye(3), np.array([[0, 1], [1, 2]]), ("a", "b", "c"))
    save_skeleton(other, run.folder / "other.skel")
    done = run("pose", "tube.obj", "arm.skel", "other.skel", "-o", "x.obj")
    assert done.returncode == 2
    assert "other.skel" in done.stderr


def test_info_tells_what_a_skeleton_holds(run, files):
    done = run("info", "arm.skel", "--json", "-")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["joints"], facts["bones"], facts["root"]) == (3, 2, "shoulder")
    assert facts["free_ends"] == ["shoulder", "hand"]
    assert "elbow" in run("info", "arm.skel").stdout
    (run.folder / "bad.tgf").write_text("1 0 0 0")
    done = run("info", "bad.tgf")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_flags_have_the_defaults_of_the_library():
    from osteon.cli.option_flags import FlagGroup, read_options
    from osteon.cli.pose import pose
    from osteon.simplex.poser import PoserOptions

    called = pose.make_context("pose", ["mesh.obj", "sticks.skel", "pose.json", "-o", "out.obj"])
    assert read_options(called, {"options": FlagGroup(PoserOptions)}) == {"options": PoserOptions()}
    shown = {".".join(of.path): str(of.default) for of in FlagGroup(PoserOptions).fields() if of.kind.base is not bool}
    assert shown == {name: str(called.params[f"options.{name}"]) for name in shown}
