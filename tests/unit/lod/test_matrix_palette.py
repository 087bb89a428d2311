"""Matrix palettes: vertices read one matrix each, and those that need the same share it."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.character import Skin
from osteon.deform.pose import blends_of, pose_frames
from osteon.lod.fit_progressive import fit_progressive
from osteon.lod.level_curve import LevelPoint
from osteon.lod.matrix_palette import matrix_palette, same_matrices
from osteon.lod.model_at_level import model_at_level
from osteon.synth.jointed import make_jointed
from tests.posable import posable_model


def test_by_hand():
    skin = Skin([[0, 1], [1, 0], [2, 2], [2, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5], [0.25, 0.75], [1, 0], [0.25, 0.75]])
    palette = matrix_palette(skin)
    of = palette.entry_of_vertex
    assert palette.n_entries == 3
    assert of[0] == of[1] != of[4]
    assert of[2] == of[3]
    merged = matrix_palette(skin, np.array([0, 0, 2]))
    assert merged.n_entries == 2
    np.testing.assert_array_equal(merged.entries.weights[merged.entry_of_vertex[0]], [1, 0])


@pytest.mark.parametrize("dual", [False, True])
def test_plays_the_same_with_fewer_matrices(dual):
    model = posable_model(dual=dual)
    skin = fit_progressive(model).skin
    order, entries = skin.orders[0], []
    for count, blends in ((5, 3), (3, 2), (1, 1)):
        at = model_at_level(model, skin, "clip", LevelPoint(count, blends))
        palette = matrix_palette(at.skin, same_matrices(order, int(order.active_counts[count])))
        transforms = at.animation.transforms[3].astype(np.float64)
        expected = blends_of(at.deformer, transforms)
        found = palette.blend(at.deformer, transforms)[palette.entry_of_vertex]
        np.testing.assert_allclose(found, expected, atol=1e-6)
        entries.append(palette.n_entries)
    assert entries[0] >= entries[1] > entries[2]
    assert entries[2] <= model.n_bones


def test_bones_that_copy_one_are_one():
    model = make_jointed(1)
    order = fit_progressive(model, form="copy").skin.orders[0]
    assert len(np.unique(same_matrices(order, 1))) == 1
    assert len(np.unique(same_matrices(order, order.n_ordered))) == model.n_bones
    assert pose_frames(model).shape[1] == model.n_vertices
