"""Boundaries of segments move to creases: known cuts on blocks, the hierarchy, and what must never happen."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.core.sticks import StickSkeleton
from osteon.simplex.boundaries.bands import DualGraph, count_pieces, minimum_cut
from osteon.simplex.boundaries.cut import BoundaryOptions, cut_boundaries, plan_cuts
from osteon.synth.shapes import make_grid, make_sphere, make_tube

SHARP, ALL = BoundaryOptions("sharp"), BoundaryOptions("all")


def blocks(*boxes: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """The surface of a union of boxes of unit cubes, two triangles a face, counter-clockwise from outside."""
    filled = np.zeros([max(box[i][1] for box in boxes) + 2 for i in range(3)], bool)
    for x, y, z in boxes:
        filled[x[0] + 1 : x[1] + 1, y[0] + 1 : y[1] + 1, z[0] + 1 : z[1] + 1] = True
    squares = []
    for axis, step in itertools.product(range(3), (-1, 1)):
        cells = np.argwhere(filled & ~np.roll(filled, -step, axis)) - 1
        u, v = np.eye(3, dtype=int)[[(axis + 1) % 3, (axis + 2) % 3]]
        corner = cells + (step > 0) * np.eye(3, dtype=int)[axis]
        ring = [corner, corner + u, corner + u + v, corner + v]
        squares.append(np.stack(ring if step > 0 else ring[::-1], axis=1))
    points, number = np.unique(np.concatenate(squares).reshape(-1, 3), axis=0, return_inverse=True)
    quads = number.reshape(-1, 4)
    return points.astype(float), np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]).astype(np.int32)


def sticks(*bones: tuple[int, int]) -> StickSkeleton:
    """Bones between joints of which only the numbers count."""
    n = max(max(bone) for bone in bones) + 1
    return StickSkeleton(np.arange(3.0 * n).reshape(n, 3) ** 1.1, np.array(bones, np.int32))


def chain(n: int) -> StickSkeleton:
    return sticks(*((b, b + 1) for b in range(n)))


def centers(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    return vertices[faces].mean(axis=1)


def border_length(vertices: np.ndarray, faces: np.ndarray, labels: np.ndarray) -> float:
    graph = DualGraph.of(vertices, faces)
    return float(graph.lengths[labels[graph.pairs[:, 0]] != labels[graph.pairs[:, 1]]].sum())


def pieces(vertices: np.ndarray, faces: np.ndarray, labels: np.ndarray) -> list[int]:
    return count_pieces(DualGraph.of(vertices, faces).pairs, labels, int(labels.max()) + 1).tolist()


PEG = blocks(((0, 8), (0, 8), (0, 8)), ((8, 18), (2, 6), (2, 6)))  # a thin box grows out of a thick one at x = 8


@pytest.mark.parametrize("mode", [SHARP, ALL], ids=["sharp", "all"])
@pytest.mark.parametrize("joint", [6.5, 7.5, 8.5, 9.5, 10.5])
def test_the_cut_finds_the_crease(mode, joint):
    x = centers(*PEG)[:, 0]
    placed = cut_boundaries(*PEG, (x > joint).astype(np.int32), chain(2), options=mode)
    assert np.array_equal(placed, x > 8)


def test_slanted_and_ragged_boundaries_find_it_too():
    middle = centers(*PEG)
    rough = middle[:, 0] + 0.4 * (middle[:, 1] - 4) + 0.8 * np.sin(5 * middle[:, 2])
    placed = cut_boundaries(*PEG, (rough > 9.5).astype(np.int32), chain(2), options=SHARP)
    assert np.array_equal(placed, middle[:, 0] > 8)


def test_none_changes_nothing():
    labels = (centers(*PEG)[:, 0] > 9.5).astype(np.int32)
    placed = cut_boundaries(*PEG, labels, chain(2), options=BoundaryOptions("none"))
    assert np.array_equal(placed, labels)
    assert placed is not labels


def test_a_crease_out_of_reach_is_left_alone():
    labels = (centers(*PEG)[:, 0] > 14.5).astype(np.int32)
    assert np.array_equal(cut_boundaries(*PEG, labels, chain(2), options=SHARP), labels)


@pytest.mark.parametrize("change", ["order", "winding", "inside out", "seam", "size", "turn"])
def test_how_the_mesh_is_stored_does_not_matter(change):
    vertices, faces = PEG
    x = centers(vertices, faces)[:, 0]
    rng = np.random.default_rng(1)
    order = rng.permutation(len(faces)) if change == "order" else np.arange(len(faces))
    if change == "winding":
        faces = np.where(rng.random((len(faces), 1)) < 0.2, faces[:, ::-1], faces)
    elif change == "inside out":
        faces = faces[:, ::-1]
    elif change == "seam":  # every triangle has vertices of its own
        vertices, faces = vertices[faces].reshape(-1, 3), np.arange(faces.size, dtype=np.int32).reshape(-1, 3)
    elif change == "size":
        vertices = 1e-9 * vertices
    elif change == "turn":
        vertices = vertices @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    placed = cut_boundaries(vertices, faces[order], (x > 9.5)[order].astype(np.int32), chain(2), options=SHARP)
    assert np.array_equal(placed, (x > 8)[order])


def test_three_parts_at_one_crease():
    """A foot whose toes are one slab at their root: only both toes together end at the ankle's crease."""
    foot = blocks(
        ((0, 8), (0, 8), (0, 8)), ((8, 12), (1, 7), (2, 6)), ((12, 20), (1, 3), (2, 6)), ((12, 20), (5, 7), (2, 6))
    )
    x, y, _ = centers(*foot).T
    ankle = sticks((0, 1), (1, 2), (1, 3))
    labels = np.where(x < 9.7, 0, np.where(y < 4, 1, 2)).astype(np.int32)
    for mode in (SHARP, ALL):
        placed = cut_boundaries(*foot, labels, ankle, options=mode)
        assert np.array_equal(placed == 0, x < 8.1)
        assert pieces(*foot, placed) == [1, 1, 1]
        assert (placed[(x > 12.1) & (y < 4)] == 1).all()
        assert (placed[(x > 12.1) & (y > 4)] == 2).all()


