"""Every kind of file Osteon writes, in players that others made: no complaint, and the same positions."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.character import Skin
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.pose import pose_frames
from osteon.io import load_model
from osteon.io.gltf.write.precision import COMPRESS_ERROR
from osteon_bench.players.cases import make_cases
from osteon_bench.players.deviation import TOLERANCE, Reference, read_reference, worst_detour, worst_deviation
from osteon_bench.players.usd_player import play_usd, validate_usd

from ..tolerance import diagonal

#: The graphics card computes in single precision.
SHADER_TOLERANCE = 1e-4


def test_there_are_cases():
    names = [case.name for case in make_cases()]
    assert len(names) == len(set(names)) >= 15


def test_the_validator_finds_nothing(case, complaints):
    assert not complaints[case.name], "\n".join(map(str, complaints[case.name]))


def test_the_file_reads_as_the_model(case, saved):
    allowed = 1e-3 if case.options.quantize or case.options.key_error else 1e-6
    allowed = COMPRESS_ERROR if case.options.compress else allowed
    apart = np.linalg.norm(pose_frames(load_model(saved(case))) - pose_frames(case.model), axis=-1)
    assert apart.max() <= allowed * diagonal(case.model.rest)


def test_three_shows_the_same(case, saved, three):
    three.open(saved(case), eight_influences=case.eight)
    reference = read_reference(saved(case), three.corners)
    assert list(three.clips) == [clip.name for clip in case.model.clips]
    assert worst_deviation(reference, three.corners) <= TOLERANCE


def test_babylon_shows_the_same(case, saved, babylon):
    """As it comes, eight influences included."""
    babylon.open(saved(case))
    reference = read_reference(saved(case), babylon.corners)
    assert worst_deviation(reference, babylon.corners) <= TOLERANCE


def test_usd_shows_the_same(case, saved, usd):
    path = saved(case, ".usdc")
    assert validate_usd(path) == []
    play = play_usd(path, load_model(path))
    assert worst_deviation(read_reference(path, play), play) <= TOLERANCE


def test_three_shaders_show_the_same(case, saved, three):
    three.open(saved(case), eight_influences=case.eight)
    reference = read_reference(saved(case), three.corners)
    assert worst_deviation(reference, lambda clip, times: three.corners(clip, times, "gpu")) <= SHADER_TOLERANCE


def test_three_takes_no_way_round(case, saved, three):
    three.open(saved(case), eight_influences=case.eight)
    assert worst_detour(read_reference(saved(case), three.corners), three.corners) <= TOLERANCE


def test_three_shows_the_rest_pose_without_animation(case, saved, three):
    three.open(saved(case), eight_influences=case.eight)
    reference = read_reference(saved(case), three.corners)
    shown = three.corners(None, [0.0])
    assert reference.distance(shown, reference.rest()[None]).max() <= TOLERANCE


def test_three_keeps_materials_and_textures(case, saved, three):
    three.open(saved(case))
    assert all(part.skinned for part in three.primitives)
    materials = case.model.asset.materials
    assert {p.material for p in three.primitives} >= {m.name for m in materials}
    assert {p.material for p in three.primitives if p.textured} == {m.name for m in materials if m.textures}


@pytest.mark.parametrize("name", ["eight influences", "eight influences quantised"])
def test_stock_three_shows_the_four_largest_influences(name, saved, three):
    """three.js reads one set and normalises it, so the first must hold the largest weights."""
    case = next(case for case in make_cases() if case.name == name)
    three.open(saved(case))
    full = read_reference(saved(case), three.corners)
    four = Reference(full.model.with_character(deformer=LinearBlend(_largest(full.model.skin, 4))), full.vertices)
    rounding = 1e-4 if case.options.quantize else 0.0  # normalised 16-bit weights are rounded once more
    assert worst_deviation(four, three.corners) <= TOLERANCE + rounding
    assert worst_deviation(full, three.corners) > 100 * TOLERANCE


def _largest(skin: Skin, count: int) -> Skin:
    order = np.argsort(-skin.weights, axis=1, kind="stable")[:, :count]
    weights = np.take_along_axis(skin.weights, order, axis=1).astype(np.float64)
    weights /= weights.sum(axis=1, keepdims=True)
    return Skin(np.take_along_axis(skin.bones, order, axis=1), weights.astype(np.float32))
