"""Which edges of small meshes may collapse: those after which shells, borders, seams and parts are as before."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.lod.mesh.edge_checks import FREE, KEEP_FIRST, KEEP_SECOND, REFUSED, keeps_topology, match_wedges
from tests.small_meshes import OCTAHEDRON, SQUARE, TETRAHEDRON, TRIANGLE, fan, grid, start, still


def may_go(started, i, j):
    return bool(keeps_topology(started.surface, started.workspace, i, j))


def what_becomes(started, i, j):
    return match_wedges(started.surface, started.workspace, i, j)[1]


@pytest.mark.parametrize(
    ("shape", "edge", "allowed"),
    [
        (TRIANGLE, (0, 1), False),  # the last triangle stays
        (TETRAHEDRON, (0, 1), False),  # and the last closed surface
        (TETRAHEDRON, (2, 3), False),
        (OCTAHEDRON, (0, 2), True),
        (SQUARE, (0, 1), True),  # along the border
        (SQUARE, (0, 2), False),  # across, from border to border
        (fan(), (0, 1), True),
        (fan(), (0, 4), True),  # the middle into a corner
        (grid(2), (1, 4), True),
        (grid(2), (0, 4), True),
    ],
)
def test_link_condition(shape, edge, allowed):
    started = start(still(shape))
    assert may_go(started, *edge) is allowed
    assert may_go(started, *edge[::-1]) is allowed


def test_a_tube_is_not_pinched():
    """Three quads around: the three points of a ring bound no triangle, so none of its edges may go."""
    rest = [[np.cos(a), np.sin(a), z] for z in (0.0, 1, 2) for a in 2 * np.pi * np.arange(3) / 3]
    faces = []
    for ring in (0, 3):
        for k in range(3):
            a, b = ring + k, ring + (k + 1) % 3
            faces += [[a, b, b + 3], [a, b + 3, a + 3]]
    started = start(still((rest, faces)))
    assert not may_go(started, 3, 4)
    assert not may_go(started, 0, 1)


def test_edges_of_three_triangles_stay_what_they_are():
    """A square with a wall on its diagonal: its ends may not become one."""
    rest, faces = SQUARE
    started = start(still(([*rest, [0.5, 0.5, 1.0]], [*faces, [0, 2, 4]])))
    assert not may_go(started, 0, 2)


def test_no_part_loses_its_last_triangle():
    """The right half of the fan has triangles of another primitive: one of them may not be the last to go."""
    parts = np.array([0, 1, 0, 0], np.int32)
    started = start(still(fan(), primitive_of_triangle=parts, primitive_names=("left", "right")))
    assert not may_go(started, 1, 2)  # triangle 1 is all of its part
    assert may_go(started, 2, 3)


@pytest.mark.parametrize(("edge", "becomes"), [((0, 1), REFUSED), ((0, 4), KEEP_FIRST), ((4, 0), KEEP_SECOND)])
def test_locked_borders(edge, becomes):
    started = start(still(fan()), lock_borders=True)
    assert what_becomes(started, *edge) == becomes


def test_free_edges_have_wedges_in_pairs():
    started = start(still(OCTAHEDRON))
    assert what_becomes(started, 0, 2) == FREE
    n, _ = match_wedges(started.surface, started.workspace, 0, 2)
    wedges = started.surface.corners["wedge"]
    assert started.workspace.wedges[:n].tolist() == [(wedges[0], wedges[1])]


def seam_grid():
    """Two by two cells; the right half is another chart of the texture."""
    rest, faces = grid(2)
    uvs = np.array([[rest[v][:2] for v in face] for face in faces], np.float32)
    right = np.array([max(rest[v][0] for v in face) > 1 for face in faces])
    uvs[right] += 5
    return start(still((rest, faces), uvs=uvs))


def test_seams_collapse_along_themselves_only():
    """Points 1, 4, 7 lie on the seam."""
    started = seam_grid()
    assert may_go(started, 1, 4)
    assert what_becomes(started, 1, 4) == FREE
    assert what_becomes(started, 4, 5) == KEEP_FIRST  # beside it: the seam stays where it is
    assert what_becomes(started, 3, 4) == KEEP_SECOND


def test_chart_corners_stay():
    """Where three charts meet at a point, it may not move to where only two are."""
    rest, faces = grid(2)
    uvs = np.array([[rest[v][:2] for v in face] for face in faces], np.float32)
    chart = np.array([2 * (max(rest[v][1] for v in face) > 1) + (max(rest[v][0] for v in face) > 1) for face in faces])
    uvs += 5 * np.minimum(chart, 2)[:, None, None].astype(np.float32)
    started = start(still((rest, faces), uvs=uvs))
    assert what_becomes(started, 4, 7) == KEEP_FIRST
    assert what_becomes(started, 1, 4) in (KEEP_SECOND, REFUSED)
