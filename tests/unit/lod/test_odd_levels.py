"""Whole levels of odd characters, meshes and files included: made, measured, written, read, and each written alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from osteon.deform.pose import pose_frames
from osteon.io import load_model, save_model
from osteon.lod.model_levels import load_levels, save_levels
from osteon.lod.options import LodOptions
from osteon.pipeline.levels import fit_levels
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.tolerance import assert_same_points
from tests.unit.lod.test_fit_progressive import ODD


@pytest.mark.parametrize("name", ODD)
def test_levels_of_odd_characters(name: str, tmp_path: Path) -> None:
    model = ODD[name]()
    found = fit_levels(model, options=LodOptions(triangles="60%,30%", threads=1))
    levels = found.levels
    asked = zip(levels.levels, (1.0, 0.6, 0.3), strict=True)
    assert found.reached
    assert all(level.triangles <= round(part * len(model.faces)) for level, part in asked)
    assert all(np.isfinite(level.rms_percent) and level.worst_percent < 60 for level in levels.levels)
    assert_same_points(pose_frames(levels.model), pose_frames(model))
    save_levels(levels, tmp_path / "levels.glb")
    again = load_levels(tmp_path / "levels.glb")
    assert again is not None
    assert again.levels == levels.levels
    for number, level in enumerate(levels.levels):
        clip = levels.model.clips[-1].name
        assert_same_points(pose_frames(again.clip_at(level, clip)), pose_frames(levels.clip_at(level, clip)), 1e-5)
        save_model(again.baked(level), tmp_path / f"{number}.glb")
        alone = load_model(tmp_path / f"{number}.glb")
        assert len(alone.faces) == level.triangles
        assert alone.n_bones <= model.n_bones + 1
        assert np.isfinite(pose_frames(alone)).all()


def test_a_body_without_a_clip_is_told() -> None:
    assert "one frame" in " ".join(fit_levels(ODD["no clip"](), options=LodOptions(threads=1)).notes)


def test_two_skins_of_one_skeleton_are_one_character(tmp_path: Path) -> None:
    """A file of others with two bodies, each with a skin of its own that names the same joints."""
    model = make_jointed(1, JointedOptions(joints=5, vertices=40))
    save_model(model, tmp_path / "one.gltf")
    root = json.loads((tmp_path / "one.gltf").read_text())
    root["asset"] = {"version": "2.0", "generator": "another program"}
    root["skins"].append(dict(root["skins"][0]))
    root["nodes"].append({"mesh": 0, "skin": 1, "name": "second"})
    root["scenes"][0]["nodes"].append(len(root["nodes"]) - 1)
    (tmp_path / "two.gltf").write_text(json.dumps(root))
    both = load_model(tmp_path / "two.gltf")
    assert len(both.faces) == 2 * len(model.faces)
    levels = fit_levels(both, options=LodOptions(bones="3,1", threads=1)).levels
    assert levels.skin.n_ordered == model.n_bones
    plain = fit_levels(model, options=LodOptions(bones="3,1", threads=1)).levels
    found, expected = (each.skin.orders[0].shares for each in (levels, plain))
    assert found == pytest.approx(expected, abs=1e-6)  # twice the vertices, the same shares
    save_levels(levels, tmp_path / "levels.glb")
    assert load_levels(tmp_path / "levels.glb") is not None
