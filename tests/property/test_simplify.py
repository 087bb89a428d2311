"""Simplified meshes of random characters: what never changes, and what moving or scaling the whole scene changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from osteon.core.model import SkinnedModel
from osteon.core.topology import shells
from osteon.core.transforms import compose, invert
from osteon.deform.pose import pose_frames
from osteon.lod.mesh.simplify import MeshLevel, SimplifyOptions, simplify_model
from osteon_bench.subjects import JointedOptions, make_jointed

seeds = st.integers(0, 2**16)
parts = st.floats(0.1, 0.9)
few = settings(max_examples=12, deadline=None)


def character(seed: int, joints: int = 3) -> SkinnedModel:
    return make_jointed(seed, JointedOptions(joints=joints, frames=6, influences=3, vertices=30))


def level(model: SkinnedModel, part: float, *, fit: bool = True) -> MeshLevel:
    options = SimplifyOptions(fit=fit, poses=4, measured=4, threads=1)
    return simplify_model(model, triangles=[max(1, int(part * len(model.faces)))], options=options).levels[0]


def placed(model: SkinnedModel, seed: int, scale: float) -> SkinnedModel:
    """The whole scene turned, moved and scaled."""
    rng = np.random.default_rng(seed)
    new_from_old = np.zeros((3, 4))
    new_from_old[:, :3] = scale * Rotation.random(random_state=seed).as_matrix()
    new_from_old[:, 3] = scale * rng.normal(0, 2, 3)
    rest = model.rest @ new_from_old[:, :3].T + new_from_old[:, 3]
    moved = compose(compose(new_from_old, model.track.transforms.astype(float)), invert(new_from_old))
    return model.with_mesh(rest=rest.astype(np.float32)).with_animation(track=replace(model.track, transforms=moved))


@few
@given(seeds, parts)
def test_what_every_level_keeps(seed: int, part: float) -> None:
    model = character(seed)
    found = level(model, part)
    skin, faces = found.model.skin, found.model.faces
    assert found.n_triangles <= max(part * len(model.faces), 4)
    assert (skin.weights >= 0).all()
    assert np.allclose(skin.weights.sum(axis=1), 1, atol=1e-6)
    assert np.isfinite(found.model.rest).all()
    assert set(np.unique(faces)) == set(range(found.model.n_vertices))  # no vertex is left over
    assert ((faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])).all()
    count = [len(np.unique(shells(m.faces, m.n_vertices)[1][m.faces[:, 0]])) for m in (model, found.model)]
    assert count[1] == count[0] - found.shells_gone
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    assert set(np.unique(edges, axis=0, return_counts=True)[1]) == {2}  # closed as before
    kept = found.vertex_of_source >= 0
    assert kept.all() == (found.shells_gone == 0)


@few
@given(seeds, parts, st.sampled_from([1e-3, 1.0, 250.0]))
def test_moving_and_scaling_the_scene_changes_nothing(seed: int, part: float, scale: float) -> None:
    """Distances are as many times as long; float32 rests differ in their last digits."""
    model = character(seed)
    other = placed(model, seed, scale)
    one, two = (level(m, part, fit=False) for m in (model, other))
    assert one.n_triangles == two.n_triangles
    assert abs(two.error.mean / scale - one.error.mean) <= 0.01 * one.error.mean


@few
@given(seeds, parts)
def test_a_fit_is_no_farther_off_than_none(seed: int, part: float) -> None:
    model = character(seed)
    plain, fitted = (level(model, part, fit=fit) for fit in (False, True))
    assert fitted.error.mean <= 1.25 * plain.error.mean + 1e-6 * model.diagonal
    assert np.abs(pose_frames(fitted.model)).max() <= 1.3 * np.abs(pose_frames(model)).max()


@few
@given(seeds, parts)
def test_same_in_same_out(seed: int, part: float) -> None:
    model = character(seed, 2)
    one, two = level(model, part), level(model, part)
    for name in ("rest", "faces"):
        assert np.array_equal(getattr(one.model, name), getattr(two.model, name))
    assert np.array_equal(one.model.skin.weights, two.model.skin.weights)
    assert one.error.mean == two.error.mean
