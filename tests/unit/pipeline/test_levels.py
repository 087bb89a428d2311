"""Levels of a model: what is asked for is kept, all else is as coarse as the same error allows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack
from osteon.core.character import Skeleton, Skin
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.pose import pose_frames
from osteon.deform.pose_skeleton import transforms_of_joint_rotations
from osteon.io import SaveOptions, load_model, save_model
from osteon.lod.mesh.simplify import measure_level
from osteon.lod.options import FARTHEST, LodOptions
from osteon.pipeline import level_measures, levels
from osteon.pipeline.level_measures import MeshError, measure_costs, measure_shown
from osteon.pipeline.level_pictures import MOST, VIEWS, LevelPictures
from osteon.pipeline.levels import (
    LevelsFit,
    MeshLadder,
    bake_found,
    file_sizes,
    fit_levels,
    level_at,
    stored_fit,
)
from osteon.synth.shapes import join_shapes, make_ball
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.contract.families import animation_space
from tests.lod_rigs import two_clips
from tests.unit.lod.test_fit_progressive import ODD, still

JOINTED = JointedOptions(joints=7, vertices=60)


def character():
    return two_clips(make_jointed(1, JOINTED), make_jointed(1, replace(JOINTED, swing=0.3)))


@pytest.fixture(scope="module")
def by_error() -> LevelsFit:
    return fit_levels(character(), options=LodOptions(max_error="0.5,1,3", threads=1))


def assert_falling(found: LevelsFit) -> None:
    levels = found.levels.levels
    assert levels[0].bones == found.levels.skin.n_ordered
    assert (levels[0].mesh, levels[0].rms_percent, levels[0].pixels) == (0, 0, 0)
    for one, other in pairwise(levels):
        assert other.bones <= one.bones
        assert other.blends <= one.blends
        assert other.triangles <= one.triangles
        assert other.mesh >= one.mesh


def test_errors_are_kept(by_error):
    assert_falling(by_error)
    for level, bound in zip(by_error.levels.levels[1:], (0.5, 1, 3), strict=True):
        assert level.rms_percent <= bound
        assert level.worst_percent >= level.rms_percent
        assert level.pixels <= 100 / level.rms_percent + 1e-9
    assert by_error.levels.levels[-1].bones < 7
    assert by_error.levels.levels[-1].triangles < len(by_error.levels.model.faces)
    assert by_error.reached


def test_what_is_printed_is_what_the_file_of_a_level_shows(by_error, tmp_path):
    levels = by_error.levels
    for number, level in enumerate(levels.levels[1:], 1):
        save_model(levels.baked(level), tmp_path / "level.glb")
        shown, whole = load_model(tmp_path / "level.glb"), levels.mesh_model(level.mesh)
        worst = []
        for clip in levels.model.clips:
            exact = pose_frames(whole, clip.start, clip.stop).astype(np.float64)
            apart = np.linalg.norm(pose_frames(shown, clip.start, clip.stop) - exact, axis=-1)
            worst.append(100 * np.sqrt((apart**2).mean()) / levels.model.diagonal)
        assert np.hypot(max(worst), level.mesh_rms_percent) == pytest.approx(level.rms_percent, rel=1e-3), number


def test_a_level_looks_like_its_model_at_its_size():
    found = fit_levels(character(), options=LodOptions(screen="60", levels=2, threads=1))
    level, pictures = found.levels.levels[1], LevelPictures.of(found.levels.model)
    assert level.pixels == 60
    assert level.bones < 7
    assert pictures.p95(found.levels.baked(level), 60) <= MOST
    coarse = replace(level, bones=2, blends=1)
    assert pictures.p95(found.levels.baked(coarse), 60) > MOST
    assert 0 < pictures.largest_size(found.levels.baked(coarse), 300) < 60


def test_a_level_that_is_far_off_is_rejected_by_its_first_pictures(monkeypatch):
    """And the clip in which it was comes first for the next one."""
    levels = fit_levels(character(), options=LodOptions(screen="60", levels=2, keep_mesh=True, threads=1)).levels
    pictures, drawn = LevelPictures.of(levels.model), []
    flip = LevelPictures._flip
    monkeypatch.setattr(LevelPictures, "_flip", lambda *given: drawn.append(given[3]) or flip(*given))
    coarse, near = (levels.baked(replace(levels.level(1), bones=bones, blends=1)) for bones in (1, 7))
    exact = [pictures.clip_p95(coarse, clip, 60) for clip in range(2)]
    assert min(exact) > 2 * MOST
    drawn.clear()
    assert not pictures.alike(coarse, 60)
    assert 0 < len(drawn) < VIEWS
    assert set(drawn) == {pictures._order[0]}
    bound = pictures.clip_p95(near, 1, 60)
    assert pictures.clip_p95(near, 1, 60, most=1.01 * bound) == bound  # never rejected below its bound


def test_small_models_are_compared_in_every_frame(monkeypatch):
    """A level with all bones and a coarser mesh: the worst distance is that of the worst frame."""
    found, frames = fit_levels(character(), options=LodOptions(triangles="50%", levels=2, threads=1)), []
    whole, model = found.levels.mesh_model(1), found.levels.model
    monkeypatch.setattr(
        level_measures, "measure_level", lambda *given, **more: frames.append(given[3]) or measure_level(*given, **more)
    )
    measured = measure_shown(model, whole, whole, MeshError(0.0, 0.0))
    assert np.array_equal(np.concatenate(frames), np.arange(model.n_frames))
    beside = np.full(model.n_vertices, -1, np.int32)
    exact = [measure_level(model, whole, beside, np.array([f], np.int32)).worst.distance for f in range(model.n_frames)]
    assert measured.worst == pytest.approx(max(exact))


def test_candidate_meshes_are_made_when_they_are_tried():
    model = make_jointed(4, JointedOptions(joints=3, vertices=400))
    ladder = MeshLadder.of(model, LodOptions(screen="60", threads=1), None)
    sizes = np.array([len(model.faces), *ladder.counts])
    assert (sizes[1:-1] >= 0.9 * sizes[:-2]).all()  # a step is a twelfth, but for whole numbers
    assert len(ladder.tried) == 1
    assert len(ladder.counts) > 10
    assert ladder.triangles(3) <= ladder.counts[2]
    assert [mesh.n_triangles for mesh in ladder.tried] == [ladder.triangles(3), ladder.counts[-1]]


def test_by_screen_is_by_error():
    found = fit_levels(character(), options=LodOptions(screen="100", levels=3, keep_mesh=True, threads=1))
    assert_falling(found)
    assert found.levels.coarse == ()
    assert [level.pixels for level in found.levels.levels[1:]] == [200, 100]


def test_by_bones_is_exact():
    found = fit_levels(character(), options=LodOptions(bones="5,50%,1", threads=1))
    assert [level.bones for level in found.levels.levels] == [7, 5, 4, 1]
    assert_falling(found)
    with pytest.raises(OptionError, match="bones: asked for 9, but the model uses 7"):
        fit_levels(character(), options=LodOptions(bones="9,3", threads=1))


def test_by_triangles_is_kept_or_told():
    found = fit_levels(character(), options=LodOptions(triangles="400,200", threads=1))
    assert [level.triangles <= most for level, most in zip(found.levels.levels[1:], (400, 200), strict=True)] == [
        True
    ] * 2
    assert_falling(found)
    assert found.reached
    lost = fit_levels(make_jointed(1, JOINTED), options=LodOptions(triangles="1", levels=2, threads=1))
    assert not lost.reached
    assert "allow no fewer than" in lost.notes[0]


def test_nothing_more_to_leave_out_is_noted():
    found = fit_levels(character(), options=LodOptions(max_error="1e-9", levels=2, threads=1))
    assert found.levels.levels[1].bones == 7
    assert "level 1 equals the previous one" in found.notes[0]


@pytest.mark.parametrize("name", ODD)
def test_odd_characters(name):
    model = ODD[name]()
    found = fit_levels(model, options=LodOptions(levels=3, threads=1))
    assert_falling(found)
    coarsest = bake_found(found, found.levels.levels[-1])
    assert np.isfinite(pose_frames(coarsest.model)).all()
    assert coarsest.model.n_bones <= found.levels.levels[-1].bones + 1


def test_one_frame_tells_nothing_of_bones():
    found = fit_levels(still(), options=LodOptions(threads=1))
    assert {level.bones for level in found.levels.levels} == {8}
    assert "one frame" in found.notes[0]
    with pytest.raises(OptionError, match="bones: the model has one frame"):
        fit_levels(still(), options=LodOptions(bones="3", threads=1))


def test_families_without_plain_weights_are_refused():
    with pytest.raises(GeometryError, match="expected a linear_blend or dual_quaternion skin, got animation_space"):
        fit_levels(animation_space())


def test_baked_levels_and_their_sizes(by_error):
    sizes = file_sizes(by_error.levels, SaveOptions())
    assert list(sizes) == sorted(sizes, reverse=True)
    baked = bake_found(by_error, by_error.levels.levels[2])
    assert baked.model.n_bones <= by_error.levels.levels[2].bones + 1
    assert len(baked.model.faces) == by_error.levels.levels[2].triangles
    assert baked.rms_percent >= by_error.levels.levels[2].mesh_rms_percent


def test_a_part_of_the_cost(by_error):
    whole, none, half = (level_at(by_error, share) for share in (1.0, 0.0, 0.5))
    assert (whole.bones, whole.blends) == (7, by_error.levels.skin.blends.n_blends)
    assert (none.bones, none.blends) == (1, 1)
    assert none.bones <= half.bones <= whole.bones
    assert half.mesh == 0


def test_levels_that_were_stored_need_no_search(by_error):
    found = stored_fit(by_error.levels, LodOptions())
    np.testing.assert_allclose(found.errors.worst_rms, by_error.errors.worst_rms, rtol=1e-9, atol=1e-12)
    assert level_at(found, 0.5) == level_at(by_error, 0.5)


def test_costs_are_timed(by_error):
    costs = measure_costs(by_error.levels)
    assert costs.bones[0] == 1
    assert costs.bones[-1] == 7
    assert (costs.microseconds > 0).all()


def with_fingers() -> SkinnedModel:
    """A body of 700 vertices that swings, and two small fingers of 10 vertices each that bend."""
    places = [(1.05, 0.2, 0.0), (1.05, -0.2, 0.0)]
    fingers = [make_ball(10, 1.0).scaled((0.16, 0.04, 0.04)).moved((x + 0.14, y, z)) for x, y, z in places]
    body = join_shapes([make_ball(700, 1.0), *fingers])
    bones = np.repeat([0, 1, 2], [700, 10, 10]).astype(np.int32)[:, None]
    skeleton = Skeleton(
        ("body", "first", "second"),
        np.array([-1, 0, 0], np.int32),
        np.array([np.column_stack([np.eye(3), place]) for place in ((0, 0, 0), *places)], np.float32),
    )
    phase = 2 * np.pi * np.arange(16) / 16
    angles = np.stack([0.3 * np.sin(phase), 0.8 * np.cos(phase), 0.8 * np.cos(phase + 1)], axis=1)
    rotations = Rotation.from_rotvec(angles.reshape(-1, 1) * [0, 0, 1]).as_matrix().reshape(16, 3, 3, 3)
    transforms = transforms_of_joint_rotations(skeleton, rotations).astype(np.float32)
    skin = Skin(bones, np.ones_like(bones, np.float32))
    track = BoneTrack(transforms, "rigid", skeleton.names)
    return linear_blend_model(body.vertices, body.faces, skin, track, skeleton=skeleton)


def farthest(found: LevelsFit, number: int, size: float) -> float:
    """The largest distance of a vertex from the surface of the model in any frame, in pixels, of a level's file."""
    model, level = found.levels.model, found.levels.levels[number]
    frames, beside = np.arange(model.n_frames, dtype=np.int32), np.full(model.n_vertices, -1, np.int32)
    apart = measure_level(model, found.levels.baked(level), beside, frames)
    return size * apart.worst.distance / model.diagonal


