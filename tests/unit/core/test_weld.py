from __future__ import annotations

import numpy as np

from osteon.core.sequence import MeshSequence
from osteon.core.topology import weld_vertices

FACES = np.array([[0, 1, 2]], np.int32)


def weld(rest: object, *frames: object) -> tuple[list[int], list[int]]:
    sequence = MeshSequence(np.array(frames, np.float32), FACES, np.array(rest, np.float32))
    vertices, which = weld_vertices(sequence)
    assert vertices.dtype == which.dtype == np.int32
    return vertices.tolist(), which.tolist()


A, B, C = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


def test_nothing_to_weld():
    assert weld([A, B, C], [B, C, A]) == ([0, 1, 2], [0, 1, 2])


def test_seam_becomes_one_vertex_and_the_first_stands_for_it():
    assert weld([A, B, C, B, A], [C, A, B, A, C]) == ([0, 1, 2], [0, 1, 2, 1, 0])


def test_minus_zero_is_zero():
    minus = [-0.0, -0.0, 0.0]
    assert weld([A, B, C, minus], [minus, B, C, A]) == ([0, 1, 2], [0, 1, 2, 0])


def test_vertices_that_part_later_stay_two():
    assert weld([A, B, C, A], [A, B, C, A], [A, B, C, B]) == ([0, 1, 2, 3], [0, 1, 2, 3])


def test_vertices_that_meet_later_stay_two():
    assert weld([A, B, C, [0.0, 0.0, 1.0]], [A, B, C, A], [A, B, C, A]) == ([0, 1, 2, 3], [0, 1, 2, 3])


def test_two_pairs_in_one_place_that_go_different_ways():
    assert weld([A, A, A, A], [A, B, A, B]) == ([0, 1], [0, 1, 0, 1])


def test_different_places_that_move_to_one_are_told_apart():
    """Shared vertices are compared by place at rest as well as by track."""
    assert weld([A, A, B, B], [C, C, C, C]) == ([0, 2], [0, 0, 1, 1])


def test_copies_of_a_mesh():
    rng = np.random.default_rng(0)
    rest, frames = rng.normal(size=(50, 3)), rng.normal(size=(4, 50, 3))
    shuffled = rng.permutation(150) % 50
    sequence = MeshSequence(frames[:, shuffled], FACES, rest[shuffled])
    vertices, which = weld_vertices(sequence)
    assert len(vertices) == 50
    assert np.array_equal(sequence.rest[vertices][which], sequence.rest)
    assert np.array_equal(sequence.frames[:, vertices][:, which], sequence.frames)
