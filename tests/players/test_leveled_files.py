"""Files with levels in players that others made: the model as it is, coarse meshes where one asks for them."""

from __future__ import annotations

import pytest

from osteon.deform.pose import pose_frames
from osteon.io import SaveOptions
from osteon.io.engines import ENGINES
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


def test_babylon_and_the_others_show_the_model(files, players, tmp_path):
    """Babylon.js knows MSFT_lod, and ends at the finest; the others do not know it."""
    model = next(file for file in files if file.kind == MODEL)
    for engine in ("babylon", "playcanvas", "cesium"):
        player = players[engine]
        player.open(for_cesium(model.path, tmp_path) if engine == "cesium" else model.path)
        shown = player.corners(0, [0.0])[0]
        assert len(shown) == model.shown.faces.size, engine
        corners = match_corners(shown, pose_frames(model.shown, 0, 1)[0], model.shown.faces)
        assert worst_deviation(Reference(model.shown, corners), player.corners) <= TOLERANCE, engine


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
