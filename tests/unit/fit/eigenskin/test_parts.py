"""The parts of EigenSkin one by one: inverses, limits, radial basis functions, weights of rigs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.arrays import Float64
from osteon.core.mesh import Mesh
from osteon.fit.eigenskin.driver_columns import limit_columns
from osteon.fit.eigenskin.fit_rbf import RbfOptions, count_axes, fit_settings
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.fit.eigenskin.rest_displacements import bounded_inverse
from osteon.fit.eigenskin.stick_rig import rig_of_sticks
from osteon.fit.skin.bone_weights import distance_weights, heat_weights, strongest_bones

from ....eigenskin_arm import make_rig, make_sticks

HINGE = np.array([[1.0, 0.0, 0.0]])


def settings(degrees: list[float]) -> np.ndarray:
    """(q,1,4)"""
    return Rotation.from_rotvec(np.outer(degrees, [1.0, 0.0, 0.0]), degrees=True).as_quat()[:, None]


def test_an_inverse_is_exact_unless_it_is_huge() -> None:
    rng = np.random.default_rng(0)
    linear = rng.normal(size=(50, 3, 3))
    inverse, bounded, least = bounded_inverse(linear, 0.05)
    singular = np.linalg.svd(linear, compute_uv=False)[:, 2]
    assert (bounded, least) == (int((singular < 0.05).sum()), pytest.approx(singular.min()))
    fine = singular >= 0.05
    assert inverse[fine] @ linear[fine] == pytest.approx(np.broadcast_to(np.eye(3), linear[fine].shape), abs=1e-9)
    flat = np.diag([1.0, 1.0, 1e-9])[None]
    assert np.linalg.norm(bounded_inverse(flat, 0.1)[0], ord=2, axis=(1, 2)).max() == pytest.approx(10.0)


@pytest.mark.parametrize("options", [RbfOptions(), RbfOptions((1.0,), (0.0,))])
def test_settings_are_met_and_rest_is_zero(options: RbfOptions) -> None:
    turns, values = settings([-30, 20, 45, 70]), np.random.default_rng(1).normal(size=(4, 3))
    fit = fit_settings(turns, values, HINGE, options)
    assert fit.at(turns) == pytest.approx(values, abs=1e-9)
    assert np.abs(fit.at(settings([0.0]))).max() <= 1e-9


def test_what_is_between_is_between() -> None:
    """A straight line stays nearly straight, and beyond the last setting it does not run away."""
    angles = [15.0, 30.0, 45.0, 60.0]
    fit = fit_settings(settings(angles), np.array(angles)[:, None], HINGE, RbfOptions())
    assert fit.at(settings([22.5, 50.0]))[:, 0] == pytest.approx([22.5, 50.0], abs=1.5)
    assert 45 < fit.at(settings([90.0]))[0, 0] < 75


def test_noise_gets_a_ridge_and_clean_numbers_none() -> None:
    rng = np.random.default_rng(3)
    angles = np.linspace(5, 90, 40)
    clean = np.sin(np.deg2rad(angles))[:, None]
    noisy = clean + 0.2 * rng.normal(size=clean.shape)
    assert fit_settings(settings(list(angles)), clean, HINGE, RbfOptions()).ridge == 0
    ridged = fit_settings(settings(list(angles)), noisy, HINGE, RbfOptions())
    assert ridged.ridge > 0
    assert np.abs(ridged.at(settings([0.0]))).max() <= 1e-9  # the rest pose has none and stays as it is


def test_radius_is_chosen_by_the_numbers_that_count() -> None:
    """Columns of no size have no say."""
    angles = list(np.linspace(10, 80, 8))
    smooth, rough = np.deg2rad(angles)[:, None], np.resize([1.0, -1.0], 8)[:, None]
    turns, both = settings(angles), np.concatenate([smooth, rough], axis=1)
    alone = fit_settings(turns, smooth, HINGE, RbfOptions()).radius
    assert fit_settings(turns, both, HINGE, RbfOptions(), np.array([1.0, 1e-6])).radius == alone
    assert fit_settings(turns, both, HINGE, RbfOptions(), np.array([1e-6, 1.0])).radius < alone


def test_a_pair_grows_with_both_turns() -> None:
    turns = np.concatenate([settings([30.0]), settings([40.0])], axis=1)
    fit = fit_settings(turns, np.array([[1.0]]), np.repeat(HINGE, 2, axis=0), RbfOptions())
    assert fit.at(turns)[0, 0] == pytest.approx(1.0)

    def at(s: float, t: float) -> float:
        return float(fit.at(np.concatenate([settings([s]), settings([t])], axis=1))[0, 0])

    assert at(30, 0) == at(0, 40) == 0
    assert 2.5 < at(60, 80) < 4
    assert -1 < at(-30, 40) < -0.7


def test_columns_fade_where_stronger_ones_take_their_room() -> None:
    """Along a line, each column a bump: never more than two, no jumps."""
    x = np.linspace(0, 1, 400)
    bumps = np.stack([np.exp(-(((x - c) / 0.25) ** 2)) for c in (0.1, 0.35, 0.6, 0.85)])
    columns = bumps[..., None] * np.array([1.0, 0.5, 0.0])
    masked = limit_columns(columns, np.ones(4), 2, np.eye(4))
    assert np.any(masked, axis=2).sum(axis=0).max() == 2
    before, after = (np.abs(np.diff(c, axis=1)).max() for c in (columns, masked))
    assert after <= 6 * before  # as smooth as a mesh shows
    strong = bumps.argmax(axis=0)
    kept = np.linalg.norm(masked, axis=2) / np.linalg.norm(columns, axis=2)
    assert kept[strong, np.arange(400)].min() > 0.5


def test_columns_that_do_nothing_are_dropped() -> None:
    columns = np.zeros((1, 3, 3))
    columns[0, :, 0] = [1.0, 5e-4, 0.1]
    masked = limit_columns(columns, np.ones(1), 10, np.ones((1, 1)))
    assert masked[0, :, 0] == pytest.approx([1.0, 0.0, 0.1], rel=1e-3, abs=1e-12)


def test_columns_that_stay_take_up_what_goes() -> None:
    """Three columns in one place, two of which always come together: the weaker goes, and the other does its part."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(50, 3))
    a[:, 2] = a[:, 1]
    columns = np.zeros((3, 1, 3))
    columns[:, 0, 0] = [1.0, 0.8, 0.05]
    limited = limit_columns(columns, np.ones(3), 2, a)[:, 0, 0]
    assert limited[2] == 0
    assert limited[:2] == pytest.approx([1.0, 0.85], abs=2e-3)