def test_two_limbs_have_a_curve_each():
    """One leg leaves the body at a crease, the other has a boundary in its smooth middle."""
    body = blocks(((0, 6), (0, 14), (0, 6)), ((6, 16), (1, 5), (1, 5)), ((6, 26), (9, 13), (1, 5)))
    x, y, _ = centers(*body).T
    labels = np.where(y < 7, np.where(x > 7.5, 1, 0), np.where(x > 18.5, 2, 0)).astype(np.int32)
    placed = cut_boundaries(*body, labels, sticks((0, 1), (1, 2), (1, 3)), options=SHARP)
    assert np.array_equal(placed, np.where(y < 7, np.where(x > 6.1, 1, 0), labels))


@pytest.mark.parametrize("n_around", [8, 48])
def test_a_smooth_tube_is_left_alone_and_all_gives_a_short_loop(n_around):
    tube = make_tube(n_around, 40, 0.3, 2.0)
    middle = centers(tube.vertices, tube.faces)
    straight = (middle[:, 0] > 1.0).astype(np.int32)
    ragged = (middle[:, 0] + 0.1 * np.sin(9 * np.arctan2(middle[:, 1], middle[:, 2])) > 1.0).astype(np.int32)
    for labels in (straight, ragged):
        assert np.array_equal(cut_boundaries(tube.vertices, tube.faces, labels, chain(2), options=SHARP), labels)
        placed = cut_boundaries(tube.vertices, tube.faces, labels, chain(2), options=ALL)
        loop = 2 * n_around * 0.3 * np.sin(np.pi / n_around)
        assert border_length(tube.vertices, tube.faces, placed) <= 1.1 * loop
        assert np.abs(placed - straight).sum() <= 2 * n_around  # it stays where it was, within a ring


def test_bumps_are_no_crease():
    """Noise that turns most edges by tens of degrees does not count as one crease everywhere."""
    tube = make_tube(24, 48, 0.3, 2.0)
    rng = np.random.default_rng(2)
    vertices = tube.vertices + rng.normal(0, 0.009, tube.vertices.shape)
    labels = (centers(vertices, tube.faces)[:, 0] > 1.0).astype(np.int32)
    assert np.degrees(DualGraph.of(vertices, tube.faces).typical_angle()) > 10
    assert np.array_equal(cut_boundaries(vertices, tube.faces, labels, chain(2), options=SHARP), labels)


def test_a_flat_mesh_has_no_crease_and_gets_straight_borders():
    sheet = make_grid(40, 8, 10.0, 2.0)
    middle = centers(sheet.vertices, sheet.faces)
    labels = (middle[:, 0] + 0.4 * np.sin(7 * middle[:, 1]) > 5.0).astype(np.int32)
    assert np.array_equal(cut_boundaries(sheet.vertices, sheet.faces, labels, chain(2), options=SHARP), labels)
    placed = cut_boundaries(sheet.vertices, sheet.faces, labels, chain(2), options=ALL)
    assert border_length(sheet.vertices, sheet.faces, placed) == pytest.approx(2.0)


