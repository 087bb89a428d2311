"""How far a step between two levels moves vertices, against posing both."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.deform.pose import blend_dense
from osteon.lod.bone_order import pose_at_count
from osteon.lod.fit_progressive import fit_progressive
from osteon_bench.subjects import JointedOptions, make_jointed


@pytest.mark.parametrize("seed", [1, 5])
def test_reach_is_the_largest_way_of_a_vertex(seed):
    model = make_jointed(seed, JointedOptions(joints=7, frames=16, influences=4))
    skin = fit_progressive(model).skin
    curve, order = skin.curves[0], skin.orders[0]
    exact = model.animation.transforms.astype(np.float64)
    dense = {}
    for blends in np.unique(curve.blends):
        weights = np.zeros((model.n_vertices, model.n_bones))
        np.add.at(weights, (np.arange(model.n_vertices)[:, None], skin.blends.bones), skin.blends.weights(blends))
        dense[blends] = weights
    posed = [
        blend_dense(model.rest, dense[k], pose_at_count(order, exact, n))
        for n, k in zip(curve.bones, curve.blends, strict=True)
    ]
    assert curve.reach[0] == 0
    for number in range(1, len(posed)):
        way = np.linalg.norm(posed[number] - posed[number - 1], axis=2).max() / model.diagonal
        together = np.diff(order.active_counts).max() > 1
        assert curve.reach[number] >= way * (1 - 1e-5)
        if not together:
            assert curve.reach[number] == pytest.approx(way, rel=1e-4, abs=1e-6)


def test_every_bone_is_a_step_of_its_own():
    curve = fit_progressive(make_jointed(2, JointedOptions(joints=9, influences=4))).skin.curves[0]
    steps = np.stack([np.diff(curve.bones), np.diff(curve.blends)])
    assert set(steps.sum(axis=0).tolist()) == {1.0}
