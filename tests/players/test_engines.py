"""Engines beside three.js and Babylon.js: PlayCanvas and Cesium in the browser, raylib in a process of its own."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.errors import OsteonError
from osteon_bench.players import engine_process, tools
from osteon_bench.players.cases import Case, make_cases
from osteon_bench.players.deviation import TOLERANCE, measure_deviation
from osteon_bench.players.engine_process import play_in_process
from osteon_bench.players.engines import ENGINES
from osteon_bench.players.tools import why_no_raylib

from .cesium_room import for_cesium
from .conftest import need
from .test_players import PLACES, moving_triangle

#: PlayCanvas goes straight between two rotations, not along their arc; the cases turn far in a frame.
STRAIGHT = 2e-3


def named(name: str) -> Case:
    return next(case for case in make_cases() if case.name == name)


def at_sixty(name: str) -> Case:
    """A case whose frames fall on raylib's samples."""
    model = named(name).model
    return Case(f"{name} at 60", model.with_animation(clips=(Clip("clip", 0, model.n_frames, 60.0),)))


@pytest.fixture(scope="session")
def raylib() -> None:
    """raylib is there."""
    need(why_no_raylib())


def test_playcanvas_shows_the_same(case, saved, players):
    player = players["playcanvas"]
    player.open(saved(case))
    found = measure_deviation(saved(case), player.corners)
    if case.eight:
        assert found.at_frames > 100 * TOLERANCE  # it reads four influences
    else:
        assert found.at_frames <= TOLERANCE
        assert found.between <= STRAIGHT


def test_cesium_shows_the_same(case, saved, players, tmp_path):
    player, path = players["cesium"], for_cesium(saved(case), tmp_path)
    player.open(path)
    if has_short_rotations(path):  # it makes no number of them
        with suppress(OsteonError):
            assert measure_deviation(path, player.corners).at_frames > 100 * TOLERANCE
        return
    found = measure_deviation(path, player.corners)
    if case.eight:
        assert found.at_frames > 100 * TOLERANCE  # it reads four influences
    else:
        assert max(found.at_frames, found.between) <= TOLERANCE


def has_short_rotations(path: Path) -> bool:
    """Whether some rotation of a .glb has 16 bits."""
    data = path.read_bytes()
    document = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
    outputs = [
        animation["samplers"][channel["sampler"]]["output"]
        for animation in document["animations"]
        for channel in animation["channels"]
        if channel["target"]["path"] == "rotation"
    ]
    return any(document["accessors"][output]["componentType"] == 5122 for output in outputs)


@pytest.mark.parametrize("engine", ["playcanvas", "cesium"])
def test_engines_play_by_hand(tmp_path, players, engine):
    player = players[engine]
    player.open(moving_triangle(tmp_path / "triangle.glb"))
    assert player.clips == ("go",)
    shown = player.positions(0, [0.0, 0.5, 1.0])[0]
    assert shown[:, :, 2] == pytest.approx(np.repeat([[0.0], [1.5], [3.0]], 3, axis=1))
    assert np.array_equal(shown[1, :, :2], PLACES[:, :2])


@pytest.mark.parametrize("name", ["rigid", "hierarchy", "scaled", "two materials"])
def test_raylib_shows_the_same(name, saved, raylib):
    """Bones of one node, at a rate that divides 60."""
    case = at_sixty(name)
    found = measure_deviation(saved(case), play_in_process("raylib_player", saved(case)))
    if case.model.track.bone_type == "flexible":
        assert found.at_frames > 100 * TOLERANCE  # two nodes a bone: it keeps translation, rotation and scale of one
    else:
        assert found.at_frames <= TOLERANCE


def test_raylib_has_no_morph_targets(saved, raylib):
    case = named("scaled corrections")
    reference = next(engine for engine in ENGINES if engine.name == "raylib")
    assert "morph" in reference.limitation(case.model)
    assert measure_deviation(saved(case), reference.play(saved(case), case.model)).at_frames > 100 * TOLERANCE


def test_an_engine_that_fails_says_so_in_one_line(tmp_path, raylib):
    with pytest.raises(OsteonError, match="raylib_player failed") as caught:
        play_in_process("raylib_player", tmp_path / "absent.glb")(0, [0.0])
    assert "\n" not in str(caught.value)


def test_missing_engines_say_so(monkeypatch):
    monkeypatch.setattr(tools, "find_spec", lambda name: None)
    monkeypatch.setattr(tools.shutil, "which", lambda name: None)
    monkeypatch.setattr("osteon_bench.players.assimp_scene.library_name", lambda: None)
    reasons = [engine.why_not() for engine in ENGINES]
    assert len(reasons) >= 6
    assert all("not installed" in reason for reason in reasons)
    assert engine_process.LONGEST > 0


def test_what_an_engine_lacks_has_a_cure_beside_it():
    """Every engine whose defaults cannot show a plain file stands there once more, cured."""
    model = at_sixty("rigid").model
    lacking = {engine.name for engine in ENGINES if engine.limitation(model)}
    cured = {engine.name.partition(",")[0] for engine in ENGINES if not engine.limitation(model)}
    assert lacking
    assert lacking <= cured


def test_scripts_are_beside_the_players():
    for name in ("godot_dump.gd", "playcanvas.html", "cesium.html", "blend.mjs"):
        assert (Path(tools.SCRIPTS) / name).is_file()


def test_cesium_shows_what_is_compressed_for_it(saved, players):
    """Rotations of files for Cesium are real numbers."""
    case = named("scaled corrections compressed")
    for_it = replace(case, name="compressed for cesium", options=replace(case.options, engine="cesium"))
    players["cesium"].open(saved(for_it))
    found = measure_deviation(saved(for_it), players["cesium"].corners)
    assert not has_short_rotations(saved(for_it))
    assert max(found.at_frames, found.between) <= TOLERANCE
