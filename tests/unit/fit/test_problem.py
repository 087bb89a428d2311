from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.core.sequence import MeshSequence
from osteon.core.transforms import apply
from osteon.fit.problem import FitProblem, InputTransforms, pose_problem
from osteon.synth.baked import RandomOptions, bake_random_model

from ...tolerance import assert_near, assert_same_points


def ball(n_vertices: int = 80) -> MeshSequence:
    """A ball whose coordinates are multiples of 1/1024, so that moving it by thousands is exact in float32."""
    source = bake_random_model(1, options=RandomOptions(4, 6, n_vertices, 3)).sequence
    return replace(source, frames=np.round(source.frames * 1024) / 1024, rest=np.round(source.rest * 1024) / 1024)


def frames_of(problem: FitProblem) -> np.ndarray:
    """(f,v,3) of the targets."""
    return problem.targets.astype(np.float64).reshape(problem.n_vertices, -1, 3).transpose(1, 0, 2)


@pytest.mark.parametrize("n_vertices", [80, 2100])
def test_centred_and_scaled(n_vertices):
    sequence = ball(n_vertices)  # one block of vertices, or two
    problem = pose_problem(sequence)
    assert (problem.n_frames, problem.n_vertices) == (6, n_vertices)
    assert_near(problem.points[:, :3].mean(axis=0), np.zeros(3))
    assert (problem.points[:, :3] ** 2).sum(axis=1).mean() == pytest.approx(1)
    assert (problem.points[:, 3] == 1).all()
    posed = problem.posed_scale * frames_of(problem) + problem.frame_centers[:, None]
    assert_same_points(posed, sequence.frames, 1e-7)
    assert_near(problem.energy, (problem.targets.astype(np.float64) ** 2).sum(axis=1), 1e-12)


def test_to_input_takes_rest_to_frames():
    sequence = ball()
    problem = pose_problem(sequence)
    rng = np.random.default_rng(0)
    transforms = rng.normal(size=(6, 3, 3, 4))
    here = np.einsum("fbij,vj->fbvi", transforms, problem.points)
    there = apply(problem.to_input(transforms).values, np.broadcast_to(sequence.rest.astype(np.float64), (6, 3, 80, 3)))
    assert_near(there, problem.posed_scale * here + problem.frame_centers[:, None, None], 1e-12)


def test_from_input_is_the_inverse():
    problem = pose_problem(replace(ball(), rest=ball().rest + 7))
    transforms = np.random.default_rng(1).normal(size=(6, 5, 3, 4))
    before = transforms.copy()
    assert_near(problem.from_input(problem.to_input(transforms)), transforms, 1e-12)
    assert_near(problem.to_input(problem.from_input(InputTransforms(transforms))).values, transforms, 1e-12)
    assert_near(problem.rest_from_input(problem.rest_to_input(problem.points[:, :3])), problem.points[:, :3], 1e-12)
    assert np.array_equal(transforms, before)


def test_error_percent_is_the_distortion_of_the_whole():
    sequence = ball()
    problem = pose_problem(sequence)
    errors = np.random.default_rng(2).uniform(size=80)
    motion = np.linalg.norm(sequence.frames - sequence.frames.mean(axis=0, dtype=np.float64)) / problem.posed_scale
    assert problem.error_percent(errors) == pytest.approx(100 * np.sqrt(errors.sum()) / motion, rel=1e-6)


@pytest.mark.parametrize("far", [(4096, 0, 0), (-2048, 8192, 512)])
def test_where_the_character_stands_does_not_matter(far):
    near = ball()
    away = replace(near, frames=near.frames + np.float32(far), rest=near.rest - np.float32(far))
    one, two = pose_problem(near), pose_problem(away)
    assert_near(two.points, one.points, 1e-12)
    assert_near(two.targets, one.targets, 1e-6)
    assert two.motion == pytest.approx(one.motion, rel=1e-9)
    assert two.posed_scale == pytest.approx(one.posed_scale, rel=1e-12)


def test_a_walk_across_the_scene_is_no_error():
    """Bones carry each frame's own centre, however far it is."""
    near = ball()
    steps = 512 * np.arange(6, dtype=np.float32)[:, None, None] * np.float32([1, 0, 2])
    walk = pose_problem(replace(near, frames=near.frames + steps))
    assert_near(walk.targets, pose_problem(near).targets, 1e-6)
    assert walk.motion > 100 * pose_problem(near).motion  # the denominator of E is the paper's


def test_some_vertices_and_frames():
    sequence = ball()
    chosen, frames = np.array([3, 5, 70], np.int32), np.array([0, 4], np.int32)
    problem = pose_problem(sequence, chosen, frames)
    assert (problem.n_vertices, problem.n_frames) == (3, 2)
    posed = problem.posed_scale * frames_of(problem) + problem.frame_centers[:, None]
    assert_same_points(posed, sequence.frames[frames][:, chosen], 1e-6)


def test_subset_keeps_units_and_estimates_the_motion():
    problem = pose_problem(ball())
    part = problem.subset(np.arange(0, 80, 2, dtype=np.int32))
    assert np.array_equal(part.targets, problem.targets[::2])
    assert part.posed_scale == problem.posed_scale
    assert part.motion == pytest.approx(problem.motion * np.sqrt(0.5))


def test_sampled_is_the_same_problem_if_it_is_small():
    problem = pose_problem(ball())
    assert problem.sampled(80, 0) is problem
    few = problem.sampled(40, 3)
    assert few.n_vertices == 40
    assert np.array_equal(few.points, problem.sampled(40, 3).points)
    assert not np.array_equal(few.points, problem.sampled(40, 4).points)


def test_nothing_moves(refused):
    still = ball()
    with refused(GeometryError, "frames", "equal"):
        pose_problem(replace(still, frames=np.repeat(still.frames[:1], 6, axis=0)))


def test_no_extent(refused):
    sequence = ball()
    with refused(GeometryError, "rest", "one point"):
        pose_problem(replace(sequence, rest=np.ones_like(sequence.rest)))
