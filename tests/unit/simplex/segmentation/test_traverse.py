"""The traversal against the plain test."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.simplex.segmentation.segment import SegmentOptions, segment_mesh
from osteon.simplex.segmentation.traverse import bone_neighbors
from osteon.synth.shapes import join_shapes, make_sphere, make_tube

from .fleshed import HAND, flesh, stick_skeleton

PLAIN = SegmentOptions(method="plain", islands=False)
QUICK = SegmentOptions(islands=False)


def both(shape, skeleton):
    args = shape.vertices, shape.faces, skeleton
    return segment_mesh(*args, options=QUICK), segment_mesh(*args, options=PLAIN)


def assert_same(shape, skeleton):
    quick, plain = both(shape, skeleton)
    assert np.array_equal(quick.seen, plain.seen)
    assert np.array_equal(quick.bone, plain.bone)
    np.testing.assert_allclose(quick.distance, plain.distance, rtol=1e-12)
    np.testing.assert_allclose(quick.along, plain.along, atol=1e-12)


def test_neighbours_share_a_joint():
    others, first = bone_neighbors(HAND)
    assert list(others[first[0] : first[1]]) == [0, 1, 3, 5]
    assert list(others[first[2] : first[3]]) == [1, 2]


def test_a_hand():
    assert_same(flesh(HAND), HAND)


@pytest.mark.parametrize("n_bones", [1, 2, 7, 70])
def test_a_chain(n_bones):
    """70 bones fill more than one word of a set."""
    joints = np.stack([np.linspace(-0.05, 2.05, n_bones + 1), np.zeros(n_bones + 1), np.zeros(n_bones + 1)], axis=1)
    chain = stick_skeleton(joints, [[i, i + 1] for i in range(n_bones)])
    assert_same(make_tube(10, 140), chain)


def test_a_part_without_a_seed_is_tested_in_full():
    """A ring of bones has no free end, and a ball that no bone of a free end touches has no seed."""
    ring = stick_skeleton(
        [[np.cos(a), np.sin(a), 0] for a in np.arange(5) * 2 * np.pi / 5], [[i, (i + 1) % 5] for i in range(5)]
    )
    assert_same(flesh(ring, 0.25), ring)
    assert_same(join_shapes([flesh(HAND), make_sphere(1, 0.1).moved((0.5, 0.2, 0))]), HAND)


def test_the_numbering_of_triangles_does_not_matter():
    shape = flesh(HAND)
    rng = np.random.default_rng(3)
    order = rng.permutation(len(shape.faces))
    first = segment_mesh(shape.vertices, shape.faces, HAND)
    second = segment_mesh(shape.vertices, shape.faces[order], HAND)
    assert np.array_equal(first.bone[order], second.bone)
