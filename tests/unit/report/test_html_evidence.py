"""What reports measure: jumps of the source, shares of bones, pieces, trials, views."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.cli.info import describe_model, describe_sequence
from osteon.core.animation import BoneTrack, Clip
from osteon.core.character import Skin
from osteon.core.model import SkinnedModel
from osteon.core.progress import ProgressEvent
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import identity
from osteon.deform.linear_blend import linear_blend_model
from osteon.pipeline.skin import skin_sequence
from osteon.report.advice import bone_shares, frame_steps, gather_evidence, lone_frames, shared_bones
from osteon.report.curves import report_curves, tolerance_curve
from osteon.report.gallery import round_up
from osteon.report.raster import DrawOptions, frame_camera
from osteon.report.views import both_sides, centering_shifts, distinct_frames, visible_vertices

from ...subjects import bent_tube

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
FACES = np.array([[0, 1, 2], [0, 2, 3]], np.int32)


def _moving(offsets: list[float], clips: tuple[Clip, ...] = ()) -> MeshSequence:
    """A square that stands at the given heights, one a frame."""
    frames = SQUARE + np.array(offsets, np.float32)[:, None, None] * np.array([0, 0, 1], np.float32)
    return MeshSequence(frames, FACES, SQUARE, clips)


def _found(sequence: MeshSequence) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return lone_frames(*frame_steps(sequence), sequence.diagonal)


def test_steps_end_where_clips_end() -> None:
    steps, apart = frame_steps(_moving([0, 1, 3, 10, 11], (Clip("a", 0, 3), Clip("b", 3, 5))))
    np.testing.assert_allclose(steps, [np.nan, 1, 2, np.nan, 1])
    np.testing.assert_allclose(apart, [np.nan, 0.5, np.nan, np.nan, np.nan])


WALK = [0.05 * np.sin(0.3 * f) + 0.01 * f for f in range(40)]


def test_even_motion_has_no_jumps() -> None:
    assert _found(_moving(WALK)) == ((), ())
    assert _found(_moving([0.0] * 20)) == ((), ())


@pytest.mark.parametrize("frame", [1, 17, 38])
def test_one_frame_off_is_named(frame: int) -> None:
    offsets = list(WALK)
    offsets[frame] += 2
    assert _found(_moving(offsets)) == ((frame,), ())


def test_a_run_beside_a_walk_does_not_jump() -> None:
    run = [30 * z for z in WALK[:20]]
    assert _found(_moving([*WALK, *run], (Clip("walk", 0, 40), Clip("run", 40, 60)))) == ((), ())
    faster = np.cumsum(np.geomspace(0.01, 3.0, 40)).tolist()
    assert _found(_moving(faster)) == ((), ())
    zigzag = [0.5 * (-1) ** f for f in range(30)]
    assert _found(_moving(zigzag)) == ((), ())


def test_a_jump_that_stays_is_a_cut() -> None:
    offsets = [z + (3 if f >= 20 else 0) for f, z in enumerate(WALK)]
    assert _found(_moving(offsets)) == ((), (20,))
    clips = (Clip("a", 0, 20), Clip("b", 20, 40))
    assert _found(_moving(offsets, clips)) == ((), ())


def test_too_few_frames_say_nothing() -> None:
    assert _found(_moving([0, 1, 0])) == ((), ())


def _two_squares(bones: list[int], n_bones: int) -> SkinnedModel:
    """Two separate squares, the vertices of each with one bone."""
    rest = np.concatenate([SQUARE, SQUARE + 3])
    faces = np.concatenate([FACES, FACES + 4])
    skin = Skin(np.repeat(bones, 4)[:, None], np.ones((8, 1)))
    return linear_blend_model(rest, faces, skin, BoneTrack(identity(2, n_bones)))


def test_shares_of_error_and_mesh() -> None:
    errors = np.array([0, 0, 0, 1.0, 0, 0, 3.0, 0])
    first, second, third = bone_shares(_two_squares([0, 2], 3), errors)
    assert (first.bone, second.bone, third.bone) == (2, 0, 1)
    assert first.error == pytest.approx(0.9)
    assert first.vertices == pytest.approx(0.5)
    assert (first.vertex, second.vertex) == (6, 3)
    assert third.error == third.vertices == 0


def test_pieces_that_share_a_bone() -> None:
    assert shared_bones(_two_squares([1, 1], 2)) == (2, ((1, 2),))
    assert shared_bones(_two_squares([0, 1], 2)) == (2, ())


def test_seams_do_not_cut_a_piece_in_two_for_the_report_nor_for_info() -> None:
    """Two triangles that share an edge whose vertices the file holds twice."""
    rest = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [5, 0, 0], [6, 0, 0], [5, 1, 0]])
    faces = np.arange(9).reshape(3, 3)
    skin = Skin(np.zeros((9, 1), int), np.ones((9, 1)))
    model = linear_blend_model(rest, faces, skin, BoneTrack(identity(2, 1)))
    assert shared_bones(model) == (2, ((0, 2),))
    assert describe_model(model)["shells"] == 2
    assert describe_sequence(MeshSequence(np.stack([rest, rest]), faces, rest))["shells"] == 2


@pytest.fixture(scope="module")
def tube() -> MeshSequence:
    return bent_tube(4, n_frames=10).sequence


OPTIONS = SkinOptions(bones=2, rounds=3, threads=1)


def test_tolerances_give_fewer_bones(tube: MeshSequence) -> None:
    points = tolerance_curve(tube, replace(OPTIONS, tolerance=0.06), (0.05, 1.0))
    assert [p.tolerance for p in points] == [0.05, 0.06, 1.0]
    assert points[0].bones >= points[-1].bones == 1
    assert points[-1].near_rigid_fraction == 1


def test_curves_and_evidence_of_a_fit(tube: MeshSequence) -> None:
    events: list[ProgressEvent] = []
    fit = skin_sequence(tube, options=OPTIONS)
    curves = report_curves(tube, fit, OPTIONS, progress=events.append)
    assert curves.own is not None
    assert curves.own.error_percent == fit.report.error_percent
    assert curves.trials
    assert {e.stage for e in events} == {*(f"try {t.option}" for t in curves.trials), "try tolerances"}
    assert len(gather_evidence(fit, tube).shares) == 2


def test_frames_shown_differ() -> None:
    cycle = [0.0, 1.0, 2.0, 1.0] * 6
    stretched = np.stack([SQUARE * (1, 1 + z, 1) for z in cycle]).astype(np.float32)
    chosen = distinct_frames(MeshSequence(stretched, FACES, SQUARE), 3)
    assert sorted(cycle[f] for f in chosen) == [0.0, 1.0, 2.0]
    assert list(chosen) == sorted(chosen)
    assert len(distinct_frames(_moving([0, 1]), 4)) == 2


def test_a_walk_across_the_scene_stays_in_place() -> None:
    sequence = _moving([0, 50, 100])
    shift = centering_shifts(sequence, np.arange(3), up=1)
    centers = [(sequence.frames[f] + shift[f]).mean(axis=0) for f in range(3)]
    np.testing.assert_allclose(centers, [centers[0]] * 3, atol=1e-5)


def test_only_the_near_side_is_visible() -> None:
    two = np.concatenate([SQUARE - (0.5, 0.5, 0), SQUARE - (0.5, 0.5, 2)]) * (4, 4, 1)
    faces = np.concatenate([FACES, FACES + 4])
    options = DrawOptions(width=200, height=200, azimuth=0.0, elevation=0.0, projection="orthographic")
    seen = visible_vertices(two * 0.9, faces, frame_camera(two, options), options)
    assert not seen[4:].any()


def test_both_sides_mirror_the_long_axis() -> None:
    long = np.array([[-1, 0, -5], [1, 2, 5]])
    first, second = (frame_camera(long, view).axes[2] for view in both_sides(long, DrawOptions()))
    np.testing.assert_allclose(first * (-1, 1, 1), second, atol=1e-9)
    assert first[1] > 0


@pytest.mark.parametrize(("value", "top"), [(0.1234, 0.13), (1.0, 1.0), (99.2, 100.0), (0.00041, 0.00041), (0, 1e-6)])
def test_scales_end_at_round_numbers(value: float, top: float) -> None:
    assert round_up(value) == pytest.approx(top)


def test_bones_that_carry_a_scale_do_not_flatten(tube: MeshSequence) -> None:
    """A rig whose bones shrink a large rest pose to what plays is no sign of flat blends."""
    fit = skin_sequence(tube, options=OPTIONS)
    transforms = fit.model.track.transforms.copy()
    transforms[..., :3] /= 100
    model = fit.model.with_mesh(rest=100 * tube.rest).with_animation(track=BoneTrack(transforms, "flexible"))
    small = {key: value / 100 for key, value in fit.report.smallest_singular_value.items()}
    report = replace(fit.report, quality=replace(fit.report.quality, smallest_singular_value=small))
    scaled = gather_evidence(replace(fit, model=model, report=report), tube.with_parts(rest=100 * tube.rest))
    assert scaled.smallest_singular == pytest.approx(gather_evidence(fit, tube).smallest_singular, rel=0.1)
