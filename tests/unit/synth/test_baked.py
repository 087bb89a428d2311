from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.synth.baked import (
    Baked,
    BakeOptions,
    RandomOptions,
    bake_chain,
    bake_cylinder,
    bake_random_model,
    bake_rigid_body,
    bake_shells,
)

from .conftest import topology_of

ALL = {
    "cylinder": (lambda: bake_cylinder(), 4, 1),
    "one bend": (lambda: bake_cylinder(1), 2, 1),
    "straight": (lambda: bake_cylinder(0), 1, 1),
    "chain": (lambda: bake_chain(5), 5, 5),
    "shells": (lambda: bake_shells(), 8, 5),
    "rigid": (lambda: bake_rigid_body(), 1, 1),
    "random": (lambda: bake_random_model(7), 8, 1),
    "flexible": (lambda: bake_random_model(1, options=RandomOptions(5, 12, 300, 2, "flexible")), 5, 1),
}


def _make(name: str) -> Baked:
    baked = ALL[name][0]()
    assert isinstance(baked, Baked)
    return baked


@pytest.mark.parametrize("name", ALL)
def test_sequence_is_what_the_model_plays(name: str) -> None:
    """Played again here, one vertex and one frame at a time, by the definition of linear blend skinning."""
    model, sequence = _make(name).model, _make(name).sequence
    rng = np.random.default_rng(0)
    for f, v in zip(rng.integers(0, model.n_frames, 40), rng.integers(0, model.n_vertices, 40), strict=True):
        point = np.append(model.rest[v].astype(np.float64), 1.0)
        expected = np.zeros(3)
        for bone, weight in zip(model.skin.bones[v], model.skin.weights[v], strict=True):
            expected += float(weight) * (model.track.transforms[f, bone].astype(np.float64) @ point)
        np.testing.assert_allclose(sequence.frames[f, v], expected, atol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_counts_shells_and_rest(name: str) -> None:
    baked, (_, n_bones, n_shells) = _make(name), ALL[name]
    assert baked.model.n_bones == n_bones
    assert set(np.unique(baked.model.skin.bones[baked.model.skin.weights > 0])) == set(range(n_bones))
    found = topology_of(baked.model.n_vertices, baked.model.faces)
    assert found.n_shells == n_shells
    assert found.triangles_at_edge == {2}
    np.testing.assert_allclose(baked.sequence.frames[0], baked.model.rest, atol=1e-6)
    assert np.ptp(baked.sequence.frames, axis=0).max() > 0.1  # it moves


@pytest.mark.parametrize("name", ALL)
def test_deterministic(name: str) -> None:
    assert np.array_equal(_make(name).sequence.frames, _make(name).sequence.frames)


@pytest.mark.parametrize("name", [n for n in ALL if n != "flexible"])
def test_rigid_bones_are_rigid(name: str) -> None:
    linear = _make(name).model.track.transforms[..., :3].astype(np.float64)
    np.testing.assert_allclose(linear @ np.swapaxes(linear, 2, 3), np.broadcast_to(np.eye(3), linear.shape), atol=1e-5)
    assert _make(name).model.track.bone_type == "rigid"


def test_flexible_bones_stretch_but_do_not_collapse() -> None:
    size = np.linalg.svd(_make("flexible").model.track.transforms[..., :3], compute_uv=False)
    assert size.max() > 1.05
    assert size.min() > 0.2


def test_cylinder_blends_smoothly_around_joints() -> None:
    skin = bake_cylinder(3).model.skin
    blended = (skin.weights > 0).all(axis=1)
    assert 0.2 < blended.mean() < 0.6
    crisp = bake_cylinder(3, options=BakeOptions(softness=0.0)).model.skin
    assert ((crisp.weights == 0) | (crisp.weights == 1) | (crisp.weights == 0.5)).all()


def test_random_model_has_the_size_asked_for() -> None:
    options = RandomOptions(bones=3, frames=5, vertices=77, influences=4)
    model = bake_random_model(2, options=options).model
    assert (model.n_bones, model.n_frames, model.n_vertices, model.skin.n_influences) == (3, 5, 77, 3)
    assert not np.array_equal(model.track.transforms, bake_random_model(3, options=options).model.track.transforms)


def test_weights_of_neighbours_differ_little() -> None:
    baked = bake_random_model(0, options=RandomOptions(vertices=4000))
    dense = baked.model.skin.dense(8)
    a, b = baked.model.faces[:, 0], baked.model.faces[:, 1]
    assert np.abs(dense[a] - dense[b]).max() < 0.3


def test_refuses() -> None:
    with pytest.raises(OptionError):
        bake_cylinder(-1)
    with pytest.raises(OptionError):
        bake_chain(0)
    with pytest.raises(OptionError):
        BakeOptions(softness=2)
    with pytest.raises(OptionError):
        RandomOptions(bones=0)
