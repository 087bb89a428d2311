"""Collapses that would turn a triangle over, in one of the poses or in all."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.lod.mesh.edge_checks import flips_triangle
from tests.small_meshes import OCTAHEDRON, bending, fan, start, still


def turned(started, i, j, places):
    """Whether a triangle flips if both ends move to places (f,3); how far the ends would be cut off, squared (f,2)."""
    posed = started.workspace.posed
    posed["place"] = places
    found = bool(flips_triangle(started.surface, started.workspace, i, j))
    return found, np.stack([posed["first_cut"], posed["second_cut"]], axis=1)


def posed(started, v):
    return started.surface.posed["place"][v]


def test_the_middle_may_go_to_a_corner_but_not_beyond():
    started = start(still(fan()))
    corner = posed(started, 0)
    assert not turned(started, 0, 4, corner)[0]
    across = 1.5 * posed(started, 2) - 0.5 * corner
    assert turned(started, 0, 4, across)[0]


def test_one_pose_is_enough_to_refuse():
    """Four poses and the rest pose; the place is good in all but one of them, whichever that is."""
    started = start(bending(fan(), degrees=(10.0, 20.0, 30.0, 40.0)))
    good = posed(started, 0).copy()
    assert not turned(started, 0, 4, good)[0]
    for f in range(len(good)):
        bad = good.copy()
        bad[f] = 1.5 * posed(started, 2)[f] - 0.5 * good[f]
        assert turned(started, 0, 4, bad)[0], f


def test_losing_all_area_is_turning_over():
    started = start(still(fan()))
    beside = posed(started, 1)  # triangle 2 3 4 is left with area, 1 2 4 has none
    assert turned(started, 0, 4, beside)[0]


def test_a_tip_that_is_cut_off_is_seen():
    """The tip of a roof goes to a corner: it is one height above what is left; the corner itself stays."""
    started = start(still(fan(1.0)))
    found, off = turned(started, 0, 4, posed(started, 0))
    assert not found
    assert off[:, 0] == pytest.approx(0, abs=1e-12)
    assert np.sqrt(off[:, 1]) == pytest.approx(1 / 3)  # the diagonal is 3


def test_small_turns_do_not_add_up():
    """A triangle that faces away from where the source did at all its corners is refused, however small the step."""
    started = start(still(OCTAHEDRON))
    started.surface.posed["normal"] *= -1  # as if the source had faced the other way: now all triangles face away
    place = (posed(started, 0) + posed(started, 2)) / 2
    assert not turned(started, 0, 2, place)[0]  # they did before
    started.surface.posed["normal"] *= -1
    assert not turned(started, 0, 2, place)[0]
    assert turned(started, 0, 2, -3 * place)[0]
