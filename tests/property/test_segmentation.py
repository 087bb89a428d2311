"""What holds for the segmentation of any mesh by any skeleton."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.transform import Rotation

from osteon.core.sticks import StickSkeleton
from osteon.core.topology import triangle_neighbors
from osteon.simplex.segmentation.segment import Segmentation, SegmentOptions, segment_mesh
from osteon.synth.shapes import Shape

from ..unit.simplex.segmentation.fleshed import flesh

FEW = settings(max_examples=15, deadline=None)
PLAIN = SegmentOptions(method="plain", islands=False)
QUICK = SegmentOptions(method="traverse", islands=False)
BLOCKS = SegmentOptions(islands=False)


def random_tree(seed: int, n_bones: int) -> StickSkeleton:
    """Bones of about equal length that grow away from joints at random."""
    rng = np.random.default_rng(seed)
    joints, bones = [np.zeros(3)], []
    for b in range(n_bones):
        start = int(rng.integers(len(joints)))
        step = rng.normal(size=3) + 1.5 * joints[start]
        joints.append(joints[start] + (0.6 + 0.4 * rng.random()) * step / np.linalg.norm(step))
        bones.append([start, b + 1])
    return StickSkeleton(np.array(joints), np.array(bones, np.int32))


SKELETONS = st.builds(random_tree, st.integers(0, 2**16), st.integers(1, 9))


def segmented(shape: Shape, skeleton: StickSkeleton, options: SegmentOptions = QUICK) -> Segmentation:
    return segment_mesh(shape.vertices, shape.faces, skeleton, options=options)


def where_they_must_agree(shape: Shape, skeleton: StickSkeleton, plain: Segmentation) -> np.ndarray:
    """Seen triangles linked to a seed by neighbours that see the same bone or bones that share a joint."""
    ends = [set(row) for row in skeleton.bones.tolist()]
    related = np.array([[bool(a & b) for b in ends] for a in ends])
    neighbors = triangle_neighbors(shape.faces)
    t, e = np.nonzero(neighbors >= 0)
    other = neighbors[t, e]
    link = plain.seen[t] & plain.seen[other] & related[plain.bone[t], plain.bone[other]]
    graph = csr_array((np.ones(link.sum()), (t[link], other[link])), shape=(len(shape.faces),) * 2)
    piece = connected_components(graph, directed=False)[1]
    seeds = [
        pierced(shape, *plain.extended.joints[skeleton.bones[skeleton.bones_at(j)[0]]]) for j in skeleton.free_ends()
    ]
    return plain.seen & np.isin(piece, piece[np.concatenate(seeds)])


def pierced(shape: Shape, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Triangles that the straight line well crosses."""
    a, b, c = (shape.vertices[shape.faces[:, i]] for i in range(3))
    matrix = np.stack([b - a, c - a, np.broadcast_to(start - stop, a.shape)], axis=2)
    with np.errstate(all="ignore"):
        u, v, s = np.linalg.solve(matrix, (start - a)[..., None])[..., 0].T
    return np.flatnonzero((u > 1e-6) & (v > 1e-6) & (u + v < 1 - 1e-6) & (s > 1e-6) & (s < 1 - 1e-6))


@FEW
@given(skeleton=SKELETONS)
def test_the_traversal_agrees_with_the_plain_test_where_it_must(skeleton):
    shape = flesh(skeleton, 0.14, 22)
    quick, plain = segmented(shape, skeleton), segmented(shape, skeleton, PLAIN)
    must = where_they_must_agree(shape, skeleton, plain)
    assert must.any()
    assert quick.seen[must].all()
    assert np.array_equal(quick.bone[must], plain.bone[must])
    np.testing.assert_allclose(quick.distance[must], plain.distance[must], rtol=1e-12)


@FEW
@given(skeleton=SKELETONS)
def test_blocks_give_the_plain_answer(skeleton):
    shape = flesh(skeleton, 0.14, 22)
    blocks, plain = segmented(shape, skeleton, BLOCKS), segmented(shape, skeleton, PLAIN)
    assert np.array_equal(blocks.bone, plain.bone)
    assert np.array_equal(blocks.seen, plain.seen)
    assert np.array_equal(blocks.distance, plain.distance)


@FEW
@given(skeleton=SKELETONS, turn=st.tuples(*[st.floats(-3, 3)] * 3), scale=st.sampled_from([1e-3, 1.0, 50.0]))
def test_place_turn_and_unit_do_not_matter(skeleton, turn, scale):
    shape = flesh(skeleton, 0.14, 20)
    here = segmented(shape, skeleton, SegmentOptions())

    def moved(points):
        return scale * points @ Rotation.from_rotvec(turn).as_matrix().T + scale * np.array([3.0, -2, 1])

    there = segmented(
        Shape(moved(shape.vertices), shape.faces),
        StickSkeleton(moved(skeleton.joints), skeleton.bones),
        SegmentOptions(),
    )
    assert (here.bone != there.bone).mean() < 0.01  # but for ties
    same = (here.bone == there.bone) & (here.seen == there.seen)
    np.testing.assert_allclose(there.distance[same & here.seen], scale * here.distance[same & here.seen], rtol=1e-6)


@FEW
@given(skeleton=SKELETONS, seed=st.integers(0, 1000))
def test_any_skeleton_in_any_soup(skeleton, seed):
    """Random triangles: every one gets a bone, and all numbers are finite."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    vertices = rng.normal(size=(n + 2, 3)) * rng.choice([0.0, 1.0], size=3, p=[0.1, 0.9])
    soup = Shape(vertices, rng.integers(0, n + 2, size=(n, 3)).astype(np.int32))
    for options in (SegmentOptions(), PLAIN):
        found = segmented(soup, skeleton, options)
        assert ((found.bone >= 0) & (found.bone < skeleton.n_bones)).all()
        assert np.isfinite(found.distance).all()
        assert ((found.along >= 0) & (found.along <= 1)).all()
        assert np.isfinite(found.extended.joints).all()


@FEW
@given(skeleton=SKELETONS)
def test_segments_are_connected(skeleton):
    shape = flesh(skeleton, 0.14, 20)
    found = segmented(shape, skeleton, SegmentOptions())
    neighbors = triangle_neighbors(shape.faces)
    t, e = np.nonzero((neighbors >= 0) & (found.bone[neighbors] == found.bone[:, None]))
    graph = csr_array((np.ones(len(t)), (t, neighbors[t, e])), shape=(len(shape.faces),) * 2)
    pieces = connected_components(graph, directed=False)[0]
    assert pieces == len(np.unique(found.bone))
    assert all("controls no triangle" in sentence for sentence in found.exceptions)
