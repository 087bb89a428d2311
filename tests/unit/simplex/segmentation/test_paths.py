"""Shortest paths to what bones see, against a plain search for every bone, and parts that no bone sees."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from osteon.core.topology import triangle_areas, triangle_neighbors
from osteon.simplex.segmentation.paths import assign_components, edge_lengths, follow_paths
from osteon.simplex.segmentation.unit_mesh import connect_triangles
from osteon.synth.shapes import join_shapes, make_ball, make_grid, make_sphere


def plain(bone, wanted, triangles, neighbors, lengths):
    """One search for every bone."""
    n = len(bone)
    t, e = np.nonzero(neighbors >= 0)
    graph = csr_array((lengths[t, e], (t, neighbors[t, e])), shape=(n, n))
    table = np.full((wanted.shape[1], n), np.inf)
    for b in range(wanted.shape[1]):
        if (bone == b).any():
            table[b] = dijkstra(graph, indices=np.flatnonzero(bone == b), min_only=True)
    table = np.where(wanted.T, table[:, triangles], np.inf)
    return np.where(np.isfinite(table).any(axis=0), table.argmin(axis=0), -1)


def test_agrees_with_a_search_for_every_bone():
    shape = make_ball(400)
    neighbors = triangle_neighbors(shape.faces)
    lengths = edge_lengths(shape.vertices[shape.faces], neighbors)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        middle = shape.vertices[shape.faces].mean(axis=1)
        bone = np.argmax(middle @ rng.normal(size=(3, 9)), axis=1).astype(np.int32)
        bone[middle @ rng.normal(size=3) > 0.1] = -1
        unseen = np.flatnonzero(bone < 0).astype(np.int32)
        wanted = rng.random((len(unseen), 9)) < 0.3
        out = follow_paths(bone, wanted, unseen, neighbors, lengths)
        assert np.array_equal(out[unseen], plain(bone, wanted, unseen, neighbors, lengths))
        assert np.array_equal(out[bone >= 0], bone[bone >= 0])


def test_a_path_goes_round_a_cut_not_across_it():
    """A U: its ends are near in space, but the way between them leads round."""
    grid = make_grid(9, 9, width=9, height=9)
    middle = grid.vertices[grid.faces].mean(axis=1)
    cut = (np.abs(middle[:, 0] - 4.5) < 0.5) & (middle[:, 1] > 2)
    faces = grid.faces[~cut]
    middle = middle[~cut]
    neighbors = triangle_neighbors(faces)
    bone = np.full(len(faces), -1, np.int32)
    bone[middle[:, 1] < 1] = 0
    bone[(middle[:, 0] > 5) & (middle[:, 1] > 8)] = 1
    unseen = np.flatnonzero(bone < 0).astype(np.int32)
    wanted = np.ones((len(unseen), 2), bool)
    lengths = edge_lengths(grid.vertices[faces], neighbors)
    out = follow_paths(bone, wanted, unseen, neighbors, lengths)
    assert (out[middle[:, 0] < 4] == 0).all()
    assert (out[(middle[:, 0] > 5) & (middle[:, 1] > 6)] == 1).all()


def test_no_path_leaves_minus_one():
    two = join_shapes([make_sphere(0), make_sphere(0).moved((3, 0, 0))])
    neighbors = triangle_neighbors(two.faces)
    bone = np.r_[np.zeros(20), -np.ones(20)].astype(np.int32)
    out = follow_paths(bone, np.ones((20, 1), bool), np.arange(20, 40, dtype=np.int32), neighbors, np.ones((40, 3)))
    assert (out[20:] == -1).all()


def test_a_part_that_is_not_seen_follows_one_bone():
    parts = join_shapes([make_sphere(1, 0.2).moved((x, 1, 0)) for x in (0.4, 2.2)])
    component = connect_triangles(triangle_neighbors(parts.faces))
    centers = parts.vertices[parts.faces].mean(axis=1)
    starts, vectors = np.array([[0.0, 0, 0], [1.0, 0, 0]]), np.array([[1.0, 0, 0], [1.0, 0, 0]])
    bone = np.full(len(centers), -1, np.int32)
    areas = triangle_areas(parts.vertices, parts.faces)
    out = assign_components(bone, component, areas, (starts, vectors, centers))
    assert np.array_equal(out, (centers[:, 0] > 1).astype(np.int32))
    assert np.array_equal(assign_components(bone, component, 0 * areas, (starts, vectors, centers)), out)
