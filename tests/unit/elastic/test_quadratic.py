"""Ten-node tetrahedra: shape functions, derivatives by finite differences, what costs no energy, and CalculiX."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.transforms import rotation_from_axis_angle
from osteon.elastic.body import ElasticBody
from osteon.elastic.elements import Material, TetElements
from osteon.elastic.lattice import lattice_around
from osteon.elastic.newton import NewtonOptions, StiffnessSystem, find_equilibrium
from osteon.elastic.quadratic import EDGES, integration_points, quadratic_solid, shape_functions, shape_slopes
from osteon.elastic.solid import Solid, signed_volumes, solid_of_tetrahedra
from osteon_bench.calculix import LoadedSolid, solve_with_calculix, why_no_calculix
from osteon_bench.subjects import bar_skeleton, make_bar
from tests.unit.elastic.conftest import box

FLESH = Material(2.0, 0.4)


@pytest.fixture(scope="module")
def solid() -> Solid:
    return quadratic_solid(solid_of_tetrahedra(*make_bar((2, 1, 1), 2.0), "bar"))


@pytest.fixture(scope="module")
def quadratic(solid) -> TetElements:
    return TetElements.of(solid.points, solid.tets)


def states(points, rng) -> dict[str, np.ndarray]:
    return {
        "bent": points + 0.03 * rng.normal(size=points.shape),
        "crushed": points * [0.3, 1.0, 1.0] + 0.01 * rng.normal(size=points.shape),
        "tangled": points + 0.3 * rng.normal(size=points.shape),
    }


def test_shape_functions_are_one_at_their_node_alone(rng):
    nodes = np.concatenate([np.eye(4), (np.eye(4)[EDGES[:, 0]] + np.eye(4)[EDGES[:, 1]]) / 2])
    np.testing.assert_allclose(shape_functions(nodes), np.eye(10), atol=1e-15)
    inner = rng.dirichlet(np.ones(4), size=5)
    np.testing.assert_allclose(shape_functions(inner).sum(axis=1), 1)
    step = 1e-6 * (np.eye(4)[1] - np.eye(4)[3])
    change = (shape_functions(inner + step) - shape_functions(inner - step)) / 2e-6
    np.testing.assert_allclose(change, shape_slopes(inner)[..., 1] - shape_slopes(inner)[..., 3], atol=1e-8)


def test_four_points_integrate_quadratic_functions():
    """The mean of L_i L_j over a tetrahedron is 1/20, and 1/10 for i = j."""
    points = integration_points()
    np.testing.assert_allclose(points.T @ points / 4, 0.05 + 0.05 * np.eye(4), atol=1e-15)


def test_volumes_and_gradients_at_rest(solid, quadratic, rng):
    assert quadratic.volumes.sum() == pytest.approx(signed_volumes(solid.points, solid.tets).sum())
    linear = rng.normal(size=(3, 3))
    np.testing.assert_allclose(
        quadratic.deformations(solid.points @ linear.T), np.tile(linear, (len(quadratic.volumes), 1, 1)), atol=1e-12
    )
    square = solid.points**2  # its gradient at an integration point is twice the place of that point
    inner = shape_functions(integration_points())
    places = np.einsum("ga,eai->egi", inner, solid.points[solid.tets]).reshape(-1, 3)
    found = quadratic.deformations(square)
    np.testing.assert_allclose(np.einsum("pii->pi", found), 2 * places, atol=1e-12)


def test_edges_that_are_bent_at_rest_are_no_deformation(solid, rng):
    curved = solid.points + 0.02 * rng.normal(size=solid.points.shape)
    elements = TetElements.of(curved, solid.tets)
    np.testing.assert_allclose(
        elements.deformations(curved), np.tile(np.eye(3), (len(elements.volumes), 1, 1)), atol=1e-12
    )


def test_forces_and_stiffness_are_derivatives(solid, quadratic, rng):
    held = np.zeros(len(solid.points), bool)
    held[:3] = True
    system = StiffnessSystem.of(quadratic, held)
    step = 1e-6 * rng.normal(size=solid.points.shape)
    step[held] = 0
    for name, places in states(solid.points, rng).items():
        ends = places + step, places - step
        energy = [quadratic.energies(end, FLESH).sum() for end in ends]
        pulls = [quadratic.forces(end, FLESH) for end in ends]
        slope = (quadratic.forces(places, FLESH) * step).sum()
        assert energy[0] - energy[1] == pytest.approx(2 * slope, rel=1e-5), name
        matrix = system.stiffness(places, FLESH, clamped=False)
        found = 2 * (matrix @ step[system.free].ravel()).reshape(-1, 3)
        change = (pulls[0] - pulls[1])[system.free]
        np.testing.assert_allclose(found, change, atol=5e-6 * np.abs(change).max(), err_msg=name)
        assert np.abs(matrix - matrix.T).max() < 1e-12 * np.abs(matrix).max()


def test_a_rigid_motion_changes_nothing(solid, quadratic, rng):
    turn = rotation_from_axis_angle(np.array([1.0, -2.0, 0.5]), 1.9)
    places = states(solid.points, rng)["bent"]
    moved = places @ turn.T + [3.0, -1.0, 2.0]
    np.testing.assert_allclose(quadratic.energies(moved, FLESH), quadratic.energies(places, FLESH), atol=1e-12)
    np.testing.assert_allclose(quadratic.forces(moved, FLESH), quadratic.forces(places, FLESH) @ turn.T, atol=1e-12)
    still = solid.points @ turn.T
    assert np.abs(quadratic.energies(still, FLESH)).max() < 1e-14
    assert np.abs(quadratic.forces(still, FLESH)).max() < 1e-12


def test_a_patch_keeps_a_linear_map(rng):
    solid = quadratic_solid(solid_of_tetrahedra(*make_bar((4, 2, 2)), "bar"))
    outer = np.isclose(np.abs(solid.points[:, 1:]), 0.5).any(axis=1)
    outer |= np.isclose(solid.points[:, 0], solid.points[:, 0].min()) | np.isclose(
        solid.points[:, 0], solid.points[:, 0].max()
    )
    assert 0 < (~outer).sum() < len(outer)
    asked = solid.points @ (np.eye(3) + 0.2 * rng.normal(size=(3, 3))).T
    system = StiffnessSystem.of(TetElements.of(solid.points, solid.tets), outer)
    start = np.where(outer[:, None], asked, solid.points)
    found = find_equilibrium(system, Material(), start, options=NewtonOptions(tolerance=1e-12))
    np.testing.assert_allclose(found.places, asked, atol=1e-9)


def test_a_surface_in_a_lattice_is_carried_by_quadratic_functions(rng):
    mesh = box((2.0, 1.0, 1.0))
    solid = quadratic_solid(lattice_around(mesh, 0.3))
    np.testing.assert_allclose(solid.weights.sum(axis=1), 1)
    np.testing.assert_allclose(solid.carry(solid.points), mesh.rest, atol=1e-6)
    linear = rng.normal(size=(3, 3))
    np.testing.assert_allclose(solid.carry(solid.points @ linear.T), mesh.rest @ linear.T, atol=1e-5)
    bent = (solid.weights[:, 4:] != 0).any(axis=1)
    assert bent.any()
    square = solid.carry(solid.points**2)
    np.testing.assert_allclose(square[bent], mesh.rest[bent].astype(float) ** 2, atol=1e-5)


def test_flesh_on_bones_of_quadratic_elements(bar):
    """Coarse quadratic elements are closer to fine linear ones than coarse linear ones are."""
    coarse = solid_of_tetrahedra(*make_bar((8, 2, 2)), "bar")
    skeleton, bend = bar_skeleton(), {1: rotation_from_axis_angle(np.array([0.0, 1.0, 0.0]), 0.9)}
    fine = bar.pose(bend)
    posed = {}
    for name, solid in (("linear", coarse), ("quadratic", quadratic_solid(coarse))):
        body = ElasticBody.of(solid, skeleton)
        np.testing.assert_allclose(body.weights.sum(axis=1), 1)
        posed[name] = body.pose(bend)
        assert posed[name].in_balance
        assert posed[name].inverted <= len(solid.tets)
    where = [np.linalg.norm(bar.solid.surface.rest - vertex, axis=1).argmin() for vertex in coarse.surface.rest]
    off = {name: np.abs(found.surface - fine.surface[where]).max() for name, found in posed.items()}
    assert off["quadratic"] < off["linear"]


@pytest.mark.parametrize(("poisson", "force", "bound"), [(0.3, 1e-4, 0.001), (0.45, 3e-3, 0.01)])
def test_a_cantilever_bends_as_c3d10_does(poisson, force, bound):
    if why_no_calculix():
        pytest.skip(why_no_calculix())
    solid = quadratic_solid(solid_of_tetrahedra(*make_bar((8, 1, 1), 8.0), "bar"))
    points = solid.points
    held, end = points[:, 0] < 1e-9, points[:, 0] > 8 - 1e-9
    loads = np.zeros_like(points)
    loads[end, 2] = -force / end.sum()
    material = Material(1.0, poisson)
    system = StiffnessSystem.of(TetElements.of(points, solid.tets), held)
    found = find_equilibrium(system, material, points, loads=loads)
    judged = solve_with_calculix(LoadedSolid(points, solid.tets, held, loads, material))
    assert np.linalg.norm((judged - points)[end].mean(axis=0)) > (4.0 if force > 1e-3 else 0.15)
    off = np.linalg.norm(found.places - judged, axis=1).max()
    assert off < bound * np.linalg.norm((judged - points)[end].mean(axis=0))


def test_solids_have_four_or_ten_nodes_per_element(solid):
    from osteon.core.errors import GeometryError

    with pytest.raises(GeometryError, match="4 or 10 nodes"):
        replace(solid, tets=solid.tets[:, :6])
