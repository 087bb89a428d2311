"""The light of a model: its frames of reference, key frames, colours, and arrays for files."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.apply.light.coarse import surface_shares
from osteon.apply.light.compress import compress_transfer
from osteon.apply.light.model_light import Environment, ModelLight
from osteon.apply.light.options import LightColorOptions, LightOptions
from osteon.apply.light.precompute import (
    FrameFolder,
    LightPlan,
    axes_with,
    between_keys,
    key_frames,
    transfer_of_keys,
)
from osteon.apply.light.shade import ground_colors, light_colors, occlusion
from osteon.apply.light.vertex_frames import bone_rotations, rotations_between, vertex_rotations
from osteon.core.animation import Clip
from osteon.core.character import Skin
from osteon.core.errors import GeometryError, OptionError
from osteon.core.mesh import Mesh
from osteon.core.model import StoredLight
from osteon.deform.pose import pose_frames
from osteon.pipeline.light import LightRun, fit_light, rank_rows, shown_colors
from osteon.synth.shapes import make_sphere
from tests.leveled import make_levels
from tests.light_models import ENVIRONMENTS, SMALL, lit_body, moving_body


def test_frames_of_one_bone_are_its_rotation_and_blends_lie_between():
    turns = Rotation.from_rotvec([[0, 0, 0], [0, 0, 1.0]])
    skin = Skin(np.array([[0, 1], [1, 0], [0, 1]]), np.array([[1, 0], [1, 0], [0.5, 0.5]], np.float32))
    for sign in (1, -1):  # both quaternions of a rotation
        found = vertex_rotations(skin, turns.as_quat() * [[1], [sign]])
        np.testing.assert_allclose(found[:2], turns.as_matrix(), atol=1e-12)
        np.testing.assert_allclose(found[2], Rotation.from_rotvec([0, 0, 0.5]).as_matrix(), atol=1e-12)


def test_opposite_rotations_leave_the_heavier_bone():
    half = np.array([[0, 0, 0, 1.0], [0, 0, 1.0, 0]])
    skin = Skin(np.array([[0, 1]]), np.array([[0.5, 0.5]], np.float32))
    found = vertex_rotations(skin, half * [[1], [1]])
    assert np.isfinite(found).all()
    assert np.linalg.det(found[0]) == pytest.approx(1)


def test_bones_turn_the_short_way_between_frames():
    quaternions = np.stack([Rotation.from_rotvec([[0, a, 0]]).as_quat() for a in (0.0, 1.0)])
    quaternions[1] *= -1
    found = Rotation.from_quat(rotations_between(quaternions, 0.5)).as_rotvec()
    np.testing.assert_allclose(found, [[0, 0.5, 0]], atol=1e-9)
    rotations = bone_rotations(moving_body())
    assert (np.einsum("fbi,fbi->fb", rotations[1:], rotations[:-1]) > 0).all()


@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_axes_of_the_ground_are_right_handed(up):
    axes = axes_with(up)
    np.testing.assert_array_equal(axes[2], np.eye(3)["xyz".index(up)])
    np.testing.assert_array_equal(np.cross(axes[0], axes[1]), axes[2])


def test_key_frames_have_both_ends_of_every_clip():
    clips = (Clip("a", 0, 5, 24.0), Clip("b", 5, 6, 24.0), Clip("c", 6, 10, 24.0))
    np.testing.assert_array_equal(key_frames(clips, 3), [0, 3, 4, 5, 6, 9])
    np.testing.assert_array_equal(key_frames(clips, 1), np.arange(10))
    values = np.array([[0.0], [3], [7], [1], [2], [5]])
    found = between_keys(values, key_frames(clips, 3), clips)[:, 0]
    np.testing.assert_allclose(found, [0, 1, 2, 3, 7, 1, 2, 3, 4, 5])


def test_colors_of_full_rank_are_those_of_the_uncompressed_transfer():
    from osteon.apply.light.harmonics import rotate_sh
    from osteon.apply.light.transfer import frame_transfer

    options = replace(SMALL, rank=11)
    light = lit_body(rank=11)
    plan = LightPlan.of(moving_body(), options)
    for frame in (0, 7):
        scene = plan.scene(frame)
        found = frame_transfer(scene, options, "tree")
        for environment in ENVIRONMENTS:
            seen = light.seen.astype(float) @ environment.coefficients
            expected = np.maximum(0, rotate_sh(found.transfer, scene.shaded.rotations) @ seen)
            shown = light_colors(moving_body(), light, environment, frame)
            np.testing.assert_allclose(shown, expected, atol=4e-3)
            under = np.maximum(0, found.ground @ environment.coefficients[:16])
            np.testing.assert_allclose(ground_colors(light, environment, frame), under, atol=4e-3)


def test_the_ground_lies_below_all_frames_and_follows_the_body():
    ground = lit_body().ground
    posed = pose_frames(moving_body())
    np.testing.assert_allclose(ground.centers[:, 1], posed[..., 1].min(), atol=1e-6)
    np.testing.assert_allclose(ground.centers[:, [0, 2]], posed.mean(axis=1)[:, [0, 2]], atol=1e-5)
    assert ground.half == pytest.approx(0.8 * np.linalg.norm(np.ptp(posed[0], axis=0)), rel=1e-5)


def test_errors_fall_with_rank_and_moments_between_frames_are_continuous():
    light = lit_body()
    assert (np.diff(light.transfer.errors) < 0).all()
    model, environment = moving_body(), ENVIRONMENTS[0]
    at = [light_colors(model, light, environment, moment) for moment in (3.0, 3.001, 3.999, 4.0)]
    step = np.abs(at[3] - at[0]).max()
    assert np.abs(at[1] - at[0]).max() < 0.01 * step + 1e-3
    assert np.abs(at[3] - at[2]).max() < 0.01 * step + 1e-3
    np.testing.assert_array_equal(
        light_colors(model, light, environment, 99.0), light_colors(model, light, environment, 11.0)
    )


def test_arrays_and_header_are_the_light():
    light = lit_body(baked=True)
    stored = light.stored()
    again = ModelLight.from_stored(stored)
    assert again.header() == light.header()
    for name, array in light.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)
    assert light.n_bytes == sum(array.nbytes for array in stored.arrays.values())


@pytest.mark.parametrize("missing", ["mean", "seen", "ground.centers", "environments", "baked.colors"])
def test_a_damaged_light_is_named(missing):
    stored = lit_body(baked=True).stored()
    arrays = {name: array for name, array in stored.arrays.items() if name != missing}
    with pytest.raises(GeometryError, match="damaged"):
        ModelLight.from_stored(StoredLight(arrays, stored.header))


def test_light_of_another_model_is_refused():
    with pytest.raises(GeometryError, match="compute it again"):
        lit_body().check_fit(moving_body().take_frames(np.arange(3, dtype=np.int32)))


def test_occlusion_is_the_first_coefficient_alone():
    alone, whole = lit_body(occlusion=True), lit_body()
    assert alone.is_occlusion
    assert alone.environments == ()
    assert alone.transfer.mean.shape[1] == 1
    found = occlusion(alone, 5.0)
    assert 0 <= found.min() < 0.6
    assert found.max() == pytest.approx(1, abs=0.02)
    np.testing.assert_allclose(found, occlusion(whole, 5.0), atol=0.2)
    assert alone.n_bytes < 0.2 * whole.n_bytes


def test_baked_colors_are_close_to_the_relit_ones():
    light = lit_body(baked=True, rank=11)
    errors = np.array(light.baked.errors)
    assert (np.diff(errors) <= 1e-9).all()
    model = moving_body()
    expected = [light_colors(model, light, ENVIRONMENTS[0], f) for f in range(model.n_frames)]
    apart = np.array([light.baked.at(f) - expected[f] for f in range(model.n_frames)])
    assert np.sqrt((apart**2).mean()) < 1.5 * errors[-1] * np.sqrt(np.mean(np.square(expected))) + 0.01
    assert lit_body(baked=True, monochrome=True).baked.colors.shape[2] == 1


def test_baked_colors_need_an_environment():
    with pytest.raises(OptionError, match="need an environment"):
        fit_light(moving_body(), options=replace(SMALL, baked=True))


def test_threads_and_finished_frames_do_not_change_the_result(tmp_path):
    model, folder = moving_body(), tmp_path / "frames"
    plan = LightPlan.of(model, replace(SMALL, every=3))
    first = transfer_of_keys(plan, folder=FrameFolder(folder))
    written = sorted(folder.iterdir())
    assert len(written) == len(plan.keys)
    written[1].write_bytes(written[1].read_bytes()[:100])  # a damaged one
    os.remove(written[2])
    again = FrameFolder(folder)
    resumed = transfer_of_keys(plan, folder=again)
    assert len(again.found) == len(plan.keys) - 2
    two = transfer_of_keys(LightPlan.of(model, replace(SMALL, every=3, threads=2)))
    for found in (resumed, two):
        np.testing.assert_array_equal(found.transfer, first.transfer)
        np.testing.assert_array_equal(found.ground, first.ground)
    other = FrameFolder(folder)
    transfer_of_keys(LightPlan.of(model, replace(SMALL, every=3, directions=96)), folder=other)
    assert other.found == []
    (folder / "kept.txt").write_text("mine")
    other.remove()
    assert [path.name for path in folder.iterdir()] == ["kept.txt"]


def test_progress_covers_all_frames():
    events = []
    fit_light(moving_body(), ENVIRONMENTS, options=SMALL, progress=events.append)
    light = [event.fraction for event in events if event.stage == "light"]
    assert (light[0], light[-1]) == (0, 1)
    assert len(light) == moving_body().n_frames + 1


def test_every_nth_frame_is_interpolated():
    whole, part = lit_body(rank=11), lit_body(every=4, rank=11)
    model = moving_body()
    shown = [[light_colors(model, each, ENVIRONMENTS[0], f) for f in (0, 4, 8, 11)] for each in (whole, part)]
    np.testing.assert_allclose(*shown, atol=6e-3)  # computed frames are the same
    assert part.transfer.rank <= 3


def test_coarse_meshes_have_the_light_of_the_surface():
    model = moving_body()
    levels = make_levels(model)
    light = fit_light(model, ENVIRONMENTS, options=replace(SMALL, baked=True), levels=levels)
    assert len(light.coarse) == 2
    whole = {tuple(point): v for v, point in enumerate(model.rest)}
    for coarse, character in zip(light.coarse, levels.coarse, strict=True):
        own = [whole[tuple(point)] for point in character.mesh.rest]
        same = np.abs(coarse.mean.astype(float) - light.transfer.mean[own]).max(axis=1) < 5e-3
        assert same.mean() > 0.9  # where balls touch the closest triangle may be another
        assert coarse.basis.shape == (light.transfer.rank, character.mesh.n_normals, 16)
        assert coarse.colors.shape[1] == character.mesh.n_normals
    again = ModelLight.from_stored(light.stored())
    np.testing.assert_array_equal(again.coarse[1].basis, light.coarse[1].basis)


def test_shares_of_a_coarse_ball_interpolate_a_smooth_field():
    fine, coarse = make_sphere(4, 1.0), make_sphere(2, 1.0)
    meshes = [Mesh(shape.vertices.astype("f4"), shape.faces) for shape in (fine, coarse)]
    found = surface_shares(*meshes)
    np.testing.assert_allclose(found.shares.sum(axis=1), 1)
    field = fine.vertices.astype(np.float16)
    np.testing.assert_allclose(found.of(field), coarse.vertices, atol=0.01)


def test_players_get_colors_around_their_mean():
    model, light = moving_body(), lit_body(baked=True)
    morphed = shown_colors(model, light, LightColorOptions(), morphed=True)[0]
    assert not morphed.lit
    assert len(morphed.columns) == 4
    np.testing.assert_allclose(morphed.weights.mean(axis=0), 0, atol=1e-5)
    played = morphed.base + np.tensordot(morphed.weights, morphed.columns, axes=1)
    brightest = max(light.baked.at(f).max() for f in range(model.n_frames))
    np.testing.assert_allclose(played[5], light.baked.at(5) / brightest, atol=2e-3)
    assert played.max() == pytest.approx(1, abs=1e-3)
    static = shown_colors(model, light, LightColorOptions(exposure=0.5), morphed=False)[0]
    assert len(static.columns) == 0
    np.testing.assert_allclose(static.base, 0.5 * brightest * morphed.base, rtol=1e-4, atol=1e-5)
    assert shown_colors(model, light, LightColorOptions(colors="none"), morphed=False) == ()
    shade = shown_colors(model, lit_body(occlusion=True), LightColorOptions(), morphed=True)[0]
    assert shade.lit
    assert shade.base.max() <= 1


def test_colors_need_an_environment():
    light = replace(lit_body(), environments=())
    with pytest.raises(OptionError, match="without an environment"):
        shown_colors(moving_body(), light, LightColorOptions(), morphed=False)


def test_the_table_lists_every_rank():
    rows = rank_rows(lit_body(baked=True))
    assert [row.rank for row in rows] == [0, 1, 2, 3, 4]
    assert rows[0].baked_percent is None
    assert rows[2].error_percent == pytest.approx(100 * lit_body().transfer.errors[2])
    mean = lit_body().transfer.mean
    assert rows[2].bytes - rows[1].bytes == 2 * mean.size + 4 * 12


REFUSED = (
    *({"order": 2}, {"order": 6}, {"bounces": -1}, {"albedo": 0.0}, {"directions": 8}, {"every": 0}),
    *({"monochrome": True}, {"albedo": 0.3}, {"occlusion": True, "order": 5}, {"occlusion": True, "bounces": 1}),
    {"ground": False, "ground_points": 9},
)


@pytest.mark.parametrize("changes", REFUSED)
def test_options_out_of_range_or_without_effect_are_refused(changes):
    with pytest.raises(OptionError):
        LightOptions(**changes)


def test_nothing_to_light_is_named():
    model = moving_body()
    with pytest.raises(GeometryError, match="no triangles"):
        fit_light(model.with_mesh(faces=np.zeros((0, 3), np.int32)), ENVIRONMENTS, options=SMALL)
    with pytest.raises(GeometryError, match="not finite"):
        Environment("bad", np.full((25, 3), np.nan))


def test_a_run_with_a_folder_is_the_same(tmp_path):
    folder = tmp_path / "out.glb.frames"
    found = fit_light(moving_body(), ENVIRONMENTS, options=SMALL, run=LightRun(folder, "tree"))
    assert folder.is_dir()  # the command removes it when the output is written
    np.testing.assert_array_equal(
        found.transfer.basis,
        fit_light(moving_body(), ENVIRONMENTS, options=SMALL, run=LightRun(rays="tree")).transfer.basis,
    )


def test_compression_in_the_bones_frames_is_better():
    from osteon.apply.light.harmonics import rotate_sh

    plan = LightPlan.of(moving_body(), LightOptions(directions=64, ground=False, threads=1))
    keys = transfer_of_keys(plan)
    world = np.stack([rotate_sh(t, plan.scene(f).shaded.rotations) for f, t in enumerate(keys.transfer)])
    own, other = (compress_transfer(each, 3).errors[3] for each in (keys.transfer, world))
    assert own < 0.8 * other
