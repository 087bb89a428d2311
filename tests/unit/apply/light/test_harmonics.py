"""Spherical harmonics: orthonormal, known values, rotations form a group, the cosine and the hemisphere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from osteon.apply.light.harmonics import (
    band_of,
    cosine_factors,
    cosine_transfer,
    hemisphere_products,
    rotate_sh,
    rotation_points,
    sh_basis,
    spiral_directions,
)

DIRECTIONS = spiral_directions(20000)
SHARE = 4 * np.pi / len(DIRECTIONS)
SEEDS = st.integers(0, 2**31 - 1)


def random_rotation(seed: int) -> np.ndarray:
    return Rotation.random(random_state=np.random.default_rng(seed)).as_matrix()


def test_the_basis_is_orthonormal():
    basis = sh_basis(DIRECTIONS, 5)
    assert np.abs(basis.T @ basis * SHARE - np.eye(25)).max() < 1e-5


def test_first_bands_have_their_known_values():
    x, y, z = 0.36, -0.48, 0.8
    found = sh_basis(np.array([x, y, z]), 3)
    expected = [0.28209479, *(0.48860251 * c for c in (y, z, x)), 1.09254843 * x * y, 1.09254843 * y * z]
    expected += [0.31539157 * (3 * z * z - 1), 1.09254843 * x * z, 0.54627422 * (x * x - y * y)]
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_a_rotated_function_has_the_values_of_the_original(seed):
    rng, turn = np.random.default_rng(seed), random_rotation(seed)
    coefficients, at = rng.normal(size=25), spiral_directions(40)
    rotated = rotate_sh(coefficients, turn)
    np.testing.assert_allclose(sh_basis(at @ turn.T, 5) @ rotated, sh_basis(at, 5) @ coefficients, atol=1e-11)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_rotations_compose_invert_and_keep_lengths_per_band(seed):
    first, second = random_rotation(seed), random_rotation(seed + 1)
    values = np.random.default_rng(seed).normal(size=(3, 25))
    np.testing.assert_allclose(
        rotate_sh(rotate_sh(values, first), second), rotate_sh(values, second @ first), atol=1e-11
    )
    np.testing.assert_allclose(rotate_sh(rotate_sh(values, first), first.T), values, atol=1e-11)
    for band in range(5):
        own = band_of(5) == band
        lengths = [np.linalg.norm(each[:, own], axis=1) for each in (values, rotate_sh(values, first))]
        np.testing.assert_allclose(*lengths, rtol=1e-10)


def test_many_rotations_at_once_are_those_one_by_one():
    turns = Rotation.random(6, random_state=np.random.default_rng(0)).as_matrix()
    values = np.random.default_rng(1).normal(size=(6, 16))
    each = [rotate_sh(value, turn) for value, turn in zip(values, turns, strict=True)]
    np.testing.assert_allclose(rotate_sh(values, turns), each, atol=1e-13)


def test_points_of_a_band_determine_it_well():
    for degree in range(1, 5):
        assert np.linalg.cond(rotation_points(degree)[1]) < 60


def test_the_cosine_has_its_known_factors():
    np.testing.assert_allclose(cosine_factors(5), [1, 2 / 3, 1 / 4, 0, -1 / 24], atol=1e-15)


@pytest.mark.parametrize("order", [1, 3, 4, 5])
def test_unblocked_transfer_is_the_projected_cosine(order):
    normal = np.array([0.48, -0.6, 0.64])
    projected = np.maximum(0, DIRECTIONS @ normal) @ sh_basis(DIRECTIONS, order) * SHARE / np.pi
    np.testing.assert_allclose(cosine_transfer(normal, order), projected, atol=1e-5)


def test_constant_light_is_reflected_whole():
    light = np.zeros(25)
    light[0] = np.sqrt(4 * np.pi)  # the constant 1
    np.testing.assert_allclose(cosine_transfer(spiral_directions(7), 5) @ light, 1, rtol=1e-12)


@pytest.mark.parametrize("up", [(0, 1, 0), (0, 0, 1), (0.48, -0.6, 0.64)])
def test_both_halves_of_the_sphere_make_the_whole(up):
    above, below = (hemisphere_products(4, 5, side * np.array(up, float)) for side in (1, -1))
    np.testing.assert_allclose(above + below, np.eye(16, 25), atol=1e-12)
    half = np.where(DIRECTIONS @ np.array(up) > 0, 1, 0)
    by_sum = (sh_basis(DIRECTIONS, 4) * half[:, None]).T @ sh_basis(DIRECTIONS, 5) * SHARE
    np.testing.assert_allclose(above, by_sum, atol=2e-3)


def test_spiral_directions_are_unit_vectors_without_a_preferred_side():
    assert np.allclose(np.linalg.norm(spiral_directions(512), axis=1), 1)
    assert np.abs(spiral_directions(512).mean(axis=0)).max() < 2e-3
