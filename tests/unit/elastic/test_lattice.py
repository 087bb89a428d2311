"""Lattices around closed surfaces, and what is inside."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from osteon.core.errors import GeometryError
from osteon.core.mesh import Mesh
from osteon.elastic.inside import GridCuts, inside_points
from osteon.elastic.lattice import lattice_around
from osteon.elastic.solid import signed_volumes, solid_pieces
from osteon.synth.figure import make_figure
from tests.unit.elastic.conftest import box, joined


@pytest.fixture(scope="module")
def figure() -> Mesh:
    vertices, faces, _ = make_figure(40)
    return Mesh(vertices.astype(np.float32), faces, name="figure")


def test_it_carries_the_surface(figure, rng):
    solid = lattice_around(figure, 0.1)
    assert solid.surface is figure
    assert (solid.weights.min(axis=1) > -1e-9).mean() > 0.9  # most vertices lie in their element
    assert solid.weights.min() > -0.6  # the others in the one below them
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
        inside = GridCuts.of(mesh.rest.astype(float), mesh.faces, axes).inside
        assert inside[:, 0, 1].tolist() == [True, True, True, False]
        assert inside.sum() == 3
    away = joined(box(), box(at=(3, 0, 0)))
    assert solid_pieces(lattice_around(away, 0.3)).max() == 1


def test_grid_and_winding_agree(figure, rng):
    vertices = figure.rest.astype(float)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    axes = tuple(np.sort(rng.uniform(low[i], high[i], 6)) for i in range(3))
    cuts = GridCuts.of(vertices, figure.faces, axes)
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    around = winding_numbers(points.reshape(-1, 3), vertices, figure.faces)
    assert np.abs(around - np.round(around)).max() < 1e-9
    assert np.array_equal(cuts.inside.ravel(), around > 0.5)
    assert np.array_equal(inside_points(points.reshape(-1, 3), vertices, figure.faces), around > 0.5)
    assert cuts.inside.any()


def test_gaps_between_samples_are_seen_and_walls_inside_are_not():
    line = np.array([0.31, 0.77])
    apart, overlapping = joined(box(), box(at=(1.1, 0, 0))), joined(box(), box(at=(0.9, 0, 0)))
    for mesh, gap in ((apart, True), (overlapping, False)):
        cuts = GridCuts.of(mesh.rest.astype(float), mesh.faces, (np.array([0.6, 0.85, 1.25, 1.5]), line, line))
        assert cuts.inside.all()
        assert cuts.gaps[0][1].all() == gap
        assert not cuts.gaps[0][[0, 2]].any()
        assert not cuts.gaps[1].any()


def winding_numbers(points, vertices, faces):
    """The solid angle of all triangles, over that of a sphere."""
    a, b, c = (vertices[faces[:, k]] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(side, axis=2) for side in (a, b, c))
    volume = np.einsum("nti,nti->nt", a, np.cross(b, c))
    below = la * lb * lc + (a * b).sum(axis=2) * lc + (b * c).sum(axis=2) * la + (c * a).sum(axis=2) * lb
    return np.arctan2(volume, below).sum(axis=1) / (2 * np.pi)


def test_columns_through_edges_and_vertices_are_cut_once():
    mesh = box()
    grid = np.linspace(0, 1, 5)  # its ends and diagonal lie on edges
    axes = (grid[1:-1], grid[1:-1], np.array([-0.5, 0.5, 1.5]))
    inside = GridCuts.of(mesh.rest.astype(float), mesh.faces, axes).inside
    assert inside[:, :, 1].all()
    assert not inside[:, :, [0, 2]].any()


def test_parts_that_only_come_close_are_not_joined():
    near = joined(box((2, 1, 1)), box((2, 1, 1), (0, 1.03, 0)))
    solid = lattice_around(near, 0.3)
    piece = solid_pieces(solid)
    assert piece.max() == 1
    below = near.rest[:, 1] < 1.01
    of_vertex = piece[solid.corners]
    assert (of_vertex == of_vertex[:, :1]).all()
    assert len(set(of_vertex[below].ravel())) == len(set(of_vertex[~below].ravel())) == 1
    whole = lattice_around(box((2, 1, 1)), 0.3)
    volumes = signed_volumes(solid.points, solid.tets) * solid.fill
    assert volumes.sum() == pytest.approx(2 * (signed_volumes(whole.points, whole.tets) * whole.fill).sum(), rel=0.1)


def test_a_slit_is_not_bridged():
    """A body in the shape of a U whose arms nearly touch: one piece, but the arms are apart."""
    parts = [box((2, 1, 1)), box((2, 1, 1), (0, 1.05, 0)), box((0.5, 1.05, 1), (0, 0.5, 0))]
    solid = lattice_around(joined(*parts), 0.25)
    assert solid_pieces(solid).max() == 0
    ends = solid.points[solid.tets].mean(axis=1)
    upper, lower = (ends[:, 0] > 1) & (ends[:, 1] > 1.15), (ends[:, 0] > 1) & (ends[:, 1] < 0.9)
    assert not set(solid.tets[upper].ravel()) & set(solid.tets[lower].ravel())
    far = solid.points[:, 0] > 1
    i, j = solid.tets[:, [0, 1, 2]].ravel(), solid.tets[:, [1, 2, 3]].ravel()
    graph = csr_array((np.ones(len(i)), (i, j)), shape=(len(far), len(far)))[far][:, far]
    _, label = connected_components(graph, directed=False)
    number = np.full(len(far), -1)
    number[far] = label
    arms = [set(number[solid.tets[part].ravel()].tolist()) - {-1} for part in (upper, lower)]
    assert not arms[0] & arms[1]


def test_seams_count_as_closed():
    mesh = box()
    apart = Mesh(mesh.rest[mesh.faces.ravel()], np.arange(36).reshape(12, 3), name="seams")
    assert len(lattice_around(apart, 0.3).tets) == len(lattice_around(mesh, 0.3).tets)


@pytest.mark.parametrize(
    ("mesh", "cube", "said"),
    [
        (Mesh(box().rest, box().faces[:1], name="scrap"), 0.3, ("'scrap'", "has no inside", "give it a thickness")),
        (Mesh(np.zeros((3, 3)), [[0, 1, 2]], name="dot"), 0.3, ("'dot'", "no triangle with an area")),
        (box(), 1e-3, ("too many", "use fewer --cells")),
    ],
)
def test_what_has_no_inside_is_named(refused, mesh, cube, said):
    with refused(GeometryError, *said):
        lattice_around(mesh, cube)
