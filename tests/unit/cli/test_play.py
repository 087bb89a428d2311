"""`osteon play`: models back to vertices."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.character import Corrections
from osteon.core.errors import OptionError
from osteon.core.mesh import Asset, Material
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames
from osteon.io import load_sequence, save_model
from osteon.io.load.clips import parse_frames
from osteon.synth.baked import bake_cylinder
from tests.tolerance import assert_same_points


@pytest.fixture(scope="module", name="model")
def _model() -> SkinnedModel:
    """A bending tube with two clips and corrections."""
    baked = bake_cylinder(2).model
    rng = np.random.default_rng(0)
    bases = 0.01 * rng.normal(size=(3, baked.n_vertices, 3))
    corrections = Corrections(bases, rng.normal(size=(baked.n_frames, 3)))
    clips = (Clip("bend", 0, 4, 24.0), Clip("stretch", 4, baked.n_frames, 30.0))
    asset = Asset(materials=(Material("[/red] \x1b[31m"),), triangle_material=np.zeros(len(baked.faces), int))
    return (
        baked.with_corrections(None)
        .with_mesh(asset=asset, name="tube")
        .with_animation(clips=clips)
        .with_corrections(corrections)
    )


@pytest.fixture(scope="module", name="files")
def _files(model, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    for suffix in ("npz", "glb", "gltf"):
        save_model(model, folder / f"tube.{suffix}")
    return {suffix: folder / f"tube.{suffix}" for suffix in ("npz", "glb", "gltf")}


@pytest.mark.parametrize("suffix", ["npz", "glb", "gltf"])
def test_every_format_plays_the_same(run, model, files, suffix):
    done = run("play", files[suffix], "-o", "frames/", "--json", "report.json")
    assert done.returncode == 0, done.stderr
    assert "bend (4 frames at 24 fps)" in done.stdout
    assert_same_points(load_sequence(run.folder / "frames").frames, pose_frames(model))
    report = json.loads((run.folder / "report.json").read_text())
    assert report.keys() >= {"frames", "vertices", "clips", "rank", "diagonal", "seconds"}
    assert (report["frames"], report["vertices"], report["rank"]) == (model.n_frames, model.n_vertices, 3)
    assert [clip["name"] for clip in report["clips"]] == ["bend", "stretch"]


def test_all_in_one_file(run, model, files):
    done = run("play", files["glb"], "-o", "tube.npz", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    sequence = load_sequence(run.folder / "tube.npz")
    assert_same_points(sequence.frames, pose_frames(model))
    assert sequence.clips == model.clips
    assert sequence.asset.materials == model.asset.materials


def test_some_clips_frames_and_corrections(run, model, files):
    done = run("play", files["npz"], "-o", "out/tube_##.ply", "--clip", "stretch", "--frames", "1:3,-1", "--rank", "1")
    assert done.returncode == 0, done.stderr
    expected = pose_frames(model.truncate(1))[[5, 6, model.n_frames - 1]]
    assert_same_points(load_sequence(run.folder / "out").frames, expected)
    assert {p.name for p in (run.folder / "out").iterdir()} == {"tube_00.ply", "tube_01.ply", "tube_02.ply"}


def test_frames_of_both_clips_stay_two_clips(run, files):
    assert run("play", files["npz"], "-o", "a.npz", "--frames", "3:6", "-q").returncode == 0
    clips = load_sequence(run.folder / "a.npz").clips
    assert clips == (Clip("bend", 0, 1, 24.0), Clip("stretch", 1, 3, 30.0))


def test_one_frame_to_one_mesh_and_json_alone(run, model, files):
    done = run("play", files["glb"], "-o", "one.obj", "--frames", "2", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["frames"] == 1
    assert_same_points(load_sequence(run.folder / "one.obj").frames[0], pose_frames(model)[2])


def test_a_folder_of_ply(run, files):
    assert run("play", files["npz"], "-o", "f", "--format", "ply", "--frames", "0,1", "-q").returncode == 0
    assert sorted(p.name for p in (run.folder / "f").iterdir()) == ["frame_0000.ply", "frame_0001.ply"]


@pytest.mark.parametrize("suffix", ["npz", "glb"])
def test_info_of_a_model_shows_names_as_they_are(run, model, files, suffix):
    done = run("info", files[suffix])
    assert done.returncode == 0, done.stderr
    assert "[/red]" in done.stdout
    assert "\x1b" not in done.stdout
    facts = json.loads(run("info", files[suffix], "--json", "-").stdout)
    assert (facts["kind"], facts["rank"], facts["bones"]) == ("model", 3, model.n_bones)
    assert facts["diagonal"] == pytest.approx(np.linalg.norm(np.ptp(model.rest, axis=0)), rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-o", "out", "--clip", "walk"), "'walk'"),
        (("-o", "out", "--frames", "0:9999"), "beyond"),
        (("-o", "out", "--frames", "9999"), "beyond"),
        (("-o", "out", "--frames", "3:3"), "no frame"),
        (("-o", "out", "--frames", "a"), "--frames"),
        (("-o", "out", "--rank", "4"), "3 corrections"),
        (("-o", "out", "--format", "stl"), "stl"),
        (("-o", "out.fbx",), "out.fbx"),
        (("-o", "out.obj"), "several frames"),
        (("-o", "out", "--fps", "10"), "--fps"),
        (("-o", "out", "--fps", "-1"), "fps"),
    ],
)  # fmt: skip
def test_refusals(run, files, arguments, says):
    done = run("play", files["npz"], *arguments)
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert says in done.stderr
    assert list(run.folder.iterdir()) == []


def test_files_that_are_no_models(run, files, tube_npz, tmp_path):
    (tmp_path / "cut.glb").write_bytes(files["glb"].read_bytes()[:1000])
    (tmp_path / "a.obj").write_text("v 0 0 0\n")
    for path, says in (
        (tube_npz, "skinned model"),
        (tmp_path / "cut.glb", "truncated"),
        (tmp_path / "a.obj", ".npz"),
        (tmp_path / "missing.glb", "no such file"),
        (tmp_path, "folder"),
    ):
        done = run("play", path, "-o", "out")
        assert done.returncode == 2, done.stdout
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert says in done.stderr
        assert list(run.folder.iterdir()) == []


def test_the_model_itself_is_no_output(run, files):
    before = files["npz"].read_bytes()
    done = run("play", files["npz"], "-o", files["npz"])
    assert done.returncode == 2
    assert "one of the inputs" in done.stderr
    assert files["npz"].read_bytes() == before


def test_help(run):
    done = run("play", "--help")
    assert done.returncode == 0
    assert "--rank" in done.stdout
    assert "play" in run("--help").stdout


def test_lists_of_frames():
    assert parse_frames("2:5", 9) == [2, 3, 4]
    assert parse_frames(":2, 7,-1", 9) == [0, 1, 7, 8]
    assert parse_frames("::4", 9) == [0, 4, 8]
    assert parse_frames("5:2:-1", 9) == [5, 4, 3]
    assert parse_frames("-2:", 9) == [7, 8]
    for bad in ("", ",", "1:2:3:4", "1.5", "0:2:0", "9", "-10", "0:10", "x:y"):
        with pytest.raises(OptionError, match="--frames"):
            parse_frames(bad, 9)
