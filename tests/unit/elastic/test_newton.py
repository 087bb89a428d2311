"""Shapes at rest: the patch test, energy that falls, loads, and scenes that are turned."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.core.transforms import rotation_from_axis_angle
from osteon.elastic.elements import Material, TetElements
from osteon.elastic.newton import NewtonOptions, StiffnessSystem, find_equilibrium
from osteon_bench.subjects import make_bar

FLESH = Material()


def lumpy_bar(rng, cells=(5, 3, 3)):
    """A bar whose inner nodes are not where a grid would have them, and which nodes are on its surface."""
    points, tets, faces = make_bar(cells)
    outer = np.zeros(len(points), bool)
    outer[faces] = True
    points = points + np.where(outer[:, None], 0, 0.05 * rng.normal(size=points.shape))
    return points, tets, outer


@pytest.mark.parametrize("size", [0.01, 0.3])
def test_patch(rng, size):
    points, tets, outer = lumpy_bar(rng)
    asked = points @ (np.eye(3) + size * rng.normal(size=(3, 3))).T + [1, 2, 3]
    start = np.where(outer[:, None], asked, points + np.array([1, 2, 3]))
    found = find_equilibrium(
        StiffnessSystem.of(TetElements.of(points, tets), outer), FLESH, start, options=NewtonOptions(tolerance=1e-12)
    )
    assert np.abs(found.places - asked).max() < 1e-9 * 4


def twisted(rng, turn=None):
    """A bar held at both ends, of which one is twisted and pushed."""
    turn = np.eye(3) if turn is None else turn
    points, tets, _ = lumpy_bar(rng, (8, 3, 3))
    ends = (points[:, 0] < 1e-9) | (points[:, 0] > 4 - 1e-9)
    moved = points @ rotation_from_axis_angle(np.array([1.0, 0, 0]), 1.2).T - [0.6, 0, 0]
    start = np.where((points[:, 0] > 4 - 1e-9)[:, None], moved, points)
    system = StiffnessSystem.of(TetElements.of(points @ turn.T, tets), ends)
    return system, start @ turn.T, ends


@pytest.mark.parametrize("trusted", [0.0, 0.3])
def test_energy_falls_in_every_step(rng, trusted):
    system, start, ends = twisted(rng)
    found = find_equilibrium(system, FLESH, start, options=NewtonOptions(trusted=trusted))
    assert found.stopped_by == "balance"
    assert found.steps > 2
    assert min(found.falls) > 0
    before = system.elements.energies(start, FLESH).sum()
    assert before - sum(found.falls) == pytest.approx(found.energy, rel=1e-9)
    forces = system.elements.forces(found.places, FLESH)
    assert np.linalg.norm(forces[~ends]) <= 1e-6 * np.linalg.norm(forces[ends])
    assert np.array_equal(found.places[ends], start[ends])


def test_the_true_stiffness_leads_to_the_same_shape_in_fewer_steps(rng):
    system, start, _ = twisted(rng)
    ways = [
        find_equilibrium(system, FLESH, start, options=NewtonOptions(tolerance=1e-9, trusted=t)) for t in (0.0, 0.3)
    ]
    np.testing.assert_allclose(ways[0].places, ways[1].places, atol=1e-7)
    assert ways[1].steps < ways[0].steps


def test_a_turned_scene_gives_a_turned_shape():
    turn = rotation_from_axis_angle(np.array([1.0, -2, 0.5]), 2.0)
    straight, turned = (
        find_equilibrium(system, FLESH, start)
        for system, start, _ in (twisted(np.random.default_rng(1)), twisted(np.random.default_rng(1), turn))
    )
    assert straight.steps == turned.steps
    assert np.abs(straight.places @ turn.T - turned.places).max() < 1e-9 * 4


def test_stiffness_scales_forces_and_not_shapes(rng):
    system, start, _ = twisted(rng)
    soft, hard = (find_equilibrium(system, Material(young), start) for young in (1.0, 2e5))
    np.testing.assert_allclose(soft.places, hard.places, atol=1e-9)
    assert hard.energy == pytest.approx(2e5 * soft.energy)


def test_a_load_bends_a_bar_and_is_balanced_where_it_is_held():
    points, tets, _ = make_bar((10, 2, 2), 5.0)
    held, end = points[:, 0] < 1e-9, points[:, 0] > 5 - 1e-9
    loads = np.zeros_like(points)
    loads[end, 2] = -2e-4
    system = StiffnessSystem.of(TetElements.of(points, tets), held)
    found = find_equilibrium(system, Material(1.0, 0.3), points, loads=loads)
    assert found.stopped_by == "balance"
    assert -0.8 < (found.places - points)[end, 2].mean() < -0.3
    reactions = system.elements.forces(found.places, Material(1.0, 0.3))[held].sum(axis=0)
    np.testing.assert_allclose(reactions, -loads.sum(axis=0), atol=1e-8)


def test_rest_needs_no_step(elements):
    points = make_bar((4, 2, 2))[0]
    system = StiffnessSystem.of(elements, points[:, 0] == 0)
    found = find_equilibrium(system, FLESH, points)
    assert (found.steps, found.stopped_by) == (0, "balance")
    assert np.array_equal(found.places, points)


def test_it_says_when_it_was_stopped(rng):
    system, start, _ = twisted(rng)
    found = find_equilibrium(system, FLESH, start, options=NewtonOptions(steps=1))
    assert (found.steps, found.stopped_by) == (1, "steps")
    assert found.imbalance > 1e-6


def test_what_hangs_on_nothing_is_named(elements, refused):
    places = make_bar((4, 2, 2))[0]
    start = places.copy()
    start[0] += 0.1
    with refused(GeometryError, "held by no bone"):
        system = StiffnessSystem.of(elements, np.zeros(len(places), bool))
        system.factor(0 * system.stiffness(places, FLESH))
    with refused(OptionError, "tolerance"):
        NewtonOptions(tolerance=0.0)
