"""Lattices around closed surfaces, and what is inside."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.core.mesh import Mesh
from osteon.elastic.inside import inside_grid, winding_numbers
from osteon.elastic.lattice import lattice_around
from osteon.elastic.solid import signed_volumes, solid_pieces
from osteon.synth.figure import make_figure
from tests.unit.elastic.conftest import box


def joined(*meshes: Mesh, name="two") -> Mesh:
    rest = np.concatenate([mesh.rest for mesh in meshes])
    starts = np.cumsum([0, *(mesh.n_vertices for mesh in meshes)])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)]
    return Mesh(rest, np.concatenate(faces), name=name)


@pytest.fixture(scope="module")
def figure() -> Mesh:
    vertices, faces, _ = make_figure(40)
    return Mesh(vertices.astype(np.float32), faces, name="figure")


def test_it_carries_the_surface(figure, rng):
    solid = lattice_around(figure, 0.1)
    assert solid.surface is figure
    assert solid.weights.min() > -1e-9  # every vertex lies in its element
    np.testing.assert_allclose(solid.weights.sum(axis=1), 1)
    np.testing.assert_allclose(solid.carry(solid.points), figure.rest, atol=1e-12)
    gradient = rng.normal(size=(3, 3))
    np.testing.assert_allclose(solid.carry(solid.points @ gradient.T), figure.rest @ gradient.T, atol=1e-6)


def test_elements_have_one_size_and_fill_the_body(figure):
    solid = lattice_around(figure, 0.1)
    volumes = signed_volumes(solid.points, solid.tets)
    np.testing.assert_allclose(volumes, 0.1**3 / 12)
    corners = figure.rest[figure.faces].astype(float)
    volume = np.einsum("ti,ti->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
    assert (volumes * solid.fill).sum() == pytest.approx(volume, rel=0.1)
    assert solid_pieces(solid).max() == 0
    finer = lattice_around(figure, 0.05)
    finer_volume = (signed_volumes(finer.points, finer.tets) * finer.fill).sum()
    assert abs(finer_volume - volume) < abs((volumes * solid.fill).sum() - volume)


def test_a_box_in_step_with_the_lattice_is_full():
    solid = lattice_around(box((2, 1, 1)), 0.25)
    full = (signed_volumes(solid.points, solid.tets) * solid.fill).sum()
    assert full == pytest.approx(2.0, rel=0.12)
    assert (solid.fill == 1).mean() > 0.3


def test_shells_inside_out_and_overlapping():
    both = joined(box(), box(at=(0.5, 0, 0)))
    flipped = Mesh(both.rest, both.faces[:, ::-1], name="flipped")
    axes = (np.array([0.2, 0.7, 1.2, 1.7]), np.array([0.31, 1.4]), np.array([-0.2, 0.37, 1.1]))
    for mesh in (both, flipped):
        inside = inside_grid(mesh.rest.astype(float), mesh.faces, axes)
        assert inside[:, 0, 1].tolist() == [True, True, True, False]
        assert inside.sum() == 3
    away = joined(box(), box(at=(3, 0, 0)))
    assert solid_pieces(lattice_around(away, 0.3)).max() == 1


def test_grid_and_winding_agree(figure, rng):
    vertices = figure.rest.astype(float)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    axes = tuple(np.sort(rng.uniform(low[i], high[i], 9)) for i in range(3))
    inside = inside_grid(vertices, figure.faces, axes)
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    around = winding_numbers(points, vertices, figure.faces)
    assert np.abs(around - np.round(around)).max() < 1e-9
    assert np.array_equal(inside.ravel(), around > 0.5)
    assert inside.any()


def test_columns_through_edges_and_vertices_are_cut_once():
    mesh = box()
    grid = np.linspace(0, 1, 5)  # its ends and diagonal lie on edges
    inside = inside_grid(mesh.rest.astype(float), mesh.faces, (grid[1:-1], grid[1:-1], np.array([-0.5, 0.5, 1.5])))
    assert inside[:, :, 1].all()
    assert not inside[:, :, [0, 2]].any()


def test_seams_count_as_closed():
    mesh = box()
    apart = Mesh(mesh.rest[mesh.faces.ravel()], np.arange(36).reshape(12, 3), name="seams")
    assert len(lattice_around(apart, 0.3).tets) == len(lattice_around(mesh, 0.3).tets)


@pytest.mark.parametrize(
    ("mesh", "cube", "said"),
    [
        (Mesh(box().rest, box().faces[:-1], name="bowl"), 0.3, ("'bowl'", "open along 3 edges", "close its holes")),
        (Mesh(np.zeros((3, 3)), [[0, 1, 2]], name="dot"), 0.3, ("'dot'", "no triangle with an area")),
        (box(), 1e-3, ("too many", "ask for fewer")),
    ],
)
def test_what_has_no_inside_is_named(refused, mesh, cube, said):
    with refused(GeometryError, *said):
        lattice_around(mesh, cube)