def test_no_vertex_of_a_small_part_is_far_off_at_the_size_of_a_level(monkeypatch):
    """Fingers are 3 % of the vertices and less of the pixels, so neither RMS nor pictures keep them."""
    model, options = with_fingers(), LodOptions(screen="200,100,50", threads=1)
    found = fit_levels(model, options=options)
    for number, (level, size) in enumerate(zip(found.levels.levels[1:], (200, 100, 50), strict=True), 1):
        assert level.pixels == pytest.approx(size, rel=1e-6)
        assert level.worst_percent / 100 * size <= FARTHEST
        assert level.mesh_worst_percent / 100 * size <= levels.FARTHEST_MESH * FARTHEST
        assert farthest(found, number, size) <= FARTHEST
    assert found.levels.levels[-1].triangles < len(model.faces)
    monkeypatch.setattr(levels, "FARTHEST", 1e3)
    without = fit_levels(model, options=options)
    assert max(farthest(without, number, size) for number, size in enumerate((200, 100, 50), 1)) > FARTHEST


def test_a_level_has_no_bone_more_than_it_needs(monkeypatch):
    tried, holds = {}, levels.LevelChoice._holds
    monkeypatch.setattr(levels.LevelChoice, "_holds", lambda *given: tried.setdefault(given[1], holds(*given)))
    found = fit_levels(character(), options=LodOptions(max_error="1", levels=2, keep_mesh=True, threads=1))
    level = found.levels.levels[1]
    assert 1 < level.bones < 7
    assert tried[level.bones, level.blends]
    assert not tried[level.bones - 1, level.blends]


def test_the_size_of_any_level_keeps_its_vertices_near(by_error):
    for level in by_error.levels.levels[1:]:
        assert level.pixels * level.worst_percent / 100 <= FARTHEST * (1 + 1e-9)
