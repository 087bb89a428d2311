"""Between two clips at a level: each end is a clip, rigid stays rigid, and no vertex jumps on the way."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.transforms import rotation_from_axis_angle
from osteon.deform.pose import blend_dense
from osteon.lod.blend_clips import ClipBlend, blend_poses
from osteon.lod.fit_progressive import fit_progressive
from osteon.lod.level_player import LevelPlayer, local_keys, plan_level, rest_pivots
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.lod_rigs import two_clips

OPTIONS = JointedOptions(joints=6)


@pytest.fixture(scope="module")
def model():
    return two_clips(make_jointed(1, OPTIONS), make_jointed(1, replace(OPTIONS, swing=1.2)))


def players(model, bones: float) -> list[LevelPlayer]:
    skin, found = fit_progressive(model).skin, []
    for order, clip in zip(skin.orders, model.clips, strict=True):
        found.append(LevelPlayer(local_keys(model, order, clip.start, clip.stop), order, plan_level(order, bones)))
    return found


@pytest.mark.parametrize("bones", [1, 2.5, 6])
def test_ends_are_the_clips_and_steps_are_even(model, bones):
    first, second = players(model, bones)
    blend, frames = ClipBlend(first, second, rest_pivots(model)), [1.5]
    weights = model.skin.dense(model.n_bones)
    posed = [blend_dense(model.rest, weights, blend.prepare(frames, [3.25], part))[0] for part in np.linspace(0, 1, 11)]
    np.testing.assert_array_equal(blend.prepare(frames, [3.25], 0.0), first.prepare(frames))
    np.testing.assert_array_equal(blend.prepare(frames, [3.25], 1.0), second.prepare([3.25]))
    whole = np.linalg.norm(posed[-1] - posed[0], axis=1).max()
    steps = [np.linalg.norm(b - a, axis=1).max() for a, b in pairwise(posed)]
    assert max(steps) <= 0.2 * whole + 1e-6


def test_rigid_poses_stay_rigid_and_pivots_go_straight():
    rng = np.random.default_rng(0)
    turns = rotation_from_axis_angle(rng.normal(size=(2, 4, 3)), rng.uniform(-1.4, 1.4, (2, 4)))
    first, second = np.concatenate([turns, rng.normal(size=(2, 4, 3, 1))], axis=-1)[:, None]
    pivots = rng.normal(size=(4, 3))
    for part in (0.25, 0.5, 0.9):
        found = blend_poses(first, second, pivots, part)
        squares = found[..., :3] @ np.swapaxes(found[..., :3], -1, -2)
        np.testing.assert_allclose(squares, np.broadcast_to(np.eye(3), squares.shape), atol=1e-12)
        at = [(p[0, :, :, :3] @ pivots[:, :, None])[..., 0] + p[0, :, :, 3] for p in (first, second, found)]
        np.testing.assert_allclose(at[2], (1 - part) * at[0] + part * at[1], atol=1e-12)
    np.testing.assert_allclose(blend_poses(first, first, pivots, 0.5), first, atol=1e-12)


def test_refuses_parts():
    pose = np.zeros((1, 1, 3, 4))
    with pytest.raises(OptionError, match="part: expected 0 … 1, got 2"):
        blend_poses(pose, pose, np.zeros((1, 3)), 2)