def test_a_joint_of_two_axes_does_both_at_once() -> None:
    """What each axis does alone adds up, though both were seen together at two settings only."""

    def values(vectors: Float64) -> Float64:
        return np.stack([np.sin(vectors[:, 0]), 1 - np.cos(vectors[:, 0]) + vectors[:, 1]], axis=1)

    def turned(vectors: Float64) -> Float64:
        return np.asarray(Rotation.from_rotvec(vectors).as_quat())[:, None]

    bends, sways, both = np.linspace(0.2, 1.2, 6), (-0.2, -0.1, 0.1, 0.2), ([0.6, -0.2, 0.0], [0.6, 0.2, 0.0])
    seen = np.array([*([x, 0, 0] for x in bends), *([0, y, 0] for y in sways), *both])
    unseen = np.array([[0.3, 0.2, 0.0], [0.9, -0.2, 0.0], [0.9, 0.1, 0.0], [1.2, 0.2, 0.0]])
    missed = {}
    for smooth in (False, True):
        fit = fit_settings(turned(seen), values(seen), np.zeros((1, 3)), RbfOptions(smooth=smooth))
        assert np.allclose(fit.at(turned(seen)), values(seen), atol=1e-9)
        missed[smooth] = np.abs(fit.at(turned(unseen)) - values(unseen)).max()
    assert missed[True] < 0.01 < 0.1 * missed[False]
    assert count_axes(turned(seen)[:, 0]) == 2


def test_weights_of_a_rig_are_smooth_and_sum_to_one() -> None:
    rig = make_rig()
    weights = rig.deformer.bone_weights().dense(3)
    assert weights.sum(axis=1) == pytest.approx(np.ones(len(weights)), abs=1e-5)
    middle = np.abs(rig.mesh.rest[:, 2] - [[-0.65], [0.05], [0.7]]).argmin(axis=1)
    assert weights[middle].argmax(axis=1).tolist() == [0, 1, 2]
    edges = np.concatenate([rig.mesh.faces[:, [0, 1]], rig.mesh.faces[:, [1, 2]]])
    assert np.abs(weights[edges[:, 0]] - weights[edges[:, 1]]).max() < 0.35


@pytest.mark.parametrize("word", ["distance", "harmonic"])
def test_units_and_place_change_no_weight(word: str) -> None:
    from osteon.core.sticks import StickSkeleton

    rig, sticks, options = make_rig(), make_sticks(), EigenSkinOptions(weights=word)
    turn = 30 * Rotation.random(random_state=2).as_matrix()
    other = StickSkeleton(sticks.joints @ turn.T, sticks.bones, sticks.names)
    one = rig_of_sticks(rig.mesh, sticks, options).deformer.bone_weights().dense(3)
    two = rig_of_sticks(Mesh(rig.mesh.rest @ turn.T, rig.mesh.faces), other, options).deformer.bone_weights().dense(3)
    assert two == pytest.approx(one, abs=1e-4)


def test_weights_by_both_ways_from_distances() -> None:
    rig = make_rig()
    rest, faces = rig.mesh.rest.astype(np.float64), rig.mesh.faces
    distances = np.stack([np.abs(rest[:, 2] + 0.5) + 0.1, np.abs(rest[:, 2] - 0.5) + 0.1], axis=1)
    for weights in (distance_weights(rest, faces, distances), heat_weights(rest, faces, distances, 1.5)):
        assert weights.sum(axis=1) == pytest.approx(np.ones(len(rest)))
        assert (weights >= 0).all()
        assert weights[rest[:, 2] < -0.5, 0].min() > 0.8


def test_the_strongest_bones_fade_to_nothing() -> None:
    weights = np.array([[0.5, 0.3, 0.2, 0.0], [0.25, 0.25, 0.25, 0.25]])
    skin = strongest_bones(weights, 2)
    assert skin.bones[0].tolist() == [0, 1]
    assert skin.weights[0] == pytest.approx([0.75, 0.25])
    assert skin.weights[1].sum() == pytest.approx(1.0)
