"""Open surfaces: loops of the border, the fans that close them, and flesh inside."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.core.mesh import Mesh
from osteon.elastic.attachment import bone_room
from osteon.elastic.holes import border_loops, close_holes
from osteon.elastic.inside import inside_points
from osteon.elastic.lattice import filled_surface, lattice_around
from osteon_bench.subjects import bar_skeleton, make_bar
from tests.unit.elastic.conftest import box, joined


def without(mesh: Mesh, *triangles: int) -> Mesh:
    return Mesh(mesh.rest, np.delete(mesh.faces, triangles, axis=0), name="open")


def net_edges(faces) -> int:
    """Directed edges that are not run along the other way as often."""
    edges = np.concatenate([faces[:, [k, (k + 1) % 3]] for k in range(3)])
    count: dict[tuple[int, int], int] = {}
    for a, b in edges.tolist():
        count[min(a, b), max(a, b)] = count.get((min(a, b), max(a, b)), 0) + (1 if a < b else -1)
    return sum(map(abs, count.values()))


def test_a_closed_surface_stays_as_it_is():
    closed = close_holes(box())
    assert closed.holes == ()
    assert len(closed.faces) == closed.n_own == 12


@pytest.mark.parametrize("gone", [(0,), (0, 1), (0, 5, 7), tuple(range(0, 12, 2)), tuple(range(11))])
def test_all_holes_are_closed(gone):
    closed = close_holes(without(box(), *gone))
    assert closed.holes
    assert net_edges(closed.faces) == 0
    assert closed.open_edges == len(closed.faces) - closed.n_own


def test_two_holes_that_meet_in_a_vertex_are_two_loops():
    """Triangles 0 1 2 and 0 3 4 on their own: two borders through vertex 0."""
    loops = border_loops(np.array([[0, 1, 2], [0, 3, 4]]))
    assert sorted(sorted(loop.tolist()) for loop in loops) == [[0, 1, 2], [0, 3, 4]]
    twice = border_loops(np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4]]))  # three triangles at one edge
    fans = np.concatenate([np.stack([np.roll(loop, -1), loop, np.full(len(loop), 9)], axis=1) for loop in twice])
    assert net_edges(np.concatenate([[[0, 1, 2], [1, 0, 3], [0, 1, 4]], fans])) == 0


def test_the_inside_of_an_open_box_is_that_of_the_closed_one(rng):
    mesh = box()
    side = np.flatnonzero(mesh.rest[mesh.faces][:, :, 0].min(axis=1) > mesh.rest[:, 0].max() - 1e-6)
    opened = close_holes(without(mesh, *side.tolist()))
    assert opened.holes == (4,)
    points = rng.uniform(-0.3, 1.3, size=(200, 3))
    whole = inside_points(points, mesh.rest.astype(float), mesh.faces)
    assert 20 < whole.sum() < 180
    assert (inside_points(points, opened.vertices, opened.faces) == whole).all()


def test_seams_are_no_holes():
    mesh = box()
    apart = Mesh(mesh.rest[mesh.faces.ravel()], np.arange(36, dtype=np.int32).reshape(-1, 3), name="seams")
    assert close_holes(apart).holes == ()


def test_a_lattice_in_an_open_bar_is_that_of_the_closed_one():
    points, _, faces = make_bar((8, 2, 2))
    mesh = Mesh(points.astype(np.float32), faces, name="bar")
    corners = points[faces].mean(axis=1)
    hole = np.flatnonzero(corners[:, 0] > points[:, 0].max() - 1e-6)
    opened = without(mesh, *hole.tolist())
    whole, found = lattice_around(mesh, 0.35), lattice_around(opened, 0.35)
    assert len(found.tets) == len(whole.tets)
    np.testing.assert_allclose(found.fill, whole.fill)
    assert found.surface is opened
    closed = filled_surface(opened)
    room = bone_room(opened.rest.astype(float), opened.faces, bar_skeleton(), closed)
    assert room.inside.any(axis=1).all()


def test_sheets_have_no_inside(refused):
    sheet = Mesh(
        np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32),
        np.array([[0, 1, 2], [0, 2, 3]]),
        name="sheet",
    )
    with refused(GeometryError, "sheet", "no inside", "thickness"):
        lattice_around(sheet, 0.2)
    solid = lattice_around(joined(box(), Mesh(sheet.rest + np.array([0.1, 0.1, 1.02]), sheet.faces)), 0.3)
    assert len(solid.surface.rest) == 12  # the sheet follows the box
