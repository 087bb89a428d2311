"""`osteon eigenskin` as people use it, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from osteon.deform.eigenskin import EigenSkin
from osteon.deform.pose import pose_character, pose_frames
from osteon.io import load_model, load_sequence, save_model
from osteon.io.poses.pose_set import load_pose_set, save_pose_set
from osteon.pipeline.eigenskin import learn_eigenskin, poses_of_rig, rig_of_mesh

from ...eigenskin_arm import make_rig, pose_set


@pytest.fixture(scope="module")
def poses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arm") / "poses"
    save_pose_set(pose_set(make_rig()), folder)
    return folder


def test_learns_tells_and_poses(run, poses):
    done = run("eigenskin", poses / "rest.obj", poses, "-o", "arm.glb", "-o", "arm.npz", "--json", "found.json")
    assert done.returncode == 0, done.stderr
    for words in (
        "eigendisplacements",
        "eigennormals",
        "of the skin's error removed",
        "shading",
        "plays in",
        "arm.glb",
    ):
        assert words in done.stdout
    told = json.loads((run.folder / "found.json").read_text())
    assert told["input"]["validation_poses"] == 1
    assert told["quality"]["validation"]["removed_percent"]["mean"] > 80
    assert [row["joints"] for row in told["method"]["pairs"]] == [["elbow", "wrist"]]
    assert told["method"]["joints_never_moved"] == []
    shading, before = (told["quality"]["validation"][f"shading{of}_degrees"] for of in ("", "_skin"))
    assert shading["mean"] < 0.2 * before["mean"]
    assert shading["p95"] < 0.2 * before["p95"]
    assert told["quality"]["eigennormals"] == sum(
        row["normals"]["eigennormals"] for kind in ("joints", "pairs") for row in told["method"][kind]
    )
    errors = [rung["relative_error"] for rung in told["ladder"]]
    assert errors[0] == 1
    assert errors == sorted(errors, reverse=True)
    whole, baked = (load_model(run.folder / name) for name in ("arm.npz", "arm.glb"))
    assert isinstance(baked.character.displacement("eigenskin"), EigenSkin)
    assert np.abs(pose_frames(whole) - pose_frames(baked)).max() <= 1e-5 * whole.diagonal
    (run.folder / "bend.json").write_text('{"rotate": {"elbow": {"axis": [1, 0, 0], "degrees": 50}}}')
    assert run("pose", "arm.glb", "bend.json", "-o", "bent.obj", "-q").returncode == 0
    assert run("pose", "arm.glb", "bend.json", "-o", "bent.glb", "-q").returncode == 0
    posed, model = load_sequence(run.folder / "bent.obj").frames[0], load_model(run.folder / "bent.glb")
    assert np.abs(posed - pose_frames(model)[0]).max() <= 1e-5 * model.diagonal
    plain = pose_character(model.with_mesh(name="plain").character, model.track.transforms)
    assert np.abs(plain[0] - posed).max() <= 1e-5 * model.diagonal


def test_eigennormals_that_nobody_would_see_are_refused(run, poses):
    given = ("eigenskin", poses / "rest.obj", poses, "-o", "arm.glb", "-q")
    done = run(*given, "--eigennormals", "2", "--no-normals")
    assert done.returncode == 2
    assert "--no-normals writes positions only" in done.stderr
    assert run(*given, "--no-normals").returncode == 0
    found = load_model(run.folder / "arm.glb").character.displacement("eigenskin")
    assert isinstance(found, EigenSkin)
    assert found.normal_basis is None


def test_an_engine_without_room_is_told_and_gets_positions(run, poses):
    done = run("eigenskin", poses / "rest.obj", poses, "-o", "arm.glb", "--for", "cesium", "--json", "found.json")
    assert done.returncode == 0, done.stderr
    warnings = json.loads((run.folder / "found.json").read_text())["warnings"]
    assert any("they correct positions only" in line for line in warnings)
    found = load_model(run.folder / "arm.glb").character.displacement("eigenskin")
    assert isinstance(found, EigenSkin)
    assert (found.n_normals, found.normal_basis) == (0, None)


def test_the_paper_preset_says_that_it_has_no_pairs(run, poses):
    done = run("eigenskin", poses / "rest.obj", poses, "--preset", "paper", "-o", "arm.npz", "-q", "--json", "-")
    method = json.loads(done.stdout)["method"]
    assert (method["options"]["per_pair"], method["options"]["support"], method["pairs"]) == (0, 0.04, [])


def test_a_rig_with_weights_of_its_own(run, poses):
    """Also one that holds vertices twice, in another order."""
    known = load_pose_set(poses)
    from osteon.fit.eigenskin.options import EigenSkinOptions

    rig = rig_of_mesh(known.mesh, known.skeleton, EigenSkinOptions())
    save_model(rig, run.folder / "rig.glb")
    done = run("eigenskin", "rig.glb", poses, "-o", "own.glb", "-q", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["quality"]["validation"]["removed_percent"]["mean"] > 80
    done = run("eigenskin", "rig.glb", poses, "-o", "own.npz", "--weights", "harmonic")
    assert done.returncode == 2
    assert "the rig has its own weights" in done.stderr
    order = np.r_[np.arange(known.mesh.n_vertices)[::-1], 5]
    twice = rig.with_mesh(name="twice")
    from osteon.core.character import Character
    from osteon.core.mesh import Mesh

    mesh = Mesh(known.mesh.rest[order], (known.mesh.n_vertices - 1 - known.mesh.faces).astype(np.int32), name="twice")
    character = Character(mesh, twice.deformer.take(order.astype(np.int32)), (), rig.skeleton)
    found = poses_of_rig(character, known, [0, 3])
    assert np.array_equal(found.frames, known.frames[[0, 3]][:, order])


def test_options_of_learning_have_an_effect(poses):
    from osteon.fit.eigenskin.options import EigenSkinOptions

    known = load_pose_set(poses)

    def removed(**options) -> float:
        wanted = EigenSkinOptions(**options)
        learned = learn_eigenskin(rig_of_mesh(known.mesh, known.skeleton, wanted), known, options=wanted)
        assert learned.validation is not None
        return float(learned.validation.corrected[0])

    usual = removed()
    for options in ({"per_joint": 1}, {"per_pair": 0}, {"support": 0.2}, {"refit_weights": True}, {"basis_bits": 8}):
        assert removed(**options) != usual, options
    assert removed(weights="harmonic") != usual
    assert removed(influences=2) != usual


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("-o", "x.obj"), 2, "a character is written as a model"),
        (("-o", "x.glb", "--basis-bits", "8"), 2, "only .npz holds them"),
        (("-o", "x.glb", "--total", "3", "--max-error", "5"), 2, "--max-error finds the number"),
        (("-o", "x.glb", "--preset", "paper", "--per-pair", "2"), 2, "the paper has no pairs"),
        (("-o", "x.npz", "--quantize"), 2, "--quantize"),
        (("-o", "x.npz", "--max-error", "0.001", "--support", "30"), 1, "lower --support"),
    ],
)
def test_refuses_in_one_line(run, poses, arguments, code, says):
    done = run("eigenskin", poses / "rest.obj", poses, *arguments)
    assert done.returncode == code
    assert says in done.stderr
    said = [line for line in done.stderr.splitlines() if not re.match(r" *[\d.]+ s  ", line)]  # progress of long work
    assert len(said) <= 3
    assert "Traceback" not in done.stderr


def test_a_joint_that_never_moves_is_told(run, poses, tmp_path):
    import shutil

    folder = tmp_path / "still wrist"
    shutil.copytree(poses, folder)
    told = json.loads((folder / "poses.json").read_text())
    told["poses"] = [pose for pose in told["poses"] if "wrist" not in pose["rotate"]]
    assert len(told["poses"]) == 5
    (folder / "poses.json").write_text(json.dumps(told))
    done = run("eigenskin", poses / "rest.obj", folder, "-o", "arm.npz")
    assert done.returncode == 0, done.stderr
    assert "never moved: wrist" in done.stdout


def test_poses_of_other_meshes_and_joints_are_named(run, poses, tmp_path):
    import shutil

    def spoiled(name, change):
        folder = tmp_path / name
        shutil.copytree(poses, folder)
        told = json.loads((folder / "poses.json").read_text())
        change(told, folder)
        (folder / "poses.json").write_text(json.dumps(told))
        done = run("eigenskin", poses / "rest.obj", folder, "-o", "never.glb")
        assert done.returncode == 2
        assert not (run.folder / "never.glb").exists()
        return done.stderr

    def other_vertices(told, folder):
        (folder / told["poses"][2]["file"]).write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")

    def equal(told, folder):
        told["poses"][1]["rotate"] = told["poses"][0]["rotate"]

    def still(told, folder):
        for pose in told["poses"]:
            pose["rotate"] = {}

    def unknown(told, folder):
        told["poses"][1]["rotate"] = {"knee": {"axis": [1, 0, 0], "degrees": 5}}

    def missing(told, folder):
        del told["poses"][1]["rotate"]

    def not_a_number(told, folder):
        path = folder / told["poses"][3]["file"]
        first, rest = path.read_text().split("\nv ", 1)
        path.write_text(f"{first}\nv nan {rest.split(' ', 1)[1]}")

    assert "pose2" in spoiled("vertices", other_vertices)
    assert "its joints are rotated as in pose" in spoiled("equal", equal)
    assert "no joint rotates" in spoiled("still", still)
    assert "knee" in spoiled("unknown", unknown)
    assert "pose3" in spoiled("nan", not_a_number)
    assert "no joint is rotated, but its mesh is not at rest" in spoiled("missing", missing)
