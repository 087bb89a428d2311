from __future__ import annotations

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.core.transforms import apply, rotation_from_axis_angle
from osteon.fit.clustering.core_bones import fit_core_bones
from osteon.synth.baked import bake_chain, bake_rigid_body
from osteon.synth.shapes import make_grid, make_sphere

from ....tolerance import assert_near

N_FRAMES = 6


def moves(stretch: float = 0.0) -> np.ndarray:
    """(f,3,4) random rotations, stretched along a random axis, and translations; frame 0 is at rest."""
    rng = np.random.default_rng(8)
    turns = rotation_from_axis_angle(rng.normal(size=(N_FRAMES, 3)), rng.uniform(0, 2, N_FRAMES))
    axes = rng.normal(size=(N_FRAMES, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    linear = turns @ (np.eye(3) + stretch * np.einsum("fi,fj->fij", axes, axes))
    out = np.concatenate([linear, rng.normal(size=(N_FRAMES, 3, 1))], axis=2)
    out[0] = np.eye(3, 4)
    return out


def moved(vertices: np.ndarray, faces: np.ndarray, transforms: np.ndarray) -> MeshSequence:
    return MeshSequence(apply(transforms, vertices), faces, vertices)


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
def test_a_rigid_motion_is_recovered(bone_type):
    sphere, truth = make_sphere(2), moves()
    sequence = moved(sphere.vertices, sphere.faces, truth)
    track = fit_core_bones(sequence, np.zeros(len(sphere.faces), np.int32), bone_type)
    assert track.bone_type == bone_type
    assert_near(track.transforms[:, 0], truth, 5e-6)


def test_a_stretch_is_recovered_by_a_flexible_bone_only():
    sphere, truth = make_sphere(2), moves(stretch=0.3)
    sequence = moved(sphere.vertices, sphere.faces, truth)
    labels = np.zeros(len(sphere.faces), np.int32)
    assert_near(fit_core_bones(sequence, labels, "flexible").transforms[:, 0], truth, 5e-6)
    rigid = fit_core_bones(sequence, labels, "rigid").transforms[:, 0, :, :3].astype(np.float64)
    assert_near(rigid @ np.swapaxes(rigid, 1, 2), np.tile(np.eye(3), (N_FRAMES, 1, 1)), 1e-6)
    np.testing.assert_allclose(np.linalg.det(rigid), 1, atol=1e-6)


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
def test_links_of_a_chain(bone_type):
    baked = bake_chain(3)
    labels = baked.model.skin.bones[baked.model.faces[:, 0], 0]
    track = fit_core_bones(baked.sequence, labels, bone_type)
    assert_near(track.transforms, baked.model.track.transforms, 1e-5)


def test_outliers_do_not_count():
    baked = bake_rigid_body()
    frames = baked.sequence.frames.copy()
    labels = np.zeros(baked.sequence.n_triangles, np.int32)
    spoiled = baked.sequence.faces[:40]
    frames[3, spoiled.ravel()] += 5
    labels[np.isin(baked.sequence.faces, spoiled).any(axis=1)] = -1
    sequence = MeshSequence(frames, baked.sequence.faces, baked.sequence.rest)
    assert_near(fit_core_bones(sequence, labels, "rigid").transforms, baked.model.track.transforms, 1e-5)


def test_a_flat_cluster_does_not_blow_up():
    """Nothing is known about the direction across a plane; there the bone follows its rotation."""
    grid, truth = make_grid(6, 6), moves()
    sequence = moved(grid.vertices, grid.faces, truth)
    track = fit_core_bones(sequence, np.zeros(len(grid.faces), np.int32), "flexible")
    assert_near(track.transforms[:, 0], truth, 2e-5)


@pytest.mark.parametrize("n_triangles", [1, 2, 3])
def test_a_tiny_cluster_does_not_blow_up(n_triangles):
    sphere, truth = make_sphere(1), moves(stretch=0.2)
    sequence = moved(sphere.vertices, sphere.faces, truth)
    labels = np.full(len(sphere.faces), -1, np.int32)
    labels[:n_triangles] = 0
    track = fit_core_bones(sequence, labels, "flexible")
    size = np.linalg.svd(track.transforms[:, 0, :, :3], compute_uv=False)
    assert size.max() < 2
    assert size.min() > 0.5
    core = sphere.vertices[sphere.faces[:n_triangles]].mean(axis=1)
    posed = apply(track.transforms[:, 0].astype(np.float64), core)
    assert_near(posed, apply(truth, core), 1e-4)


def test_no_labels_no_bones():
    sphere = make_sphere(0)
    sequence = moved(sphere.vertices, sphere.faces, moves())
    track = fit_core_bones(sequence, np.full(20, -1, np.int32), "flexible")
    assert track.transforms.shape == (N_FRAMES, 0, 3, 4)