def test_a_folded_sheet_with_a_border():
    """An open mesh: the boundary is a path from rim to rim."""
    sheet = make_grid(40, 8, 10.0, 4.0)
    vertices = sheet.vertices.copy()
    vertices[:, 2] = np.maximum(vertices[:, 0] - 5.0, 0)
    x = centers(vertices, sheet.faces)[:, 0]
    for fold in (1, -1):  # valley and ridge
        placed = cut_boundaries(
            vertices * [1, 1, fold], sheet.faces, (x > 6.1).astype(np.int32), chain(2), options=SHARP
        )
        assert np.array_equal(placed, x > 5)


def test_holes_flat_triangles_and_edges_of_three_triangles():
    vertices, faces = PEG
    rng = np.random.default_rng(3)
    x = centers(vertices, faces)[:, 0]
    kept = rng.random(len(faces)) > 0.03
    fin = np.array([[0, 1, len(vertices)], [5, 5, 9], [7, 7, 7]], np.int32)
    faces = np.concatenate([faces[kept], fin])
    vertices = np.concatenate([vertices, [[-3.0, 0, 0], [50, 50, 50]]])
    expected = np.r_[x[kept] > 8, centers(vertices, fin)[:, 0] > 8]
    labels = np.r_[x[kept] > 9.5, centers(vertices, fin)[:, 0] > 9.5].astype(np.int32)
    placed = cut_boundaries(vertices, faces, labels, chain(2), options=SHARP)
    assert np.array_equal(placed, expected)


def test_a_thin_segment_is_never_swallowed():
    """Five segments along a tube of which some are one ring wide, and bands that reach over all of them."""
    tube = make_tube(16, 20, 0.5, 2.0)
    x = centers(tube.vertices, tube.faces)[:, 0]
    for edges in ([0.5, 0.6, 0.7, 1.5], [0.1, 0.2, 0.3, 0.4], [0.9, 1.0, 1.9, 1.99]):
        labels = np.searchsorted(edges, x).astype(np.int32)
        placed = cut_boundaries(tube.vertices, tube.faces, labels, chain(5), options=replace(ALL, width=5, keep=0))
        assert np.array_equal(np.unique(placed), np.arange(5))
        assert pieces(tube.vertices, tube.faces, placed) == [1] * 5


def test_one_cut_takes_at_most_half_even_if_a_scrap_lies_elsewhere():
    """The crease lies behind nearly all of the upper segment, and one triangle at the far end is of it, too."""
    x = centers(*PEG)[:, 0]
    labels = np.where((x > 8.1) & (x < 12.0), 0, np.where(x > 12.0, 1, 2)).astype(np.int32)
    labels[int(x.argmin())] = 0
    ends = BoundaryOptions("all", width=10, stay=0)
    placed = cut_boundaries(*PEG, labels, chain(2 + 1), options=ends)
    area = np.array([[np.count_nonzero(which == b) for b in range(3)] for which in (labels, placed)])
    assert (area[1] >= area[0] / 4).all()  # the middle one has two boundaries


