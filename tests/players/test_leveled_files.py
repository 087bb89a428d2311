"""Files with levels in players that others made: the model as it is, coarse meshes where one asks for them."""

from __future__ import annotations

import json

import pytest

from osteon.deform.pose import pose_frames
from osteon.io import SaveOptions
from osteon.io.engines import ENGINES, where_it_plays
from osteon.io.formats.engine_facts import file_facts
from osteon.lod.model_levels import save_levels
from osteon.lod.options import LodOptions
from osteon.pipeline.levels import fit_levels
from osteon_bench.level_characters import corrected_model, joint_driven_model
from osteon_bench.lod_files import BAKED, COARSE, MODEL, level_files, measure_file
from osteon_bench.players.deviation import TOLERANCE, Reference, match_corners, worst_deviation
from osteon_bench.players.tools import why_no_raylib
from osteon_bench.subjects import JointedOptions, make_jointed

from .cesium_room import for_cesium


@pytest.fixture(scope="module", params=[corrected_model, joint_driven_model])
def levels(request):
    """Displacements that are stored, and those that follow joints."""
    model = request.param(make_jointed(1, JointedOptions(joints=6, frames=10, influences=4, vertices=40)))
    return fit_levels(model, options=LodOptions(triangles="50%,25%", threads=1)).levels


@pytest.fixture(scope="module")
def files(levels, tmp_path_factory):
    return list(level_files(levels, tmp_path_factory.mktemp("levels")))


def test_every_kind_of_file_is_played(files):
    assert {file.kind for file in files} == {MODEL, COARSE, BAKED}
    assert len(files) == 3 * (1 + 2 + 3)


def test_the_validator_finds_nothing(files, messages):
    for file, said in zip(files, messages([file.path for file in files]), strict=True):
        assert not said, f"{file.path.name}: {said[0]}"


def test_three_shows_every_level(files, three):
    for file in files:
        assert measure_file(file, three) <= TOLERANCE, file.path.name


def test_babylon_and_the_others_show_the_model(levels, files, players, tmp_path):
    """Babylon.js knows MSFT_lod, and ends at the finest; the others do not know it.

    Cesium fails on channels of nodes that it does not show, so its file has none of coarse meshes.
    """
    model = next(file for file in files if file.kind == MODEL)
    save_levels(levels, tmp_path / "cesium.gltf", options=SaveOptions(engine="cesium"))
    for engine in ("babylon", "playcanvas", "cesium"):
        player = players[engine]
        player.open(for_cesium(tmp_path / "cesium.gltf", tmp_path) if engine == "cesium" else model.path)
        shown = player.corners(0, [0.0])[0]
        assert len(shown) == model.shown.faces.size, engine
        corners = match_corners(shown, pose_frames(model.shown, 0, 1)[0], model.shown.faces)
        assert worst_deviation(Reference(model.shown, corners), player.corners) <= TOLERANCE, engine


def test_corrections_of_coarse_meshes_have_channels_except_for_cesium(levels, tmp_path):
    for name, nodes in (("any", 1 + len(levels.coarse)), ("cesium", 1)):
        path = tmp_path / f"{name}.gltf"
        save_levels(levels, path, options=SaveOptions(engine=name))
        root = json.loads(path.read_text(encoding="utf-8"))
        animated = {
            channel["target"]["node"]
            for one in root["animations"]
            for channel in one["channels"]
            if channel["target"]["path"] == "weights"
        }
        assert len(animated) == nodes, name
        ids = root["nodes"][0]["extensions"]["MSFT_lod"]["ids"]
        assert animated == ({0, *ids} if name == "any" else {0})
    facts = file_facts(levels.model, ".glb", SaveOptions(), coarse_meshes=True)
    lacking = {one.engine.name: one.lacks for one in where_it_plays(facts)}
    assert "corrections of coarse meshes" in lacking["cesium"]
    assert "corrections of coarse meshes" not in lacking["web"]


def test_raylib_shows_all_meshes_unless_it_is_named(levels, tmp_path):
    if reason := why_no_raylib():
        pytest.skip(reason)
    from osteon_bench.players.raylib_player import open_file

    whole = len(levels.model.faces)
    counts = [whole, *(len(mesh.character.mesh.faces) for mesh in levels.coarse)]
    assert not ENGINES["raylib"].hidden_nodes
    for name, expected in (("any", sum(counts)), ("raylib", whole)):
        save_levels(levels, tmp_path / f"{name}.glb", options=SaveOptions(engine=name))
        shown = open_file(tmp_path / f"{name}.glb")(0, [0.0])[0]
        assert len(shown) == 3 * expected, name
