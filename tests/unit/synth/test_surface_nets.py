from __future__ import annotations

import numpy as np
import pytest

from osteon.synth.implicit_surface import Grid, Sweep, polygonise, relax_surface, sample_field, split_quads

from .conftest import smallest_angles, topology_of

LIMB = Sweep(((0.0, 0.0, 0.0, 0.3, 0.3), (0.0, 0.0, 1.0, 0.3, 0.3)))


def test_field_of_a_capsule_is_its_distance() -> None:
    grid = Grid.around([LIMB], 0.1)
    field = sample_field([LIMB], grid)
    x, y, z = np.meshgrid(*grid.axes, indexing="ij")
    exact = np.sqrt(x**2 + y**2 + (z - np.clip(z, 0, 1)) ** 2) - 0.3
    near = exact < 0.3
    np.testing.assert_allclose(field[near], exact[near], atol=1e-12)


def test_flat_axis_flattens() -> None:
    flat = Sweep(((0.0, 0.0, 0.0, 0.4, 0.2), (0.0, 0.0, 1.0, 0.4, 0.2)))
    grid = Grid.around([flat], 0.05)
    field = sample_field([flat], grid)
    vertices, quads = polygonise(field, grid)
    vertices = relax_surface(vertices, quads, field, grid)
    assert np.ptp(vertices[:, 0]) == pytest.approx(0.4, abs=0.02)
    assert np.ptp(vertices[:, 1]) == pytest.approx(0.8, abs=0.02)


def test_relaxed_surface_lies_on_the_field_with_good_triangles() -> None:
    grid = Grid.around([LIMB], 0.06, zones=((2, 0.5, 0.6),))
    field = sample_field([LIMB], grid)
    vertices, quads = polygonise(field, grid)
    vertices = relax_surface(vertices, quads, field, grid)
    faces = split_quads(vertices, quads)
    distance = np.linalg.norm(vertices - np.clip(vertices, (0, 0, 0), (0, 0, 1)), axis=1)
    np.testing.assert_allclose(distance, 0.3, atol=0.003)
    assert smallest_angles(vertices, faces).min() > 20
    assert topology_of(len(vertices), faces).euler == 2


@pytest.mark.parametrize("seed", range(6))
def test_any_signs_give_a_manifold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    field = np.ones((12, 11, 10))
    field[1:-1, 1:-1, 1:-1] = rng.choice([-1.0, 1.0], p=[0.25, 0.75], size=(10, 9, 8)) * rng.uniform(0.1, 1, (10, 9, 8))
    field[5, 5, 5] = -1
    grid = Grid(tuple(np.arange(float(n)) for n in field.shape))  # type: ignore[arg-type]
    _, quads = polygonise(field, grid)
    directed = np.concatenate([quads[:, [k, (k + 1) % 4]] for k in range(4)])
    assert len(np.unique(directed, axis=0)) == len(directed)
    assert {tuple(e) for e in directed.tolist()} == {tuple(e[::-1]) for e in directed.tolist()}
    around: dict[int, dict[int, int]] = {}
    for quad in quads.tolist():
        for k in range(4):
            around.setdefault(quad[k], {})[quad[(k + 1) % 4]] = quad[k - 1]
    for ring in around.values():  # the quads around a vertex form one fan
        first = next(iter(ring))
        at, steps = ring[first], 1
        while at != first:
            at, steps = ring[at], steps + 1
        assert steps == len(ring)


def test_grid_maps_there_and_back() -> None:
    grid = Grid.around([LIMB], 0.1, zones=((2, 0.4, 0.5),))
    points = np.random.default_rng(0).uniform((-0.3, -0.3, 0), (0.3, 0.3, 1), (20, 3))
    np.testing.assert_allclose(grid.to_world(grid.to_cells(points)), points, atol=1e-12)
    assert np.diff(grid.axes[2]).min() == pytest.approx(0.05)
    np.testing.assert_allclose(grid.axes[0], -grid.axes[0][::-1], atol=1e-12)