@pytest.mark.parametrize("seed", range(6))
def test_pieces_never_increase_on_random_labels(seed):
    """Segments are the cells around random points of a bumpy ball, with bones joined at random."""
    rng = np.random.default_rng(seed)
    ball = make_sphere(3, 1.0)
    vertices = ball.vertices * (1 + 0.08 * np.sin(ball.vertices @ rng.normal(0, 4, (3, 3))).sum(axis=1, keepdims=True))
    n = 9
    seeds = rng.normal(size=(n, 3))
    away = centers(vertices, ball.faces)[:, None] - seeds / np.linalg.norm(seeds, axis=1, keepdims=True)
    labels = np.linalg.norm(away + rng.normal(0, 0.06, away.shape), axis=2).argmin(axis=1).astype(np.int32)
    skeleton = sticks(*((int(rng.integers(0, b + 1)), b + 1) for b in range(n)))
    before = pieces(vertices, ball.faces, labels)
    for options in (ALL, replace(ALL, width=3, keep=0), BoundaryOptions("sharp", sharp_share=0.1)):
        placed = cut_boundaries(vertices, ball.faces, labels, skeleton, options=options)
        after = pieces(vertices, ball.faces, placed)
        assert np.array_equal(np.unique(placed), np.unique(labels))
        assert all(a <= b for a, b in zip(after, before, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_the_cut_is_the_least_of_all(seed):
    """Every way to put the nodes of a small graph on two sides is tried."""
    rng = np.random.default_rng(seed)
    n = 9
    pairs = np.array([p for p in itertools.combinations(range(n), 2) if rng.random() < 0.45] + [(0, 1)], np.int32)
    capacity = rng.uniform(0, 1, len(pairs)) ** 3 * 10.0 ** rng.integers(-6, 6)
    source, sink = np.zeros(n, bool), np.zeros(n, bool)
    source[[0, 1]], sink[[n - 1, n - 2]] = True, True

    def cost(side: np.ndarray) -> float:
        return float(capacity[side[pairs[:, 0]] != side[pairs[:, 1]]].sum())

    side = minimum_cut(pairs, capacity, source, sink)
    assert side[source].all()
    assert not side[sink].any()
    every = [np.array([1, 1, *choice, 0, 0], bool) for choice in itertools.product((0, 1), repeat=n - 4)]
    assert cost(side) == pytest.approx(min(cost(choice) for choice in every), rel=1e-6)


def test_the_plan_goes_from_the_root_outward_and_from_coarse_to_fine():
    hand = sticks((0, 1), (1, 2), (1, 3), (1, 4), (4, 5))  # arm, three fingers, the tip of the last
    border = np.zeros((5, 5))
    for a, b, length in [(0, 1, 2), (0, 2, 2), (0, 3, 2), (1, 2, 5), (2, 3, 4), (3, 4, 1), (0, 4, 1)]:
        border[a, b] = border[b, a] = length
    assert plan_cuts(border, hand) == [((0,), (1, 2, 3)), ((1, 2), (3,)), ((1,), (2,)), ((3,), (4,)), ((0,), (4,))]


def test_the_plan_leaves_out_segments_that_do_not_touch():
    border = np.zeros((4, 4))
    border[1, 2] = border[2, 1] = 1
    assert plan_cuts(border, sticks((0, 1), (1, 2), (1, 3), (1, 4))) == [((1,), (2,))]
    assert plan_cuts(np.zeros((4, 4)), sticks((0, 1), (1, 2), (1, 3), (1, 4))) == []


def test_a_skeleton_with_a_cycle_and_bones_without_triangles():
    labels = np.where(centers(*PEG)[:, 0] > 9.5, 4, 1).astype(np.int32)
    ring = sticks((0, 1), (1, 2), (2, 0), (3, 4), (4, 5))
    placed = cut_boundaries(*PEG, labels, ring, options=SHARP)
    assert np.array_equal(placed, np.where(centers(*PEG)[:, 0] > 8, 4, 1))


def test_convex_and_concave_edges():
    graph = DualGraph.of(*PEG)
    square = np.isclose(graph.angle, np.pi / 2)
    assert graph.lengths[square & graph.concave].sum() == pytest.approx(16)  # where the boxes meet
    assert graph.lengths[square & ~graph.concave].sum() == pytest.approx(12 * 8 + 4 * 10 + 4 * 4)
    assert np.allclose(graph.angle[~square], 0)
    assert graph.bend(0.2)[square & graph.concave] == pytest.approx(1)
    assert graph.bend(0.2)[square & ~graph.concave] == pytest.approx(0.2)


@pytest.mark.parametrize("n_faces", [0, 1])
def test_next_to_nothing(n_faces):
    vertices, faces = np.eye(3), np.array([[0, 1, 2]], np.int32)[:n_faces]
    assert cut_boundaries(vertices, faces, np.zeros(n_faces, np.int32), chain(1), options=ALL).shape == (n_faces,)


def test_everything_in_one_point():
    vertices, faces = np.zeros((4, 3)), np.array([[0, 1, 2], [1, 2, 3]], np.int32)
    assert cut_boundaries(vertices, faces, np.array([0, 1], np.int32), chain(2), options=ALL).tolist() == [0, 1]


def test_refusals():
    vertices, faces = PEG
    with pytest.raises(GeometryError, match="bone"):
        cut_boundaries(vertices, faces, np.full(len(faces), 2, np.int32), chain(2))
    with pytest.raises(GeometryError, match="bone"):
        cut_boundaries(vertices, faces, np.zeros(3, np.int32), chain(2))
    for change in ({"mode": "some"}, {"width": -1}, {"keep": float("nan")}, {"sharp_angles": (60.0, 20.0)}):
        with pytest.raises(OptionError, match=next(iter(change))):
            BoundaryOptions(**change)
