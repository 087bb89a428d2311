"""glTF without a mesh: clips of joints, played on a character that has joints of the same names."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.core.character import Skeleton
from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames
from osteon.io import LoadOptions, load_model, load_sequence, save_model
from osteon.io.formats.options import ClipOptions
from osteon.io.load.rig_files import describe_clips_only, holds_clips_only, play_on_rig

from ..subjects import bent_tube
from ..tolerance import assert_same_points

NAMES = ("hip", "knee", "foot")


def character(n_frames: int = 10) -> SkinnedModel:
    """A tube of three rigid joints in a row."""
    places = np.tile(np.eye(3, 4), (3, 1, 1))
    places[:, 0, 3] = [0.0, 0.6, 1.2]
    model = bent_tube(3, n_frames).model
    track = BoneTrack(model.track.transforms, "rigid", NAMES)
    return model.with_character(skeleton=Skeleton(NAMES, np.array([-1, 0, 1]), places)).with_animation(track=track)


def read_glb(path: Path) -> tuple[dict, bytes]:
    data = path.read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    return json.loads(data[20 : 20 + length]), data[28 + length :]


def write_glb(path: Path, root: dict, blob: bytes) -> Path:
    text = json.dumps(root).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(blob), 0x004E4942) + blob
    path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body)
    return path


def clips_of(source: Path, path: Path, rename: dict[str, str] | None = None, prefix: str = "") -> Path:
    """The file of a character as a clip library has it: joints and animations only, written by another program."""
    root, blob = read_glb(source)
    root["asset"] = {"version": "2.0", "generator": "another"}
    for key in ("meshes", "skins", "materials"):
        root.pop(key, None)
    for node in root["nodes"]:
        node.pop("mesh", None)
        node.pop("skin", None)
        node["name"] = prefix + (rename or {}).get(node["name"], node["name"])
    return write_glb(path, root, blob)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A character with its clip, a still one, and the clip alone."""
    whole, still, run = (tmp_path / name for name in ("whole.glb", "still.glb", "run.glb"))
    model = character()
    save_model(model, whole)
    first = replace(model.track, transforms=model.track.transforms[:1])
    save_model(model.with_animation(track=first, clips=()), still)
    return {"whole": whole, "still": still, "run": clips_of(whole, run)}


def test_a_clip_moves_the_character_as_its_own_does(files, tmp_path):
    expected = load_model(files["whole"])
    decorated = clips_of(files["whole"], tmp_path / "walk.glb", prefix="mixamorig:")
    played = play_on_rig(files["still"], [files["run"], decorated])
    assert played is not None
    assert played.notes == ()
    assert [(c.name, c.n_frames) for c in played.model.clips] == [("run", 10), ("walk", 10)]
    assert played.model.track.names == NAMES
    assert played.model.track.bone_type == "rigid"
    frames = pose_frames(played.model)
    assert_same_points(frames[:10], pose_frames(expected))
    assert np.array_equal(frames[10:], frames[:10])


def test_missing_joints_keep_their_rest_and_are_told(files, tmp_path):
    half = clips_of(files["whole"], tmp_path / "half.glb", rename={"knee": "elbow"})
    with pytest.raises(GeometryError, match=r"half.glb: 1 of the 3 joints .* are not in the rig .*--partial"):
        play_on_rig(files["still"], [half])
    played = play_on_rig(files["still"], [half], clip_options=ClipOptions(partial=True))
    assert played is not None
    (note,) = played.notes
    assert "'elbow'" in note
    assert "1 of the" in note
    still, moved = load_model(files["still"]), load_model(files["whole"])
    transforms = played.model.track.transforms
    # The knee stands as the rest pose has it: it goes wherever the hip takes it.
    assert_same_points(transforms[:, 1], transforms[:, 0] @ np.vstack([still.track.transforms[0, 1], [0, 0, 0, 1]]))
    assert not np.allclose(transforms[:, 1], moved.track.transforms[:, 1], atol=1e-3)


def test_a_character_named_among_the_clips_keeps_its_own(files):
    played = play_on_rig(files["whole"], [files["whole"], files["run"]])
    assert played is not None
    assert [c.n_frames for c in played.model.clips] == [10, 10]
    assert len({c.name for c in played.model.clips}) == 2


