"""The default GLB of a character with eleven eigendisplacements keeps its eigennormals, and players show them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import Animation, BoneTrack
from osteon.core.mesh import CornerNormals
from osteon.core.model import SkinnedModel
from osteon.deform.eigenskin import EigenSkin
from osteon.deform.normals import pose_normals
from osteon.deform.pose import pose_frames
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.io import load_model, save_model
from osteon.io.formats.options import SaveOptions
from osteon.pipeline.eigenskin import learn_eigenskin, rig_of_mesh
from tests.eigenskin_arm import make_rig, pose_set

#: Of positions, and as many of normals.
COLUMNS = 11


@pytest.fixture(scope="module")
def model() -> SkinnedModel:
    poses, options = pose_set(make_rig()), EigenSkinOptions(per_joint=9, per_pair=9, support=0.0, limit=0)
    return learn_eigenskin(rig_of_mesh(poses.mesh, poses.skeleton, options), poses, options=options).model


def eigenskin_of(model: SkinnedModel) -> EigenSkin:
    found = model.character.displacement(EigenSkin.kind)
    assert isinstance(found, EigenSkin)
    return found


def targets_of(path: Path) -> list[dict[str, int]]:
    data = path.read_bytes()
    root = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
    found: list[dict[str, int]] = root["meshes"][0]["primitives"][0]["targets"]
    return found


@pytest.mark.parametrize("form", [{}, {"quantize": True}, {"compress": True}])
def test_the_default_file_keeps_them(model, form, messages, tmp_path) -> None:
    assert (eigenskin_of(model).rank, eigenskin_of(model).n_normals) == (COLUMNS, COLUMNS)
    path = tmp_path / "arm.glb"
    save_model(model, path, options=SaveOptions(**form))
    assert messages([path]) == [[]]
    targets = targets_of(path)
    assert len(targets) == 2 * COLUMNS
    zeros = {target["POSITION"] for target in targets[COLUMNS:]}
    assert len(zeros) == 1  # which all of them share
    assert {target["NORMAL"] for target in targets[:COLUMNS]} == zeros
    again = load_model(path)
    assert eigenskin_of(again).rbf.n_columns == 2 * COLUMNS
    assert eigenskin_of(again).n_normals >= COLUMNS  # what moves a position by less than a step moves none
    for frame in (3, 9):
        shown, expected = (pose_normals(each, frame)[each.mesh.normal_of_vertex] for each in (again, model))
        assert np.abs(shown - expected).max() <= (0.02 if form else 1e-4)


def still(model: SkinnedModel, frame: int) -> SkinnedModel:
    """A frame as a mesh that stands, with the normals that Osteon shows there."""
    mesh, posed = model.mesh, pose_frames(model, frame, frame + 1)[0]
    normals = CornerNormals(pose_normals(model, frame), mesh.faces)
    at_rest = np.zeros((1, model.n_bones, 3, 4), np.float32)
    at_rest[..., :3] = np.eye(3)
    character = replace(
        model.character,
        mesh=replace(mesh, rest=posed, asset=replace(mesh.asset, normals=normals)),
        displacements=(),
    )
    return SkinnedModel(character, Animation(BoneTrack(at_rest, "rigid", model.track.names)))


def test_three_shades_as_osteon_does(model, three, tmp_path) -> None:
    """A frame of the clip beside a mesh that stands with that shape and these normals; and without eigennormals."""
    frame = 10  # of both joints
    bare = replace(model.character, displacements=(eigenskin_of(model).without_normals(COLUMNS),))
    files = {
        "played": model,
        "still": still(model, frame),
        "without": SkinnedModel(bare, model.animation),
    }
    pictures = {}
    for name, one in files.items():
        save_model(one, tmp_path / f"{name}.glb")
        three.open(tmp_path / f"{name}.glb")
        seconds = frame / model.clips[0].fps if one.n_frames > 1 else 0.0
        pictures[name] = three.shades(0, seconds, 512).astype(np.int64)
    drawn = np.abs(pictures["still"] - pictures["still"][0, 0]).sum(axis=2) > 0
    assert drawn.sum() > 500
    off, worse = (np.abs(pictures[name] - pictures["still"]).max(axis=2)[drawn] for name in ("played", "without"))
    assert np.percentile(off, 95) <= 2
    assert worse.mean() > 5 * max(off.mean(), 0.1)
    shown = three_corners(three, tmp_path / "played.glb", frame / model.clips[0].fps)
    assert (
        np.abs(shown - pose_frames(model, frame, frame + 1)[0][model.faces.reshape(-1)]).max() <= 1e-5 * model.diagonal
    )


def three_corners(three, path: Path, seconds: float) -> np.ndarray:
    three.open(path)
    found: np.ndarray = three.corners(0, [seconds], "gpu")[0]
    return found
