"""Elements of flesh: derivatives against finite differences, what does not change the energy, small strains."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.transforms import rotation_from_axis_angle
from osteon.elastic.elements import Material, TetElements
from osteon.elastic.newton import StiffnessSystem
from osteon_bench.subjects import make_bar

POINTS = make_bar((4, 2, 2))[0]
FLESH = Material(2.0, 0.4)


def states(rng) -> dict[str, np.ndarray]:
    """A little bent, crushed, and turned inside out here and there."""
    return {
        "bent": POINTS + 0.03 * rng.normal(size=POINTS.shape),
        "crushed": POINTS * [0.3, 1.0, 1.0] + 0.01 * rng.normal(size=POINTS.shape),
        "tangled": POINTS + 0.3 * rng.normal(size=POINTS.shape),
    }


def test_forces_are_the_derivative_of_the_energy(elements, rng):
    step = 1e-6 * rng.normal(size=POINTS.shape)
    for name, places in states(rng).items():
        change = (elements.energies(places + step, FLESH) - elements.energies(places - step, FLESH)).sum()
        assert change == pytest.approx(2 * (elements.forces(places, FLESH) * step).sum(), rel=1e-6), name
    assert (elements.dilations(states(rng)["tangled"]) < 0).any()


def test_stiffness_is_the_derivative_of_the_forces(elements, rng):
    held = np.zeros(len(POINTS), bool)
    held[:3] = True
    system = StiffnessSystem.of(elements, held)
    step = 1e-6 * rng.normal(size=POINTS.shape)
    step[held] = 0
    for name, places in states(rng).items():
        matrix = system.stiffness(places, FLESH, clamped=False)
        change = elements.forces(places + step, FLESH) - elements.forces(places - step, FLESH)
        found = (matrix @ step[system.free].ravel()).reshape(-1, 3)
        np.testing.assert_allclose(2 * found, change[system.free], atol=2e-6 * np.abs(change).max(), err_msg=name)
        assert np.abs(matrix - matrix.T).max() < 1e-12 * np.abs(matrix).max()


def test_clamped_stiffness_has_no_negative_eigenvalue(elements, rng):
    system = StiffnessSystem.of(elements, np.zeros(len(POINTS), bool))
    tangled = states(rng)["tangled"]
    lowest = [np.linalg.eigvalsh(system.stiffness(tangled, FLESH, clamped=c).toarray())[0] for c in (False, True)]
    assert lowest[0] < -1e-2
    assert lowest[1] > -1e-10
    gentle = POINTS * 1.1  # nothing to clamp where all is pulled
    pair = [system.stiffness(gentle, FLESH, clamped=c).toarray() for c in (False, True)]
    np.testing.assert_allclose(*pair, atol=1e-12)


def test_moving_all_costs_nothing_and_changes_nothing(elements, rng):
    turn = rotation_from_axis_angle(np.array([1.0, 2, -1]), 1.3)
    moved = POINTS @ turn.T + [5, -2, 3]
    assert np.abs(elements.energies(moved, FLESH)).max() < 1e-13
    assert np.abs(elements.forces(moved, FLESH)).max() < 1e-13
    for places in states(rng).values():
        there = places @ turn.T + [5, -2, 3]
        np.testing.assert_allclose(elements.energies(there, FLESH), elements.energies(places, FLESH), atol=1e-11)
        forces = elements.forces(places, FLESH)
        np.testing.assert_allclose(elements.forces(there, FLESH), forces @ turn.T, atol=1e-11 * np.abs(forces).max())


def test_forces_and_torques_add_up_to_nothing(elements, rng):
    for places in states(rng).values():
        forces = elements.forces(places, FLESH)
        assert np.abs(forces.sum(axis=0)).max() < 1e-12 * np.abs(forces).max() * len(forces)
        assert np.abs(np.cross(places, forces).sum(axis=0)).max() < 1e-11 * np.abs(forces).max() * len(forces)


@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.45, 0.49])
def test_small_strains_are_those_of_linear_elasticity(elements, rng, poisson):
    flesh = Material(3.0, poisson)
    mu, lame = 3 / (2 * (1 + poisson)), 3 * poisson / ((1 + poisson) * (1 - 2 * poisson))
    gradient = 1e-4 * rng.normal(size=(3, 3))
    strain = (gradient + gradient.T) / 2
    density = mu * (strain**2).sum() + lame / 2 * np.trace(strain) ** 2
    found = elements.energies(POINTS @ (np.eye(3) + gradient).T, flesh).sum() / elements.volumes.sum()
    assert found == pytest.approx(density, rel=2e-3)


def test_part_filled_elements_count_in_part(rng):
    points, tets, _ = make_bar((4, 2, 2))
    fill = rng.uniform(0.1, 1, len(tets))
    places = states(rng)["bent"]
    whole, part = TetElements.of(points, tets), TetElements.of(points, tets, fill)
    np.testing.assert_allclose(part.energies(places, FLESH), fill * whole.energies(places, FLESH))


@pytest.mark.parametrize(("young", "poisson"), [(0.0, 0.4), (np.inf, 0.4), (1.0, 0.5), (1.0, -0.1), (1.0, np.nan)])
def test_impossible_flesh_is_refused(refused, young, poisson):
    with refused(OptionError, "expected"):
        Material(young, poisson)
