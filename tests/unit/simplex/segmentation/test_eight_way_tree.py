"""Leaves gathered for many lines at the same time hold all that each of them meets."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.simplex.segmentation.blocks import collapse_tree, gather_leaves, make_search
from osteon.simplex.segmentation.tree import build_tree, crossings_between
from osteon.synth.shapes import make_ball, make_sphere, make_torus


def triangles_in(tree, leaves):
    return {int(tree.triangle[i]) for k in leaves for i in range(tree.leaf[k, 0], tree.leaf[k].sum())}


@pytest.mark.parametrize("shape", [make_sphere(2), make_torus(20, 9), make_ball(4), make_ball(5)])
def test_every_leaf_is_kept(shape):
    tree = build_tree(shape.vertices, shape.faces)
    search = make_search(len(tree.after) + 8)
    n = gather_leaves(collapse_tree(tree), np.array([[-9.0, -9, -9, 9, 9, 9]] * 2), search)
    assert sorted(search.leaves[:n]) == list(np.flatnonzero(tree.leaf[:, 1]))
    assert (tree.bounds[search.leaves[:n], :3] > search.bounds[:3, :n].T).all()
    assert (tree.bounds[search.leaves[:n], 3:] < search.bounds[3:, :n].T).all()


def test_all_that_a_line_crosses_is_gathered():
    shape = make_torus(30, 12)
    tree = build_tree(shape.vertices, shape.faces)
    eight_way, search = collapse_tree(tree), make_search(2000)
    rng = np.random.default_rng(0)
    fewer = 0
    for _ in range(40):
        starts = rng.uniform(-0.7, 0.7, 3) + 0.05 * rng.normal(size=(8, 3))
        stops = rng.uniform(-0.7, 0.7, 3) + 0.05 * rng.normal(size=(8, 3))
        if rng.random() < 0.3:
            stops[:, 1] = starts[:, 1] = 0.01  # along a plane
        beam = np.array([[*ends.min(axis=0), *ends.max(axis=0)] for ends in (starts, stops)])
        n = gather_leaves(eight_way, beam, search)
        found = triangles_in(tree, search.leaves[:n])
        fewer += len(found) < len(shape.faces)
        for start, stop in zip(starts, stops, strict=True):
            assert set(crossings_between(tree, start, stop)[1].tolist()) <= found
    assert fewer > 30


def test_too_many_are_not_told():
    shape = make_sphere(2)
    eight_way = collapse_tree(build_tree(shape.vertices, shape.faces))
    assert gather_leaves(eight_way, np.array([[-9.0, -9, -9, 9, 9, 9]] * 2), make_search(16)) == -1


def test_a_tree_of_nothing():
    tree = build_tree(np.zeros((3, 3)), np.zeros((0, 3), np.int32))
    n = gather_leaves(collapse_tree(tree), np.array([[-1.0, -1, -1, 1, 1, 1]] * 2), make_search(16))
    assert triangles_in(tree, make_search(16).leaves[:0]) == set()
    assert n <= 1
