"""Bones against dense least squares that shares no code with the fit."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.topology import triangle_areas
from osteon.core.transforms import nearest_rotation
from osteon.fit.clustering.core_bones import fit_core_bones
from osteon.fit.skin.influences import select_influences
from osteon.fit.skin.procrustes import rotations_of
from osteon.fit.skin.solve_bones import solve_bones
from osteon.synth.baked import RandomOptions, bake_random_model

from ..subjects import dense, random_problem
from ..tolerance import assert_near


def test_appendix_a():
    """Flexible bones of core triangles: the rows of eq. 14, solved by lstsq."""
    sequence = bake_random_model(3, options=RandomOptions(4, 7, 120, 3, "flexible")).sequence
    labels = (np.arange(sequence.n_triangles) % 4 - 1).astype(np.int32)  # three bones all over the ball, and outliers
    found = fit_core_bones(sequence, labels, "flexible").transforms
    areas = triangle_areas(sequence.rest, sequence.faces)
    for bone in range(3):
        faces, root = sequence.faces[labels == bone], np.sqrt(areas[labels == bone])[:, None]
        rest = sequence.rest[faces].mean(axis=1, dtype=np.float64)
        system = root * np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
        for f in range(sequence.n_frames):
            posed = sequence.frames[f][faces].mean(axis=1, dtype=np.float64)
            expected = np.linalg.lstsq(system, root * posed, rcond=None)[0].T
            # The pull towards the rigid fit is 1e-6 of the cluster's extent.
            np.testing.assert_allclose(found[f, bone], expected, atol=1e-5)


@pytest.mark.parametrize("n_bones", [1, 3, 6])
def test_flexible_bones_of_given_weights(n_bones):
    """Without stiffness: min || Z T - X || over all bones at once, by lstsq on the dense Z."""
    problem, transforms = random_problem(n_vertices=150, n_bones=n_bones, n_frames=5)
    influences = select_influences(problem, transforms, 3)
    found = solve_bones(problem, influences.bones, influences.weights, transforms, "flexible", stiffness=0.0)
    blends = np.einsum("vb,vi->vbi", dense(influences, n_bones), problem.points).reshape(problem.n_vertices, -1)
    expected = np.linalg.lstsq(blends, problem.targets.astype(np.float64), rcond=None)[0]
    expected = expected.reshape(n_bones, 4, 5, 3).transpose(2, 0, 3, 1)
    assert_near(found, expected, 1e-6)


def weighted_rigid_fit(points: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(3,4): the rotation and translation with the least sum_v w_v^2 | R p + t - x / w |^2, by Kabsch."""
    mass = weights**2 / (weights**2).sum()
    goal = targets / weights[:, None]
    p, x = points - mass @ points, goal - mass @ goal
    turn = nearest_rotation(np.einsum("v,vi,vj->ij", mass, x, p))
    return np.concatenate([turn, (mass @ goal - turn @ (mass @ points))[:, None]], axis=1)


def test_one_rigid_bone_is_a_procrustes_problem():
    problem, transforms = random_problem(n_bones=1)
    ones = np.ones((problem.n_vertices, 1))
    found = solve_bones(problem, np.zeros(ones.shape, np.int64), ones, transforms, "rigid", sweeps=1)
    for f, frame in enumerate(problem.targets.reshape(problem.n_vertices, -1, 3).transpose(1, 0, 2)):
        assert_near(found[f, 0], weighted_rigid_fit(problem.points[:, :3], frame, ones[:, 0]), 1e-8)


def test_no_rigid_bone_can_be_bettered_alone():
    """After many sweeps each bone is the Procrustes fit of what the others leave."""
    problem, transforms = random_problem(n_vertices=100, n_bones=4, n_frames=3)
    influences = select_influences(problem, transforms, 3)
    weights = dense(influences, 4)
    found = solve_bones(problem, influences.bones, influences.weights, transforms, "rigid", sweeps=3000)
    moved = np.einsum("vb,fbij,vj->fbvi", weights, found, problem.points)
    frames = problem.targets.reshape(100, -1, 3).transpose(1, 0, 2)
    for f in range(3):
        for b in range(4):
            used = weights[:, b] > 0
            left = (frames[f] - moved[f].sum(axis=0) + moved[f, b])[used]
            expected = weighted_rigid_fit(problem.points[used, :3], left, weights[used, b])
            assert_near(found[f, b], expected, 1e-5)


def matrices(kind: str) -> np.ndarray:
    rng = np.random.default_rng(6)
    a, b, c = rng.normal(size=(3, 200, 3))
    full = rng.normal(size=(200, 3, 3))
    if kind == "reflecting":
        full[np.linalg.det(full) > 0, :, 0] *= -1
    if kind == "flat":
        full = np.einsum("ni,nj->nij", a, b) + np.einsum("ni,nj->nij", c, a)
    return {"line": np.einsum("ni,nj->nij", a, b), "tiny": 1e-9 * full, "huge": 1e9 * full}.get(kind, full)


@pytest.mark.parametrize("kind", ["any", "reflecting", "flat", "line", "tiny", "huge"])
def test_nearest_rotation_by_quaternion_and_by_svd(kind):
    sources = matrices(kind)
    found = rotations_of(np.concatenate([sources, np.zeros((200, 3, 1))], axis=2)[:, None])
    found, expected = found[:, 0], nearest_rotation(sources)
    assert_near(found @ np.swapaxes(found, 1, 2), np.broadcast_to(np.eye(3), found.shape), 1e-9)
    np.testing.assert_allclose(np.linalg.det(found), 1, atol=1e-9)
    gained, possible = (np.einsum("nij,nij->n", r, sources) for r in (found, expected))
    np.testing.assert_allclose(gained, possible, rtol=1e-9)
    if kind in ("any", "tiny", "huge"):
        singular = np.linalg.svd(sources, compute_uv=False)
        clear = singular[:, 1] + np.sign(np.linalg.det(sources)) * singular[:, 2] > 0.05 * singular[:, 0]
        assert clear.sum() > 150
        np.testing.assert_allclose(found[clear], expected[clear], atol=1e-7)
