"""Models with their levels: what is stored comes back, and what does not fit is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.deform.pose import pose_frames
from osteon.io import SaveOptions, load_model, save_model
from osteon.lod.model_levels import Level, ModelLevels, load_levels, save_levels
from osteon.lod.options import LodOptions
from osteon.pipeline.levels import fit_levels
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.lod_rigs import two_clips
from tests.tolerance import assert_same_points


@pytest.fixture(scope="module")
def levels() -> ModelLevels:
    jointed = JointedOptions(joints=5, vertices=40)
    model = two_clips(make_jointed(1, jointed), make_jointed(1, replace(jointed, swing=0.2)))
    return fit_levels(model, options=LodOptions(triangles="50%,25%", threads=1)).levels


def assert_same_levels(found: ModelLevels, expected: ModelLevels) -> None:
    assert found.levels == expected.levels
    assert found.skin.clips == expected.skin.clips
    assert found.skin.all_clips.form == expected.skin.all_clips.form
    assert_same_arrays(found.skin.arrays(), expected.skin.arrays(), "blends.")
    for one, other in zip(found.coarse, expected.coarse, strict=True):
        assert_same_arrays(one.blends.arrays(), other.blends.arrays(), "")


def assert_same_arrays(found, expected, blends: str) -> None:
    """Slots without weight may name any bone."""
    used = expected[f"{blends}weights"] != 0
    for name, array in expected.items():
        kept = used if name == f"{blends}bones" else ...
        np.testing.assert_array_equal(found[name][kept], array[kept], err_msg=name)


@pytest.mark.parametrize("suffix", [".glb", ".npz"])
def test_levels_in_files(levels, suffix, tmp_path):
    save_levels(levels, tmp_path / f"a{suffix}")
    found = load_levels(tmp_path / f"a{suffix}")
    assert_same_levels(found, levels)
    assert len(found.coarse) == 2
    for level in levels.levels:
        for clip in ("one", "two"):
            assert_same_points(pose_frames(found.clip_at(level, clip)), pose_frames(levels.clip_at(level, clip)), 2e-6)


def test_the_model_stays_as_it_was(levels):
    jointed = JointedOptions(joints=5, vertices=40)
    model = two_clips(make_jointed(1, jointed), make_jointed(1, replace(jointed, swing=0.2)))
    assert_same_points(pose_frames(levels.model), pose_frames(model))


def test_a_file_without_levels(levels, tmp_path):
    for suffix in (".glb", ".npz", ".usda"):
        save_model(levels.model, tmp_path / f"a{suffix}")
        assert load_levels(tmp_path / f"a{suffix}") is None


def test_an_engine_that_shows_all_meshes_gets_one(levels, tmp_path):
    save_levels(levels, tmp_path / "a.glb", options=SaveOptions(engine="raylib"))
    found = load_levels(tmp_path / "a.glb")
    assert found.coarse == ()
    assert [level.bones for level in found.levels] == [level.bones for level in levels.levels]
    assert {level.mesh for level in found.levels} == {0}
    assert load_model(tmp_path / "a.glb").n_vertices == levels.model.n_vertices


def test_parts_of_the_screen_fall(levels):
    assert len(levels.coverage) == 3
    assert levels.coverage[0] > levels.coverage[1] > levels.coverage[2] == 0
    assert levels.on_own_mesh().coverage == ()


def test_a_level_that_is_not_there(levels):
    with pytest.raises(OptionError, match="expected 0 … 2, got 3"):
        levels.level(3)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"levels": [{}]}, "KeyError"),
        ({"levels": [{"bones": 99}]}, "KeyError"),
        ({"clips": [["one", "advanced"]]}, "clips"),
        ({"clips": [["one", "nonsense"], ["two", "copy"]]}, "form"),
        ({"clips": 7}, "TypeError"),
        ({"all_form": 3}, "form"),
    ],
)
def test_headers_that_lie_are_refused(levels, change, told):
    stored = levels.to_stored()
    with pytest.raises(GeometryError, match=told):
        ModelLevels.from_stored(levels.model, replace(stored, header={**stored.header, **change}))


def test_arrays_that_lie_are_refused(levels):
    stored = levels.to_stored()
    for name in ("clip0.order", "curve1.levels", "blends.heirs", "coarse1.errors"):
        fewer = {key: array for key, array in stored.arrays.items() if key != name}
        with pytest.raises(GeometryError):
            ModelLevels.from_stored(levels.model, replace(stored, arrays=fewer))
    bad = stored.arrays | {"clip0.parents": np.full(levels.model.n_bones, 99, np.int32)}
    with pytest.raises(GeometryError, match="parents"):
        ModelLevels.from_stored(levels.model, replace(stored, arrays=bad))


def test_levels_of_another_model_are_refused(levels):
    other = make_jointed(1, JointedOptions(joints=4, vertices=40))
    with pytest.raises(GeometryError, match="but the model has 4 bones, 1 clips"):
        ModelLevels(other, levels.skin, levels.levels)
    with pytest.raises(GeometryError, match="refer to mesh 5"):
        replace(levels, levels=(Level(1, 1, 5, 10),))
    with pytest.raises(GeometryError, match="exceed those of the model"):
        replace(levels, levels=(Level(99, 1, 0, 10),))
    with pytest.raises(GeometryError, match="level"):
        Level(1, 0, 0, 10)
    with pytest.raises(GeometryError, match="finite"):
        Level(1, 1, 0, 10, rms_percent=float("nan"))
