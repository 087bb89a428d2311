"""Diagonals that lie better the other way, of two triangles and of four."""

from __future__ import annotations

import numpy as np

from osteon.lod.mesh.edge_flips import Samples, better_diagonals

#: A square whose corners 1 and 3 are lifted: folded along 0 2 it is a valley, along 1 3 a ridge.
RIDGE = np.array([[0.0, 0, 0], [1, 0, 0.4], [1, 1, 0], [0, 1, 0.4]])
VALLEY = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
UP = np.tile([0.0, 0, 1], (1, 4, 1))


def samples(points, triangles, distances):
    n = len(points)
    return Samples(np.zeros(n, int), np.array(points, float), np.array(triangles), np.array(distances, float))


def off(points):
    """How far places are from the ridge at z = 0.4, in sum over poses."""
    return np.abs(points[..., 2] - 0.4).sum(axis=0)


#: On the ridge, seen from the valley below: the middle is 0.4 off, and both triangles share it.
ABOVE = samples([[0.5, 0.5, 0.4]] * 2, [0, 1], [0.3, 0.3])


def turned(faces=VALLEY, labels=None, posed=RIDGE, facing=UP, seen=ABOVE, off_source=off):
    labels = np.zeros((*faces.shape, 1), np.int32) if labels is None else labels
    where = better_diagonals(faces, labels, (posed[None], facing), seen, off_source)
    return faces.reshape(-1)[where].tolist()


def test_an_edge_turns_to_where_the_source_is():
    assert turned() == [[2, 3, 1], [3, 0, 1]]


def test_no_better_no_turn():
    assert turned(seen=samples([[0.5, 0.5, 0.0]], [0], [0.0])) == VALLEY.tolist()


def test_its_middle_may_not_leave_the_source():
    assert turned(off_source=lambda points: np.abs(points[..., 2]).sum(axis=0)) == VALLEY.tolist()


def test_seams_and_borders_stay():
    labels = np.zeros((2, 3, 1), np.int32)
    labels[1] = 1
    assert turned(labels=labels) == VALLEY.tolist()
    alone = VALLEY[:1]
    assert turned(alone, seen=samples([[0.5, 0.5, 0.4]], [0], [0.3])) == alone.tolist()


def test_triangles_that_would_face_away_do_not_turn():
    """A square with a corner drawn in: the other diagonal lies outside of it."""
    dart = np.array([[0.0, 0, 0], [1, 0, 0], [0.2, 0.2, 0], [0, 1, 0]])
    assert turned(posed=dart, seen=samples([[0.5, 0.4, 0.0]], [0], [0.3]), off_source=lambda p: 0 * p[0, :, 0]) == (
        VALLEY.tolist()
    )


def test_an_edge_that_is_there_is_not_made_again():
    """A tetrahedron: all pairs of its points have an edge already."""
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], np.int32)
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    out = corners - corners.mean(axis=0)
    seen = samples([[1.0, 1, 1]] * 4, [0, 1, 2, 3], [9.0] * 4)
    assert turned(faces, posed=corners, facing=out[None], seen=seen, off_source=lambda p: 0 * p[0, :, 0]) == (
        faces.tolist()
    )
