"""The articulated fit: its sums are forward kinematics, known skeletons are found again, lengths never change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.sequence import MeshSequence
from osteon.core.transforms import apply
from osteon.fit.problem import FitProblem, InputTransforms, pose_problem
from osteon.fit.skeleton.articulated import (
    ArticulatedOptions,
    Articulation,
    LocalWeights,
    _Descent,
    fit_articulated,
    fit_articulated_poses,
)
from osteon.fit.skeleton.joint_tree import JointTree
from osteon.fit.skin.influences import Influences
from osteon.synth.shapes import make_tube

from ....subjects import random_turns

PARENTS = np.array([-1, 0, 1, 1])
JOINTS = np.array([[0.0, 0, 0], [-0.3, 0, 0], [0.2, 0.02, 0], [0.5, -0.05, 0.03]])
FRAMES = 14


def known() -> tuple[FitProblem, Articulation, np.ndarray]:
    """A tube moved by a known skeleton, as a problem, with the skeleton in its units and dense weights."""
    rng = np.random.default_rng(3)
    tube = make_tube(12, 30, 0.15, 2.0)
    points = tube.vertices - tube.vertices.mean(axis=0)
    centers = np.array([-0.7, -0.05, 0.35, 0.8])
    far = np.abs(points[:, :1] - centers)
    weights = np.exp(-((far / 0.18) ** 2)) + 1e-9
    weights /= weights.sum(axis=1, keepdims=True)
    rotations = random_turns(rng, FRAMES, 4, 0.4)
    truth = Articulation(PARENTS, JOINTS, rotations, rng.normal(size=(FRAMES, 3)))
    moved = sum(weights[:, b, None] * apply(truth.transforms()[:, b], points) for b in range(4))
    problem = pose_problem(MeshSequence(moved, tube.faces, points))
    placed = problem.from_input(InputTransforms(truth.transforms()))
    joints = problem.rest_from_input(JOINTS)
    return problem, Articulation(PARENTS, joints, placed[..., :3].copy(), placed[:, 0, :, 3].copy()), weights


def sparse(weights: np.ndarray) -> Influences:
    bones = np.tile(np.arange(4), (len(weights), 1))
    return Influences(bones, weights, np.zeros(len(weights)))


def tree_of(joints: np.ndarray, sliding: tuple[bool, ...] = (False,) * 4) -> JointTree:
    slack = np.full(4, 0.005)
    return JointTree(np.arange(4), PARENTS, joints, joints, np.full(4, 30.0), slack, np.array(sliding))


def test_arms_times_turns_are_forward_kinematics() -> None:
    problem, truth, weights = known()
    arms = _Descent(problem, tree_of(truth.joints), ArticulatedOptions()).arms(weights, truth.joints)
    stacked = np.concatenate([truth.rotations.swapaxes(2, 3).reshape(FRAMES, -1, 3), truth.shift[:, None]], axis=1)
    expected = problem.targets.reshape(-1, FRAMES, 3).swapaxes(0, 1)
    np.testing.assert_allclose(arms @ stacked, expected, atol=1e-6)


def test_a_known_skeleton_is_found_again() -> None:
    problem, truth, weights = known()
    rng = np.random.default_rng(5)
    off = truth.joints + 0.01 * rng.normal(size=(4, 3))
    start = Articulation(PARENTS, off, truth.rotations, truth.shift)
    fit = fit_articulated(problem, tree_of(off), start, sparse(weights), options=ArticulatedOptions(threads=1))
    assert fit.history[-1] < 0.2  # percent; joints are held a little where they were first thought to be
    assert np.linalg.norm(fit.articulation.joints[1:] - truth.joints[1:], axis=1).max() < 0.02


def test_lengths_never_change() -> None:
    problem, truth, weights = known()
    fit = fit_articulated(
        problem, tree_of(truth.joints), truth, sparse(weights), options=ArticulatedOptions(rounds=5, threads=1)
    )
    found = fit.articulation
    posed = apply(found.transforms(), found.joints[:, None])[:, :, 0]
    lengths = np.linalg.norm(posed[:, 1:] - posed[:, PARENTS[1:]], axis=2)
    assert np.ptp(lengths, axis=0).max() < 1e-12
    carried = apply(found.transforms()[:, PARENTS[1:]], found.joints[1:, None])[:, :, 0]
    np.testing.assert_allclose(carried, posed[:, 1:], atol=1e-12)  # a parent carries its children's joints


def test_other_poses_of_a_finished_skeleton() -> None:
    problem, truth, weights = known()
    start = truth.transforms() @ np.diag([1.0, 1, 1, 1])
    start[..., :3] = np.eye(3)
    found = fit_articulated_poses(problem, PARENTS, truth.joints, sparse(weights), start, threads=2)
    moved = np.einsum("vb,fbvi->fvi", weights, apply(found.transforms(), problem.points[None, None, :, :3]))
    expected = problem.targets.reshape(-1, FRAMES, 3).swapaxes(0, 1)
    assert np.abs(moved - expected).max() < 0.05


def test_threads_change_nothing() -> None:
    problem, truth, weights = known()
    found = [
        fit_articulated(
            problem, tree_of(truth.joints), truth, sparse(weights), options=ArticulatedOptions(rounds=4, threads=n)
        )
        for n in (1, 2)
    ]
    assert np.array_equal(found[0].articulation.rotations, found[1].articulation.rotations)
    assert found[0].history == found[1].history


def test_a_joint_that_slides_translates_and_no_other() -> None:
    problem, truth, weights = known()
    rng = np.random.default_rng(8)
    slides = np.zeros((FRAMES, 4, 3))
    slides[:, 2] = 0.1 * rng.normal(size=(FRAMES, 3))
    moved = replace(truth, slides=slides)
    targets = np.einsum("vb,fbvi->vfi", weights, apply(moved.transforms(), problem.points[None, None, :, :3]))
    flat = targets.reshape(len(targets), -1).astype(np.float32)
    sliding = replace(problem, targets=flat, energy=(flat.astype(np.float64) ** 2).sum(axis=1))
    options = ArticulatedOptions(threads=1)
    start = replace(truth, slides=None)
    stiff = fit_articulated(sliding, tree_of(truth.joints), start, sparse(weights), options=options)
    tree = tree_of(truth.joints, (False, False, True, False))
    fit = fit_articulated(sliding, tree, start, sparse(weights), options=options)
    assert fit.history[-1] < 0.2 < stiff.history[-1]
    found = fit.articulation
    assert found.slides is not None
    assert not found.slides[:, [0, 1, 3]].any()
    np.testing.assert_allclose(found.slides[:, 2], slides[:, 2], atol=0.02)


def test_weights_stay_near_their_bones() -> None:
    problem, truth, weights = known()
    costs = np.zeros_like(weights)
    costs[:, 3] = np.where(problem.points[:, 0] < 0, 1e3, 0.0)
    local = LocalWeights(costs, weights, 0.0)
    tree, options = tree_of(truth.joints), ArticulatedOptions(rounds=3, threads=1)
    fit = fit_articulated(problem, tree, truth, sparse(weights), local=local, options=options)
    assert fit.influences.dense(4)[problem.points[:, 0] < 0, 3].max() == 0
