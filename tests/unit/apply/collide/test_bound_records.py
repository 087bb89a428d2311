"""Groups of nodes that are bounded together hold every node once; bones of small weights have no linear fit."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.apply.collide.bound_records import GROUP_HEAD, bound_records
from osteon.apply.collide.collision_tree import CollisionTree, build_collision_tree
from osteon.apply.collide.deformation_bounds import first_triangles
from osteon.apply.collide.tree_table import BOUND, CHILD, COUNT, INSIDE, REGION
from osteon.core.arrays import Int32
from osteon.core.character import Arrays, Skin
from osteon.core.lanes import LANES
from osteon.deform.linear_blend import linear_blend_model

from ....subjects import bent_tube


@pytest.fixture(scope="module")
def parts() -> tuple[CollisionTree, Arrays]:
    """The tree of a tube with weights of all sizes, and its records."""
    model = bent_tube(4).model
    rng = np.random.default_rng(0)
    weights = model.skin.dense(4) + 0.01 * rng.uniform(size=(model.n_vertices, 4)) * (rng.uniform(size=4) < 0.9)
    weights /= weights.sum(axis=1, keepdims=True)
    skin = Skin(np.tile(np.arange(4, dtype=np.int32), (model.n_vertices, 1)), weights.astype(np.float32))
    noisy = linear_blend_model(model.rest, model.faces, skin, model.track, model.clips, name="tube")
    tree = build_collision_tree(noisy)
    return tree, bound_records(tree)


def listed(arrays: Arrays, group: int) -> tuple[Int32, Int32, Int32, Int32]:
    """Members, inner nodes with their first children, major and minor bones of a group."""
    groups = arrays["groups"]
    at = int(groups[group])
    n, m, major, minor = groups[at : at + 4].tolist()
    lists = np.split(groups[at + GROUP_HEAD :], np.cumsum([n, 2 * m, major, minor]))
    return lists[0], lists[1].reshape(-1, 2), lists[2], lists[3]


def test_groups_hold_every_node_once(parts: tuple[CollisionTree, Arrays]) -> None:
    tree, arrays = parts
    nodes = arrays["nodes"]
    heads = np.flatnonzero(nodes[:, BOUND] != INSIDE)
    assert sorted(nodes[heads, BOUND]) == list(range(len(heads)))
    assert len(heads) > 4
    covered: list[int] = []
    for head in heads:
        members, inner, _, _ = listed(arrays, nodes[head, BOUND])
        assert 2 <= len(members) <= LANES
        assert len(inner) == len(members) - 1
        assert inner[-1, 0] == head
        assert (nodes[inner[:, 0], CHILD] == inner[:, 1]).all()
        known = set(members.tolist())
        for node, child in inner.tolist():  # children before parents
            assert {child, child + 1} <= known
            known.add(node)
        covered += [*members.tolist(), *(inner[:-1, 0].tolist())]
        assert all(nodes[node, COUNT] or nodes[node, BOUND] != INSIDE for node in members)
    regions = np.flatnonzero(tree.nodes[:, REGION])
    roots = {int(regions[tree.nodes[regions, REGION] == g][0]) for g in np.unique(tree.nodes[regions, REGION])}
    assert sorted(covered) == sorted(set(regions.tolist()) - roots)


def test_bones_of_small_weights_have_no_fit(parts: tuple[CollisionTree, Arrays]) -> None:
    tree, arrays = parts
    nodes, starts = arrays["nodes"], arrays["palette_starts"]
    first, count = first_triangles(nodes), tree.node_triangles
    fitted = plain = 0
    for head in np.flatnonzero(nodes[:, BOUND] != INSIDE):
        _, _, major, minor = listed(arrays, nodes[head, BOUND])
        inside = np.unique(tree.arrays["triangles"][first[head] : first[head] + count[head]])
        weights, bones = tree.arrays["weights"][inside], tree.arrays["bones"][inside]
        largest = {b: np.abs(weights[bones == b]).max() for b in np.unique(bones[weights != 0]).tolist()}
        palette = arrays["palette_bones"][starts[nodes[head, REGION] - 1] :]
        largest.pop(int(palette[0]), None)
        assert {int(palette[b]) for b in major} == {b for b, w in largest.items() if w > 0.03}
        assert {int(palette[b]) for b in minor} == {b for b, w in largest.items() if w <= 0.03}
        fitted, plain = fitted + len(major), plain + len(minor)
    assert fitted
    assert plain
