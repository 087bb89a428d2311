"""The true rig of a model, reduced to the joints that its motion shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.measure.skeleton_score import score_rig
from osteon_bench.subjects import JointedOptions, make_jointed
from osteon_bench.true_rigs import true_rig


def test_joints_that_rotate_count_and_the_others_belong_to_their_parents() -> None:
    model = make_jointed(3, JointedOptions(joints=9, frames=20, swing=0.5))
    rig = true_rig(model)
    assert 1 < len(rig.joints) < 9  # the smallest swing is a thirtieth of the largest
    np.testing.assert_allclose(rig.weights.sum(axis=1), 1, atol=1e-6)
    assert (rig.parents < 0).sum() == 1
    assert score_rig(rig, rig).body == 1


def test_a_rest_frame_moves_joints_and_surface_alike() -> None:
    model = make_jointed(3, JointedOptions(joints=5, frames=12, swing=1.2))
    rig, posed = true_rig(model), true_rig(model, rest_frame=7)
    assert posed.parents.tolist() == rig.parents.tolist()
    nearest = np.linalg.norm(rig.rest[None] - rig.joints[:, None], axis=2)
    assert np.abs(posed.joints - rig.joints).max() > 1e-3
    assert (
        np.abs(np.linalg.norm(posed.rest[None] - posed.joints[:, None], axis=2).min(axis=1) - nearest.min(axis=1)).max()
        < 0.2
    )


def test_several_roots_become_one_tree() -> None:
    model = make_jointed(1, JointedOptions(joints=8, roots=2, frames=12, swing=1.2))
    assert (true_rig(model).parents < 0).sum() == 1


def test_a_model_without_a_skeleton_has_no_true_rig() -> None:
    model = make_jointed(1)
    with pytest.raises(GeometryError, match="expected a model with a skeleton"):
        true_rig(replace(model, character=replace(model.character, skeleton=None)))
