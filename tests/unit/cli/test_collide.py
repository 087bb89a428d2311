"""`osteon collide`: frames, triangles and depth of interpenetration, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.core.model import SkinnedModel
from osteon.io import save_model
from osteon.synth.shapes import make_ball
from tests.subjects import bent_tube


def moved(model: SkinnedModel, shifts: np.ndarray) -> SkinnedModel:
    """The model with every frame shifted (f,3)."""
    transforms = np.repeat(model.animation.transforms[:1], len(shifts), axis=0)
    transforms[..., 3] += shifts[:, None].astype(np.float32)
    return model.with_animation(track=BoneTrack(transforms, model.track.bone_type, model.track.names), clips=())


@pytest.fixture(scope="module", name="files")
def _files(tmp_path_factory) -> dict[str, Path]:
    """A tube that stands still, one that passes through it in the middle frames, one elsewhere, and a mesh."""
    folder = tmp_path_factory.mktemp("collide")
    tube = bent_tube(2).model
    away = np.zeros((5, 3))
    away[:, 1] = [1.0, 0.25, 0.1, 0.25, 1.0]
    save_model(moved(tube, np.zeros((1, 3))), folder / "still.npz")
    save_model(moved(tube, away), folder / "passing.npz")
    save_model(moved(tube, away[:2]), folder / "short.npz")
    save_model(moved(tube, away + 9.0), folder / "far.npz")
    ball = make_ball(20)
    np.savez(folder / "ball.npz", frames=ball.vertices[None], faces=ball.faces)
    return {path.name: path for path in folder.iterdir()}


def test_frames_triangles_and_depth(run_here, files) -> None:
    done = run_here("collide", files["passing.npz"], files["still.npz"], "--json", "a.json")
    assert done.returncode == 0, done.stderr
    assert "3 of 5 frames: 1-3" in done.stdout
    facts = json.loads((run_here.folder / "a.json").read_text())
    assert [frame["frame"] for frame in facts["frames"]] == [1, 2, 3]
    depths = [frame["depth"] for frame in facts["frames"]]
    # Tubes of radius 0.15 side by side: a corner of one is on the axis of the other where their distance is the radius.
    assert depths[0] == pytest.approx(depths[2])
    assert 0.01 < depths[0] < 0.06
    assert 0.08 < depths[1] < 0.16
    assert facts["worst"]["frame"] == 2
    assert all(frame["triangles"] and frame["other_triangles"] for frame in facts["frames"])


def test_the_report_is_a_page(run_here, files) -> None:
    done = run_here("collide", files["passing.npz"], files["still.npz"], "--report", "a.html")
    assert done.returncode == 0, done.stderr
    assert "3 of 5 frames" in (run_here.folder / "a.html").read_text()
    assert run_here("collide", files["still.npz"], "--report", "a.txt").returncode == 2
    assert not (run_here.folder / "a.txt").exists()


def test_nothing_interpenetrates(run_here, files) -> None:
    done = run_here("collide", files["far.npz"], files["still.npz"], "--max-depth", "0")
    assert done.returncode == 0, done.stderr
    assert "no frame" in done.stdout
    assert run_here("collide", files["still.npz"], "--max-depth", "0").returncode == 0


def test_a_bound_of_the_depth(run_here, files) -> None:
    done = run_here("collide", files["passing.npz"], files["still.npz"], "--max-depth", "1")
    assert done.returncode == 1
    assert "frame 2: depth" in done.stderr
    assert "allowed 1 %" in done.stderr
    assert run_here("collide", files["passing.npz"], files["still.npz"], "--max-depth", "50").returncode == 0
    only = ("--frames", "0,4", "--max-depth", "0")
    assert run_here("collide", files["passing.npz"], files["still.npz"], *only).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("passing.npz", "short.npz"), "has frames 0 … 1, got 4"),
        (("passing.npz", "still.npz", "--frames", "7"), "beyond the 5 frames"),
        (("ball.npz",), "is not a skinned model, it has no bones"),
        (("passing.npz", "ball.npz"), "is not a skinned model, it has no bones"),
        (("passing.npz", "--max-depth", "-1"), "--max-depth"),
        (("missing.glb",), "there is no such file"),
    ],
)
def test_refused_in_one_line_and_nothing_written(run_here, files, arguments, words) -> None:
    named = [files.get(word, word) for word in arguments]
    done = run_here("collide", *named, "--json", "report.json")
    assert done.returncode == 2
    assert words in done.stderr
    assert not (run_here.folder / "report.json").exists()
