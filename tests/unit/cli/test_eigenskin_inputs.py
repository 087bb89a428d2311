"""`osteon eigenskin` from what artists have: a sequence of a clip, sculpts, morph targets, another file's clip."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from osteon.core.animation import Animation, BoneTrack, Clip
from osteon.core.character import StoredDisplacement
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.pose import pose_points
from osteon.deform.pose_skeleton import transforms_of_joint_rotations
from osteon.io import load_model, save_model, save_sequence
from osteon.io.gltf.read.document import open_document
from osteon.io.gltf.read.target_names import read_target_names

from ...eigenskin_arm import flesh, make_rig, turns_of

FRAMES = 10


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """An arm with a clip, morph targets and a still copy; the clip alone with flesh; sculpts of two frames."""
    folder = tmp_path_factory.mktemp("artist")
    character = make_rig()
    angles = [(8.0 * f, (25.0 * np.sin(0.8 * f), 0.0, 0.0)) for f in range(FRAMES)]
    transforms = transforms_of_joint_rotations(character.skeleton, np.stack([turns_of(*pose) for pose in angles]))
    rest = character.mesh.rest.astype(np.float64)
    moved = np.stack([rest + flesh(rest, np.deg2rad(e), np.deg2rad(w)) for e, w in angles])
    frames = pose_points(character.deformer, moved, transforms)
    track = BoneTrack(transforms.astype(np.float32), "rigid", character.skeleton.names)
    rig = SkinnedModel(character, Animation(track, (Clip("ROM", 0, FRAMES, 24.0),)))
    save_model(rig, folder / "hero.glb")
    still = rig.animation.take_frames(np.zeros(1, np.int32))
    save_model(SkinnedModel(character, replace(still, clips=(Clip("rest", 0, 1, 24.0),))), folder / "still.glb")
    basis = np.stack([flesh(rest, np.deg2rad(a), (0.0, 0.0, 0.0)) for a in (40.0, 80.0)]).astype(np.float32)
    worn = SkinnedModel(
        replace(character, displacements=(StoredDisplacement(basis),)),
        replace(rig.animation, coefficients=np.zeros((FRAMES, 2), np.float32)),
    )
    save_model(worn, folder / "targets.glb")
    save_sequence(MeshSequence(frames, rig.faces, frames[0], clips=(Clip("sim", 0, FRAMES, 24.0),)), folder / "sim.npz")
    sculpts = folder / "sculpts"
    sculpts.mkdir()
    for f in (5, 9):
        save_sequence(MeshSequence(frames[f : f + 1], rig.faces, frames[f]), sculpts / f"s{f}.obj")
    poses = [{"file": "s5.obj", "clip": "ROM", "frame": 5}, {"file": "s9.obj", "clip": "ROM", "time": 9 / 24}]
    (sculpts / "poses.json").write_text(json.dumps({"poses": poses}))
    bend = {"axis": [1, 0, 0], "degrees": 40}
    targets = [
        {"target": "correction_0", "joint": "elbow", "rotation": bend},
        {"target": "correction_1", "rotate": {"elbow": {"axis": [1, 0, 0], "degrees": 80}}},
    ]
    (folder / "targets.json").write_text(json.dumps({"targets": targets}))
    return folder


def report_of(run_here, *arguments) -> dict:
    done = run_here("eigenskin", *arguments, "-o", "out.glb", "--json", "out.json", "-q")
    assert done.returncode == 0, done.stderr
    return json.loads((run_here.folder / "out.json").read_text())


def test_a_sequence_of_a_clip_and_the_page(run_here, files):
    found = report_of(
        run_here,
        files / "hero.glb",
        files / "sim.npz",
        "--clip",
        "ROM",
        "--frames",
        "7",
        "--validate",
        "2",
        "--report",
        "p.html",
    )
    assert found["input"]["poses"] == 7
    assert found["input"]["validation_poses"] == 2
    assert found["doubts"] == []
    assert found["quality"]["validation"]["removed_percent"]["mean"] > 80
    page = (run_here.folder / "p.html").read_text()
    for part in ("Before and after", "Supports", "Singular values", "Error against number", "Every pose", "elbow"):
        assert part in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    names = read_target_names(open_document(run_here.folder / "out.glb"))
    assert {"elbow.1", "wrist.1", "elbow.normal.1"} <= set(names)
    assert not any(name.startswith("correction") for name in names)
    assert isinstance(load_model(run_here.folder / "out.glb").character.displacement("eigenskin"), EigenSkin)


def test_sculpts_of_frames_need_no_skeleton_and_no_rest(run_here, files):
    found = report_of(run_here, files / "hero.glb", files / "sculpts")
    assert found["input"]["poses"] == 2
    assert [row["pose"] for row in found["quality"]["training"]["poses"]] == ["s5", "s9"]


def test_targets_become_corrections_of_joints(run_here, files):
    found = report_of(run_here, files / "targets.glb", "--targets", files / "targets.json")
    assert found["input"]["poses"] == 2
    assert found["quality"]["training"]["removed_percent"]["least"] > 90
    assert any("2 morph targets became poses" in note for note in found["warnings"])
    assert load_model(run_here.folder / "out.glb").character.displacement("corrections") is None


def test_the_clip_of_another_file(run_here, files):
    found = report_of(
        run_here, files / "still.glb", files / "sim.npz", "--motion", files / "hero.glb", "--validate", "0"
    )
    assert found["input"]["poses"] >= 7
    assert found["quality"]["training"]["removed_percent"]["mean"] > 80


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("hero.glb",), "no poses are named"),
        (("hero.glb", "sim.npz", "--clip", "walk"), "no clip 'walk'"),
        (("still.glb", "sim.npz"), "no joint rotates"),
        (("hero.glb", "sculpts", "--clip", "ROM"), "--clip: is for a sequence"),
        (("hero.glb", "sculpts", "--frames", "3"), "--frames: is for a sequence"),
        (("hero.glb", "sim.npz", "--offset", "70"), "--offset 70: no frame"),
        (("hero.glb", "sim.npz", "--motion", "sim.npz"), "the motion is read from"),
        (("hero.glb", "--targets", "targets.json"), "has no morph targets"),
        (("targets.glb", "--targets", "bad.json"), "there is no morph target 'smile'"),
        (("targets.glb", "--targets", "half.json"), "needs its pose"),
        (("sculpts/s5.obj", "sim.npz"), "is a mesh, which has no clips"),
        (("hero.glb", "late"), "ends with frame 9; there is no frame 10"),
        (("hero.glb", "both"), "has both a 'clip' and 'rotate'"),
        (("hero.glb", "typed"), "but no 'rest'"),
        (("sculpts/s5.obj", "sculpts"), "has no 'rest'"),
    ],
)
def test_bad_input_is_one_line(run_here, files, arguments, said):
    lists = {
        "late": [{"file": "s5.obj", "clip": "ROM", "frame": 10}],
        "both": [{"file": "s5.obj", "clip": "ROM", "frame": 1, "rotate": {}}],
        "typed": [{"file": "s5.obj", "rotate": {"elbow": {"axis": [1, 0, 0], "degrees": 40}}}],
    }
    for name, poses in lists.items():
        folder = files / name
        folder.mkdir(exist_ok=True)
        (folder / "s5.obj").write_bytes((files / "sculpts" / "s5.obj").read_bytes())
        (folder / "poses.json").write_text(json.dumps({"poses": poses}))
    (files / "bad.json").write_text(json.dumps({"targets": [{"target": "smile", "clip": "ROM", "frame": 1}]}))
    (files / "half.json").write_text(json.dumps({"targets": [{"target": "correction_0", "joint": "elbow"}]}))
    paths = [files / a if (files / a).exists() else a for a in arguments]
    done = run_here("eigenskin", *paths, "-o", "no.glb", "-q")
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (run_here.folder / "no.glb").exists()
