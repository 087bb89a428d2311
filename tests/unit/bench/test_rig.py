"""The bench of rigs: the joints of a stick figure, and every measure of a score as a row."""

from __future__ import annotations

import numpy as np

from osteon.measure.skeleton_score import score_rig
from osteon_bench.rig import _pivots, _score_rows
from osteon_bench.subjects import JointedOptions, make_jointed
from osteon_bench.true_rigs import true_rig


def test_every_bone_rotates_about_its_first_end() -> None:
    places = np.arange(15.0).reshape(5, 3)
    edges = np.array([[0, 1], [0, 2], [1, 3], [1, 4]])
    np.testing.assert_array_equal(_pivots(places, edges), places[[0, 1, 1]])


def test_every_measure_is_a_row() -> None:
    rig = true_rig(make_jointed(3, JointedOptions(joints=5, frames=12, swing=1.2)))
    score = score_rig(rig, rig)
    rows = {row.metric: row.value for row in _score_rows("itself", score)}
    assert len(rows) == 14
    assert rows["true joints"] == rows["joints found"] == score.n_true
    for metric in ("precision", "recall", "handle", "handles above 0.7", "body handle", "handle, any root"):
        assert rows[metric] == 1
    assert rows["wrong edges"] == rows["joints with mixed sides"] == 0