def test_frames_clips_and_rates_are_chosen(files, tmp_path):
    walk = clips_of(files["whole"], tmp_path / "walk.glb")
    options = LoadOptions(clips=("walk",), frames="2:8", step=2)
    played = play_on_rig(files["still"], [files["run"], walk], options=options)
    assert played is not None
    (clip,) = played.model.clips
    assert (clip.name, clip.n_frames, clip.fps) == ("walk", 3, 12)
    whole = pose_frames(load_model(files["whole"]))
    assert_same_points(pose_frames(played.model), whole[2:8:2])
    twice = play_on_rig(files["still"], [walk], options=LoadOptions(fps=48.0))
    assert twice is not None
    assert twice.model.n_frames == 19
    with pytest.raises(OptionError, match="has no clip 'jump'; it has 'run', 'walk'"):
        play_on_rig(files["still"], [files["run"], walk], options=LoadOptions(clips=("jump",)))


def test_a_joint_with_a_matrix_keeps_what_a_clip_does_not_move(files, tmp_path):
    root, blob = read_glb(files["still"])
    root["asset"].pop("extras", None)
    for node in root["nodes"]:
        shift = node.pop("translation", [0, 0, 0])
        assert node.get("rotation", [0, 0, 0, 1]) == [0, 0, 0, 1]
        if node.get("name") in NAMES:
            node["matrix"] = [2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, *shift, 1]
    other = write_glb(tmp_path / "matrix.glb", root, blob)
    run, blob = read_glb(files["run"])
    for animation in run["animations"]:
        animation["channels"] = [c for c in animation["channels"] if c["target"]["path"] == "rotation"]
    turns = write_glb(tmp_path / "turns.glb", run, blob)
    played = play_on_rig(other, [turns])
    assert played is not None
    sizes = np.cbrt(np.linalg.det(played.model.track.transforms[..., :3].astype(np.float64)))
    assert np.allclose(sizes, [1, 2, 4], rtol=0, atol=1e-6)  # bound at 2, and each below the one before


def test_files_without_a_mesh_are_described_and_told_what_they_need(files):
    assert holds_clips_only(files["run"])
    assert not holds_clips_only(files["whole"])
    facts = describe_clips_only(files["run"])
    assert set(NAMES) <= set(facts.joints)
    assert [(c.n_frames, c.fps) for c in facts.clips] == [(10, 24)]
    for load in (load_sequence, load_model):
        with pytest.raises(GeometryError, match=r"run.glb: holds clips but no mesh; .* --rig CHARACTER"):
            load(files["run"])


def test_what_cannot_be_played_is_refused(files, tmp_path):
    strange = clips_of(files["whole"], tmp_path / "strange.glb", prefix="x", rename=dict.fromkeys(NAMES, "wing"))
    with pytest.raises(GeometryError, match=r"strange.glb: none of its joints \('xwing', .* is a joint of .*still.glb"):
        play_on_rig(files["still"], [strange])
    with pytest.raises(FileFormatError, match=r"whole.glb: holds a mesh, but .*run.glb holds clips for a rig"):
        play_on_rig(files["still"], [files["run"], files["whole"]])
    with pytest.raises(FileFormatError, match=r"run.glb: holds clips but no mesh; name the file of the character"):
        play_on_rig(files["run"], [files["run"]])
    with pytest.raises(OptionError, match="--rest: clips without a mesh play the rig's own"):
        play_on_rig(files["still"], [files["run"]], options=LoadOptions(rest=0))
    save_model(character(), tmp_path / "rig.npz")
    with pytest.raises(FileFormatError, match=r"rig.npz: clips without a mesh play on characters in .glb, .gltf"):
        play_on_rig(tmp_path / "rig.npz", [files["run"]])
    root, blob = read_glb(files["run"])
    root["animations"] = [{"channels": [], "samplers": []}]
    with pytest.raises(GeometryError, match="its clips animate no joint"):
        play_on_rig(files["still"], [write_glb(tmp_path / "none.glb", root, blob)])
    assert play_on_rig(files["still"], [files["whole"]]) is None
