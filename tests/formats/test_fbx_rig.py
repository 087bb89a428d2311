"""FBX as a rig and as clips without a mesh, as Mixamo exports them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.deform.pose import pose_frames
from osteon.io import load_model, load_sequence
from osteon.io.load.rig_files import (
    describe_clips_only,
    holds_clips_only,
    keeps_rig,
    open_character,
    play_on_rig,
    save_clips_on_rig,
    save_on_rig,
)
from osteon.pipeline.rig import on_rig_vertices
from osteon.pipeline.skin import skin_sequence

from ..tolerance import assert_near
from .kept_character import read_glb
from .test_fbx import BAR, Bar, posed, write_bar


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    return write_bar(tmp_path / "bar.fbx")


@pytest.mark.parametrize("up", [1, 2])
def test_a_character_plays_as_its_sequence_does(tmp_path, up):
    path = write_bar(tmp_path / "bar.fbx", Bar(up=up))
    character, sequence = open_character(path), load_sequence(path)
    model = character.model
    assert model.track.names == ("bone0", "bone1")
    assert model.skeleton.parents.tolist() == [-1, 0]
    same, _ = on_rig_vertices(sequence, model)
    assert same.n_vertices == model.n_vertices
    assert_near(pose_frames(model), same.frames, 1e-5)


def test_frames_are_skinned_on_it(rig, tmp_path):
    """The output is glTF with the nodes, names and materials of the FBX."""
    character, sequence = open_character(rig), load_sequence(rig)
    frames, _ = on_rig_vertices(sequence.take_frames(np.arange(0, 25, 5, dtype=np.int32)), character.model)
    fit = skin_sequence(frames, rig=character.model, limits=character.limits())
    out = tmp_path / "out.glb"
    assert keeps_rig(character, fit.model, out)
    save_on_rig(fit.model, character, out)
    root, _ = read_glb(out)
    assert [node.get("name") for node in root["nodes"]] == ["RootNode", "bar", "bone0", "bone1"]
    assert [material["name"] for material in root["materials"]] == ["paint0", "paint1"]
    model = load_model(out)
    assert [clip.name for clip in model.clips] == ["Take 001", "taken"]
    assert_near(pose_frames(model)[-5:], frames.frames, 1e-3)


def test_clips_without_a_mesh(rig, tmp_path):
    clip = write_bar(tmp_path / "bend.fbx", Bar(mesh=False))
    assert holds_clips_only(clip)
    assert not holds_clips_only(rig)
    facts = describe_clips_only(clip)
    assert facts.joints == ("bone1",)
    assert [(c.name, c.n_frames) for c in facts.clips] == [("Take 001", 25)]
    played = play_on_rig(rig, [clip])
    assert played is not None
    assert played.model.clips[0].name == "bend"
    corners = pose_frames(played.model)
    place = np.abs(played.model.rest[:, None] - BAR[None]).sum(axis=2).argmin(axis=1)
    assert_near(corners[-1], posed(90.0)[place], 1e-5)


def test_on_a_character_in_gltf(rig, tmp_path):
    """A clip of a body in centimetres on one in metres."""
    character = open_character(rig)
    frames, _ = on_rig_vertices(load_sequence(rig), character.model)
    save_on_rig(skin_sequence(frames, rig=character.model).model, character, tmp_path / "hero.glb")
    clip = write_bar(tmp_path / "bend.fbx", Bar(mesh=False, length=100.0))
    played = play_on_rig(tmp_path / "hero.glb", [clip])
    assert played is not None
    assert [(m.n_matched, m.n_joints) for m in played.matched] == [(1, 1)]
    save_clips_on_rig(played, tmp_path / "out.glb")
    made = load_model(tmp_path / "out.glb")
    assert [c.name for c in made.clips] == ["Take 001", "bend"]
    assert_near(pose_frames(made)[-1], pose_frames(made)[24], 1e-5)


def test_vertices_without_a_bone_stay_with_their_mesh(tmp_path, monkeypatch):
    from . import test_fbx

    free = {bone: {v: w for v, w in weights.items() if v != 0} for bone, weights in test_fbx.WEIGHTS.items()}
    monkeypatch.setattr(test_fbx, "WEIGHTS", free)
    path = write_bar(tmp_path / "bar.fbx")
    character, sequence = open_character(path), load_sequence(path)
    assert character.model.track.names[-1] == "bar_unweighted"
    same, _ = on_rig_vertices(sequence, character.model)
    assert_near(pose_frames(character.model), same.frames, 1e-5)
