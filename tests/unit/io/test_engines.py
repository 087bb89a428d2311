"""The table of engines, and what follows from it."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from osteon.core.errors import OptionError
from osteon.core.skin_options import SkinOptions
from osteon.io.engines import (
    ENGINES,
    EngineName,
    FileFacts,
    bone_type_players,
    default_bone_types,
    engine_of,
    engines_for,
    engines_that,
    where_it_plays,
)
from osteon.pipeline.options import options_for
from osteon.view.server.app import fit_form

NAMED = [engine for engine in ENGINES.values() if engine.name != "any"]
#: An importer that shows no scaled bones: a fault of its own, with its cure in the table.
FAULTY = ("panda3d",)
DEFAULT = FileFacts(".glb", "scaled", influences=4, targets=0, attributes=4, vertices=1000)


def exact(facts: FileFacts) -> list[str]:
    return [played.engine.name for played in where_it_plays(facts) if played.exact]


def test_every_name_has_a_row_that_says_how_it_is_known() -> None:
    assert tuple(ENGINES) == get_args(EngineName)
    assert all(engine_of(engine.name) is engine for engine in NAMED)
    assert all(engine.evidence.startswith("tested with ") or "documentation" in engine.evidence for engine in NAMED)
    assert all(any(letter.isdigit() for letter in e.evidence) for e in NAMED if e.evidence.startswith("tested"))


def test_any_is_what_all_play() -> None:
    whole = ENGINES["any"]
    for engine in NAMED:
        assert set(whole.bone_types) <= set(engine.bone_types) or engine.name in FAULTY
        assert whole.influences <= engine.influences
        assert engine.vertex_attributes is None or whole.vertex_attributes <= engine.vertex_attributes
    for name in ("quantized_positions", "short_rotations", "keys_between", "joint_scale_inherited", "meshopt"):
        assert getattr(whole, name) <= min(getattr(engine, name) for engine in NAMED)


def test_the_default_file_plays_in_every_engine() -> None:
    assert exact(DEFAULT) == [e.name for e in NAMED if ".glb" in e.formats and e.name not in FAULTY]
    assert exact(replace(DEFAULT, bone_type="rigid")) == [e.name for e in NAMED if ".glb" in e.formats]
    assert all("scales" in ENGINES[name].cure for name in FAULTY)
    assert exact(replace(DEFAULT, suffix=".usdc")) == ["usd"]
    assert exact(replace(DEFAULT, suffix=".npz")) == []


def test_what_is_beyond_an_engine_is_told() -> None:
    told = {played.engine.name: played for played in where_it_plays(replace(DEFAULT, bone_type="flexible"))}
    assert told["raylib"].lacks == ("flexible bones",)
    assert told["web"].exact
    assert "cesium" not in exact(replace(DEFAULT, short_rotations=True))
    assert "cesium" in exact(replace(DEFAULT, quantized_positions=True))
    assert "godot" not in exact(replace(DEFAULT, quantized_positions=True))
    assert exact(replace(DEFAULT, influences=8)) == ["blender", "unreal"]
    assert "raylib" not in exact(replace(DEFAULT, vertices=70_000))
    assert "cesium" not in exact(replace(DEFAULT, targets=13, attributes=17))


def test_an_engine_without_morph_targets_plays_the_bones() -> None:
    played = {p.engine.name: p for p in where_it_plays(replace(DEFAULT, targets=5, attributes=14))}
    assert played["raylib"].without_corrections
    assert not played["raylib"].lacks
    assert not played["raylib"].exact
    assert played["cesium"].exact


def test_corrections_of_an_engine() -> None:
    assert (ENGINES["cesium"].most_targets(1), ENGINES["cesium"].most_targets(2)) == (12, 6)
    assert (ENGINES["web"].most_targets(2), ENGINES["raylib"].most_targets(1)) == (None, 0)


def test_engines_are_found_by_what_they_can_do() -> None:
    assert engines_that(short_rotations=True)[:2] == ("any", "web")
    assert "cesium" not in engines_that(short_rotations=True)
    assert engines_for((".usda", ".usdc", ".usdz", ".usd")) == ("usd",)
    with pytest.raises(KeyError, match="no wings"):
        engines_that(wings=True)


def test_an_engine_chooses_the_bones_that_were_not_asked_for() -> None:
    options = SkinOptions(bones=3)
    assert options_for(options, "any", has_bone_type=False).bone_type == "scaled"
    assert options_for(options, "web", has_bone_type=False).bone_type == "flexible"
    assert options_for(options, "raylib", has_bone_type=False).bone_type == "scaled"
    assert options_for(options, "panda3d", has_bone_type=False).bone_type == "rigid"
    rigid = SkinOptions(bone_type="rigid")
    assert options_for(rigid, "web", has_bone_type=True) is rigid
    flexible = SkinOptions(bone_type="flexible")
    assert options_for(flexible, "raylib", has_bone_type=True).bone_type == "flexible"  # never refused
    assert default_bone_types().startswith("scaled; flexible for web, ")


def test_only_an_engine_that_is_named_refuses_influences() -> None:
    assert options_for(SkinOptions(influences=8), "any", has_bone_type=False).influences == 8
    assert options_for(SkinOptions(influences=8), "blender", has_bone_type=False).influences == 8
    with pytest.raises(OptionError, match=r"^influences: files for web have at most 4 bones per vertex, got 8; use 4"):
        options_for(SkinOptions(influences=8), "web", has_bone_type=False)


def test_the_page_says_who_plays_which_bones() -> None:
    assert bone_type_players() == ("rigid: all; scaled: all but panda3d; flexible: web, blender, usd, cesium, godot")
    (bones,) = [entry for entry in fit_form() if entry["name"] == "bone_type"]
    assert bones["hint"].endswith(f"Engines that play them: {bone_type_players()}.")
