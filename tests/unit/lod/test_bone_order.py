"""The stored form: what it refuses, who follows whom, and errors that never rise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.character import Skin
from osteon.core.errors import GeometryError, OptionError
from osteon.core.transforms import identity
from osteon.lod.bone_order import BoneOrder
from osteon.lod.fit_progressive import fit_progressive
from osteon.lod.progressive_skin import BlendOrder, LevelCurve, LevelPoint, ProgressiveSkin
from osteon_bench.subjects import JointedOptions, make_jointed


def shifted(*shifts: float) -> np.ndarray:
    """(b,3,4) offsets that shift along x."""
    out = identity(len(shifts))
    out[:, 0, 3] = shifts
    return out.astype(np.float32)


def hand_made(**changes: object) -> BoneOrder:
    """Bones 2, 0, 3 in a row, and bone 1, which is never active."""
    parts = {
        "order": np.array([2, 0, 3], np.int32),
        "parents": np.array([2, 0, -1, 0], np.int32),
        "offsets": shifted(1, 10, 100, 1000),
        "errors": np.array([9.0, 4.0, 1.0, 0.0]),
        "base": 8.0,
        "samples": 2,
    }
    return BoneOrder(**{**parts, **changes})


def test_bones_follow_the_nearest_active_one_above():
    order = hand_made()
    leaders, offsets = order.leaders(1)
    np.testing.assert_array_equal(leaders, [2, 2, 2, 2])
    np.testing.assert_array_equal(offsets[:, 0, 3], [1, 11, 0, 1001])
    leaders, offsets = order.leaders(2)
    np.testing.assert_array_equal(leaders, [0, 0, 2, 0])
    np.testing.assert_array_equal(offsets[:, 0, 3], [0, 10, 0, 1000])
    np.testing.assert_array_equal(order.leaders(0)[0], [-1, -1, -1, -1])
    np.testing.assert_array_equal(order.default_pose()[:, 0, 3], [101, 111, 100, 1101])


def test_shares_and_counts():
    order = hand_made()
    np.testing.assert_allclose(order.shares, [9 / 8, 0.5, 1 / 8, 0])
    np.testing.assert_allclose(order.rms, np.sqrt([4.5, 2, 0.5, 0]))
    assert [order.count_for_share(part) for part in (0, 0.25, 0.5, 0.75, 1)] == [1, 1, 2, 2, 3]


def test_a_bone_that_would_raise_the_error_waits():
    order = hand_made(errors=np.array([9.0, 1.0, 4.0, 0.0]))
    np.testing.assert_array_equal(order.active_counts, [0, 1, 1, 3])
    np.testing.assert_allclose(order.shares, [9 / 8, 1 / 8, 1 / 8, 0])


def test_a_still_character_has_no_shares():
    np.testing.assert_array_equal(hand_made(errors=np.zeros(4), base=0.0).shares, 0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"order": np.array([2, 2, 3])}, "each bone once"),
        ({"order": np.array([0, 2, 3])}, "bone 0 comes before its parent"),
        ({"parents": np.array([2, 0, -1, 7])}, "parents: expected -1 … 3"),
        ({"parents": np.array([2, 1, -1, 0])}, "follows bone 1, which is not in the order"),
        ({"errors": np.zeros(2)}, "errors: expected shape"),
        ({"form": "best"}, "form: expected advanced, offset, mean, copy, got 'best'"),
    ],
)
def test_refuses(changes, words):
    with pytest.raises(GeometryError, match=words):
        hand_made(**changes)


def test_refuses_counts_that_are_not_there():
    with pytest.raises(OptionError, match="bones: expected 0 … 3, got 4"):
        hand_made().leaders(4)
    with pytest.raises(OptionError, match="part: expected 0 … 1"):
        hand_made().count_for_share(1.5)


def test_arrays_and_back():
    order = hand_made(clip="walk", form="mean")
    again = BoneOrder.from_arrays(order.arrays(), clip="walk", form="mean")
    assert again.base == order.base
    assert again.samples == 2
    for name in ("order", "parents", "offsets", "errors"):
        np.testing.assert_array_equal(getattr(again, name), getattr(order, name))


def test_a_whole_character_as_arrays_and_back():
    model = make_jointed(1, JointedOptions(joints=5))
    skin = fit_progressive(model).skin
    arrays = skin.arrays()
    again = ProgressiveSkin.from_arrays(arrays, skin.clips)
    assert again.clips == skin.clips
    assert {name: array.tobytes() for name, array in again.arrays().items()} == {
        name: array.tobytes() for name, array in arrays.items()
    }
    with pytest.raises(GeometryError, match="expected arrays 'blends"):
        ProgressiveSkin.from_arrays({k: v for k, v in arrays.items() if not k.startswith("blends")}, skin.clips)
    with pytest.raises(OptionError, match="clip: expected one of clip, got 'walk'"):
        skin.clip_number("walk")
    with pytest.raises(GeometryError, match="one per clip, got 1 and 0"):
        replace(skin, curves=())


def test_a_curve_goes_from_one_to_all():
    curve = LevelCurve([0, 0.5, 1], [1, 1, 5], [1, 3, 3], [2, 1, 0], [0, 0.1, 0.2])
    assert curve.at(0.25) == LevelPoint(1, 2)
    assert curve.at(0.75) == LevelPoint(3, 3)
    assert [curve.level_for_rms(rms) for rms in (5, 1, 0.5)] == [0, 0.5, 1]
    with pytest.raises(OptionError, match="level: expected 0 … 1"):
        curve.at(1.1)
    with pytest.raises(GeometryError, match="never fall"):
        LevelCurve([0, 1], [2, 1], [1, 1], [0, 0], [0, 0])
    with pytest.raises(GeometryError, match="rise from 0 to 1"):
        LevelCurve([0, 0.5], [1, 2], [1, 1], [0, 0], [0, 0])
    with pytest.raises(GeometryError, match="reach: expected numbers of at least 0"):
        LevelCurve([0, 1], [1, 2], [1, 1], [1, 0], [0, -1])


def test_a_level_moves_as_far_as_its_vertices_may():
    curve = LevelCurve([0, 0.5, 0.6, 1], [1, 2, 3, 4], [1, 1, 1, 1], [3, 2, 1, 0], [0, 0.1, 0, 0.2])
    assert curve.moved(0, 1, 0.05) == pytest.approx(0.25)  # half of the first step
    assert curve.moved(0, 1, 0.15) == pytest.approx(0.7)  # the first, one without reach, a quarter of the last
    assert curve.moved(0, 0.5, 1) == 0.5
    assert curve.moved(1, 0, 0.1) == pytest.approx(0.8)
    assert curve.moved(0.6, 0, 0.05) == pytest.approx(0.25)
    assert curve.moved(0.3, 0.3, 0) == 0.3


def test_curves_of_older_files_are_slow():
    known = LevelCurve([0, 1], [1, 2], [1, 1], [1, 0], [0, 0.1])
    arrays = {name: array for name, array in known.arrays().items() if name != "reach"}
    assert LevelCurve.from_arrays(known.arrays()).moved(0, 1, 0.05) == 0.5
    assert LevelCurve.from_arrays(arrays).moved(0, 1, 0.05) == pytest.approx(0.1)


def test_refuses_what_does_not_fit():
    skin = Skin(np.zeros((3, 2), np.int32), np.full((3, 2), 0.5))
    with pytest.raises(GeometryError, match="heirs: expected an earlier slot for each"):
        BlendOrder(skin, np.array([0, 1]), np.zeros(2))
    with pytest.raises(OptionError, match="blends: expected 1 … 2, got 3"):
        BlendOrder(skin, np.array([0, 0]), np.zeros(2)).weights(3)
