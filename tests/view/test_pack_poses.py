"""Poses of a character in its pack: which frame shows which, where their meshes are, and what is refused."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.cli.main import main
from osteon.core.errors import OptionError
from osteon.core.transforms import matrices_from_quaternions
from osteon.deform.pose_skeleton import transforms_of_joint_rotations
from osteon.io import save_model
from osteon.pipeline.eigenskin import poses_of_rig
from osteon.view.pack.model_pack import pack_model
from osteon.view.pack.poses import holds_poses, load_poses_of
from osteon.view.server.collection import Collection, prepare_item, prepare_models
from osteon.view.server.model_files import find_models

from .eigenskin_case import ELBOW, arm, with_clip, write_arm
from .test_pack import read_pack


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_arm(tmp_path_factory.mktemp("arm"))


def test_a_model_that_plays_its_poses_has_their_meshes_as_its_source(files: tuple[Path, Path]) -> None:
    poses, learned = arm()
    header, arrays = read_pack(pack_model(learned.model, poses=load_poses_of(learned.model, str(files[1]))))
    assert [pose["name"] for pose in header["poses"]] == list(poses.names)
    assert [pose["kind"] for pose in header["poses"]] == list(poses.kinds)
    assert "pose_meshes" not in arrays
    for p, pose in enumerate(header["poses"]):
        np.testing.assert_allclose(arrays["source"][pose["frame"]], poses.frames[p], atol=1e-5)
    assert header["joint_limits"] == [
        {"joint": 1, "name": "", "axis": [1.0, 0.0, 0.0], "low": float(ELBOW[0]), "high": float(ELBOW[1])}
    ]
    turns = matrices_from_quaternions(arrays["pose_turns"].astype(np.float64))
    known = poses_of_rig(learned.model.character, poses, range(poses.n_poses))
    assert learned.model.skeleton is not None
    again = transforms_of_joint_rotations(learned.model.skeleton, turns, arrays["pose_shifts"].astype(np.float64))
    np.testing.assert_allclose(again, known.transforms, atol=1e-6)


def test_a_model_that_plays_something_else_has_them_apart(files: tuple[Path, Path]) -> None:
    poses, learned = arm()
    model = with_clip(learned.model)
    header, arrays = read_pack(pack_model(model, poses=load_poses_of(model, str(files[1] / "poses.json"))))
    assert "source" not in arrays
    np.testing.assert_allclose(arrays["pose_meshes"], poses.frames, atol=1e-5)
    assert [pose["frame"] for pose in header["poses"]] == list(range(poses.n_poses))


def test_several_models_have_poses_each(files: tuple[Path, Path], tmp_path: Path) -> None:
    _, learned = arm()
    save_model(learned.model, tmp_path / "other.npz")
    collection = Collection(tmp_path)
    named = find_models([str(files[0]), str(tmp_path / "other.npz"), str(files[1])])
    assert named is not None
    prepare_models(collection, named)
    packs = [read_pack(item.pack.read_bytes()) for item in collection.items.values()]
    assert [len(header["poses"]) for header, _ in packs] == [12, 12]
    assert all("source" in arrays for _, arrays in packs)


def test_what_is_a_folder_of_poses(files: tuple[Path, Path], tmp_path: Path) -> None:
    assert holds_poses(str(files[1]))
    assert holds_poses(str(files[1] / "poses.json"))
    assert not holds_poses(str(files[0]))
    assert not holds_poses(str(tmp_path))


def test_poses_without_a_use_are_refused(files: tuple[Path, Path], tmp_path: Path, refused: Any) -> None:
    model = arm()[1].model
    plain = type(model)(replace(model.character, displacements=()), model.animation)
    for name, one in (("plays", plain), ("nods", with_clip(plain))):
        save_model(one, tmp_path / f"{name}.npz")
    pack, poses = tmp_path / "pack.bin", (str(files[1]),)
    assert prepare_item("m1", (str(tmp_path / "plays.npz"),), pack, source=poses).kind == "model"
    assert "source" in read_pack(pack.read_bytes())[1]
    with refused(OptionError, "poses", "no EigenSkin", "osteon eigenskin"):
        prepare_item("m1", (str(tmp_path / "nods.npz"),), pack, source=poses)


def test_poses_of_another_character_are_refused_in_a_line(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "poses"
    folder.mkdir()
    for path in files[1].iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    told = json.loads((folder / "poses.json").read_text())
    text = json.dumps(told).replace('"elbow"', '"knee"')
    (folder / "poses.json").write_text(text)
    arguments = ["osteon", "view", str(files[0]), str(folder), "--export", str(tmp_path / "out.html"), "-q"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err.strip()
    assert "'knee'" in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "out.html").exists()
