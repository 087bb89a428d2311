"""Where a collapsed edge is placed: the least of its cost, by conditions of optimality and by trying around it."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.character import Skin
from osteon.deform.linear_blend import linear_blend_model
from osteon.lod.mesh.edge_checks import FREE, KEEP_FIRST, REFUSED
from osteon.lod.mesh.placement import EVEN, PULL, place_edge, pose_best
from osteon.synth.shapes import make_ball
from tests.small_meshes import OCTAHEDRON, SQUARE, bending, fan, start, still
from tests.unit.lod.mesh.test_quadrics import value


def placed(started, i, j):
    """Price, cost, share, end; place; weights by transform; where it is in every pose."""
    surface, workspace = started.surface, started.workspace
    end = int(place_edge(surface, workspace, i, j))
    best = workspace.best[0]
    found = (float(best.price), float(best.cost), float(best.share), end)
    if end == REFUSED:
        return found, None, None, None
    pose_best(surface, workspace, i, j)
    return found, best.place.copy(), dict(workspace.chosen.tolist()), workspace.posed["place"].copy()


def blended(started, weights):
    """(f,3,4) of all poses."""
    matrices = sum(w * started.surface.transforms[name] for name, w in weights.items())
    return np.asarray(matrices).reshape(-1, 3, 4)


def cost_at(started, i, j, place, weights):
    """What the merged point costs at a place, written out: planes of all poses, and the spread of both ends."""
    surface, total = started.surface, 0.0
    for f, matrix in enumerate(blended(started, weights)):
        x = matrix[:, :3] @ place + matrix[:, 3]
        one, other = surface.posed[i, f], surface.posed[j, f]
        total += value(one.quadric + other.quadric, x)
        mass = surface.points[i].weight + surface.points[j].weight
        squares, places = one.square_sum + other.square_sum, one.place_sum + other.place_sum
        total += EVEN * (squares - 2 * x @ places + mass * x @ x)
    return total


@pytest.fixture(name="ball")
def _ball():
    """Twelve vertices, smooth enough that places are held in all directions, on two bones that bend."""
    shape = make_ball(12, 1.0)
    return start(bending((shape.vertices, shape.faces)))


def test_poses_are_those_of_the_place(ball):
    _, place, weights, poses = placed(ball, *ball.corners.faces[0, :2].tolist())
    for matrix, x in zip(blended(ball, weights), poses, strict=True):
        assert matrix[:, :3] @ place + matrix[:, 3] == pytest.approx(x)


def test_the_cost_is_as_written_out(ball):
    for i, j in ball.corners.faces[:, :2].tolist():
        found, place, weights, _ = placed(ball, i, j)
        assert found[1] == pytest.approx(cost_at(ball, i, j, place, weights), rel=1e-9)
        assert found[0] == pytest.approx(found[1])  # nothing was paid before


def test_nothing_around_the_place_costs_less(ball):
    """The gradient over the place is zero but for what pulls it to the middle, and every step costs more."""
    rng = np.random.default_rng(0)
    for i, j in ball.corners.faces[:6, :2].tolist():
        _, place, weights, _ = placed(ball, i, j)
        here, slack = cost_at(ball, i, j, place, weights), 10 * (PULL + EVEN)
        for way in rng.normal(size=(12, 3)):
            step = 0.05 * way / np.linalg.norm(way)
            assert cost_at(ball, i, j, place + step, weights) > here
        gradient = [
            (cost_at(ball, i, j, place + h, weights) - cost_at(ball, i, j, place - h, weights)) / 2e-4
            for h in 1e-4 * np.eye(3)
        ]
        assert np.abs(gradient).max() < slack


def test_five_mixtures_are_tried_and_the_best_is_kept(ball):
    """At the t that is kept the cost is no larger than at the best place of any other of the five."""
    i, j = ball.corners.faces[0, :2].tolist()
    found, _, weights, _ = placed(ball, i, j)
    ends = [ball.surface.influences[v]["weight"] for v in (i, j)]
    for t in np.linspace(0, 1, 5):
        mixed = (1 - t) * ends[0] + t * ends[1]
        names = ball.surface.influences[i]["transform"].tolist()
        other = dict(zip(names, mixed.tolist(), strict=True))
        best = min(cost_at(ball, i, j, p, other) for p in np.random.default_rng(2).normal(0, 0.3, (200, 3)).tolist())
        assert found[1] <= best
    assert min(weights.values()) >= 0
    assert sum(weights.values()) == pytest.approx(1)
    mixture = sum(w * np.eye(2)[name] for name, w in weights.items())
    assert mixture == pytest.approx((1 - found[2]) * ends[0] + found[2] * ends[1])


def test_a_flat_corner_stays_where_it_is():
    """The middle of a square goes into a corner, which two borders hold."""
    started = start(still(fan(0.0)))
    found, place, _, _ = placed(started, 0, 4)
    assert found[3] == FREE
    assert place == pytest.approx(started.surface.points[0].place, abs=1e-6)


def test_no_place_is_far_from_its_edge():
    """Steep roofs: planes that are nearly parallel meet far away, and such a place is not taken."""
    for height in (0.0, 1e-4, 0.01, 0.3, 2.0, 50.0):
        started = start(still(fan(height)))
        for i, j in ((0, 4), (1, 4), (0, 1)):
            _, place, _, _ = placed(started, i, j)
            ends = started.surface.points["place"][[i, j]]
            assert np.linalg.norm(place - ends.mean(axis=0)) <= 2 * np.linalg.norm(ends[0] - ends[1]) * (1 + 1e-9)


def test_edges_of_equal_weights_take_one_mixture():
    """On one bone all mixtures are the same, so that only the middle is tried."""
    assert placed(start(still(OCTAHEDRON)), 0, 2)[0][2] == 0.5


def test_locked_ends_stay():
    started = start(still(fan(0.5)), lock_borders=True)
    found, place, _, _ = placed(started, 0, 4)
    assert found[2:] == (0.0, KEEP_FIRST)
    assert place == pytest.approx(started.surface.points[0].place)
    assert placed(started, 0, 1)[0][3] == REFUSED


def test_of_many_carriers_the_largest_stay():
    """Two points on two bones each, of which three differ: two are kept, with a sum of one."""
    plain = bending(SQUARE)
    bones = np.array([[0, 1], [2, 1], [0, 1], [0, 1]], np.int32)
    weights = np.array([[0.7, 0.3], [0.9, 0.1], [0.5, 0.5], [0.5, 0.5]], np.float32)
    transforms = plain.track.transforms[:, [0, 1, 1]]
    track = type(plain.track)(transforms, "rigid")
    model = linear_blend_model(plain.rest, plain.faces, Skin(bones, weights), track)
    found, _, kept, _ = placed(start(model), 0, 1)
    assert sum(kept.values()) == pytest.approx(1)
    t = found[2]
    mixed = np.array([0.7 * (1 - t), 0.3 * (1 - t) + 0.1 * t, 0.9 * t])
    largest = np.argsort(-mixed, kind="stable")[:2]
    expected = {int(b): mixed[b] / mixed[largest].sum() for b in largest if mixed[b] > 0}
    assert {b: w for b, w in kept.items() if w > 0} == pytest.approx(expected)
