"""A cube with hard edges that moves, with each choice of --normals: three.js and the validator agree on the file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from osteon.core.skin_options import SkinOptions
from osteon.deform.pose import pose_frames
from osteon.io import save_model
from osteon.pipeline.skin import skin_sequence

from ..cube import turning_cube


@pytest.mark.parametrize(("normals", "vertices"), [("keep", 24), ("smooth", 8), ("faceted", 8)])
def test_the_cube_in_players(normals, vertices, three, messages, tmp_path: Path) -> None:
    model = skin_sequence(turning_cube(), options=SkinOptions(bones=1, normals=normals)).model
    path = tmp_path / "cube.gltf"
    save_model(model, path)
    root = json.loads(path.read_text())
    attributes = root["meshes"][0]["primitives"][0]["attributes"]
    assert ("NORMAL" in attributes) == (normals != "faceted")
    assert root["accessors"][attributes["POSITION"]]["count"] == vertices
    save_model(model, tmp_path / "cube.glb")
    assert messages([tmp_path / "cube.glb"]) == [[]]
    three.open(tmp_path / "cube.glb")
    (primitive,) = three.primitives
    assert primitive.n_vertices == vertices
    frame = model.n_frames - 1
    shown = three.corners(0, [frame / model.clips[0].fps])[0]
    expected = pose_frames(model, frame, frame + 1)[0][model.faces.reshape(-1)]
    assert np.abs(shown - expected).max() <= 1e-5 * model.diagonal
