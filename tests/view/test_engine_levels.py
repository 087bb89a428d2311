"""A character at a level: the page's shader and its script pose it as Python does, and nothing jumps as levels move."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from osteon.core.model import SkinnedModel
from osteon.deform.pose import blend_dense, pose_frames
from osteon.lod.blend_clips import blend_poses
from osteon.lod.bone_order import pose_at_count
from osteon.lod.fit_progressive import fit_progressive
from osteon.lod.level_player import rest_pivots
from osteon.lod.model_levels import Level, ModelLevels, with_slots
from osteon.view.pack.model_pack import pack_model
from osteon_bench.level_characters import joint_driven_model
from osteon_bench.subjects import JointedOptions, make_jointed

from ..lod_rigs import two_clips
from ..posable import posable_model
from .engine_cases import models
from .engine_page import EnginePage, decode, engine_page
from .level_cases import at_level, made_levels, played
from .test_engine import apart

CLOSE = 2e-6  # of the diagonal


@cache
def case(name: str) -> tuple[SkinnedModel, ModelLevels]:
    if name == "follows joints":
        model = joint_driven_model(make_jointed(1, JointedOptions(joints=5, influences=4)))
    else:
        model = posable_model(dual=True) if name == "screws" else models()[name]
    return model, made_levels(model)


def most(levels: ModelLevels) -> tuple[int, int]:
    """All bones that can be active, and all blends."""
    return levels.skin.n_ordered, levels.skin.blends.n_blends


@pytest.fixture(scope="module")
def page():
    with engine_page(160, 120) as started:
        yield started


@pytest.fixture
def engine(page):
    yield page
    page.set_view(level=None)
    assert page.complaints == []
    assert page.said() == []


def shows(engine: EnginePage, bones: float, blends: float, frame: float) -> Any:
    """(v,3) what the shader makes of a level."""
    engine.set_view(level={"bones": bones, "blends": blends})
    engine.run("page.draw()")
    return engine.positions(frame)


@pytest.mark.parametrize(
    "name", ["rigid", "flexible", "full", "eight influences", "mirrored", "screws", "follows joints"]
)
def test_positions_at_levels(engine, name):
    model, levels = case(name)
    assert engine.load(pack_model(model, levels=levels))
    assert apart(engine.positions(3), pose_frames(model)[3], model) <= CLOSE  # slots in another order
    n, k = most(levels)
    points = ((1, 1), (1.6, k), (2, 1.3), (2.5, 2), (n - 0.25, k - 0.5), (n, k))
    for (bones, blends), frame in zip(points, (0, 1, 2, 3, 4, model.n_frames - 1), strict=True):
        expected = at_level(levels, frame, bones, blends)
        assert apart(shows(engine, bones, blends, frame), expected, model) <= CLOSE, (bones, blends, frame)
        scripted = decode(engine.run("page.levelPositions(given[0])", frame)).reshape(-1, 3)
        assert apart(scripted, expected, model) <= CLOSE, (bones, blends, frame)


def test_a_clip_fades_into_another(engine):
    """Each with its own bones at a level, as Python blends them (section 4.4)."""
    options = JointedOptions(joints=6, influences=4)
    model = two_clips(make_jointed(1, options), make_jointed(1, replace(options, swing=1.2)))
    skin = fit_progressive(model).skin
    model = SkinnedModel(with_slots(model.character, skin.blends.skin), model.animation)
    levels = ModelLevels(model, skin, (Level(skin.n_ordered, skin.blends.n_blends, 0, len(model.faces)),))
    assert engine.load(pack_model(model, levels=levels))
    first, second = 1, model.clips[1].start + 2
    for bones, part in ((1.5, 0.25), (most(levels)[0], 0.5), (2, 1.0)):
        poses = [at_bones(levels, frame, bones) for frame in (first, second)]
        blended = blend_poses(*poses, rest_pivots(model), part)
        expected = blend_dense(model.rest, model.skin.dense(model.n_bones), blended)[0]
        shows(engine, bones, most(levels)[1], second)
        leaving = {"moment": {"first": first, "second": first, "between": 0}, "part": part}
        engine.run("(engine.character.leaving = given[0])", leaving)
        found = [engine.positions(second), decode(engine.run("page.levelPositions(given[0])", second)).reshape(-1, 3)]
        for points in found:
            assert apart(points, expected, model) <= CLOSE, (bones, part)
        engine.run("(engine.character.leaving = null)")


def at_bones(levels, frame, bones):
    """(1,b,3,4) the bones of a frame at a level."""
    model = levels.model
    number = next(i for i, clip in enumerate(model.clips) if clip.start <= frame < clip.stop)
    return pose_at_count(levels.skin.orders[number], model.animation.transforms[frame : frame + 1], bones)


@pytest.mark.parametrize("name", ["rigid", "flexible", "full", "screws"])
def test_between_frames_keys_are_played(engine, name):
    model, levels = case(name)
    engine.load(pack_model(model, levels=levels))
    n, k = most(levels)
    for bones, blends in ((1.5, 1.5), (n, k)):
        found = shows(engine, bones, blends, 2.3)
        assert apart(found, played(levels, 0, 2.3, bones, blends), model) <= CLOSE


def test_all_bones_and_blends_are_the_character_itself(engine):
    model, levels = case("rigid")
    engine.load(pack_model(model, levels=levels))
    engine.set_view(level={"bones": 1e9, "blends": 1e9})
    engine.run("page.draw()")
    for frame in range(0, model.n_frames, 3):
        # The bone that never has its turn moves nothing here but itself.
        free = ~(model.skin.bones == model.n_bones - 1).any(axis=1)
        assert apart(engine.positions(frame)[free], pose_frames(model)[frame][free], model) <= CLOSE


def test_nothing_jumps(engine):
    """As the level goes a tenth of a step no vertex goes more than a tenth of the largest way of that step."""
    model, levels = case("full")
    engine.load(pack_model(model, levels=levels))
    k = most(levels)[1]
    for first, second in (((3, k), (4, k)), ((3, 1), (3, 2)), ((3.5, 2), (3.5, 3))):
        moved = [shows(engine, *point, 5) for point in steps_between(first, second, 10)]
        whole = np.linalg.norm(moved[-1] - moved[0], axis=1).max()
        each = [np.linalg.norm(b - a, axis=1).max() for a, b in pairwise(moved)]
        assert max(each) <= whole / 10 * 1.01 + 1e-6 * model.diagonal


def steps_between(first, second, count):
    return [tuple(a + i / count * (b - a) for a, b in zip(first, second, strict=True)) for i in range(count + 1)]
