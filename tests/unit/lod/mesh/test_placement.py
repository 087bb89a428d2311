"""Where a collapsed edge comes to lie: the least of its cost, by conditions of optimality and by trying around it."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.skin import Skin
from osteon.deform.linear_blend import linear_blend_model
from osteon.lod.mesh.links import FREE, KEEP_FIRST, REFUSED
from osteon.lod.mesh.options import SimplifyOptions
from osteon.lod.mesh.placement import BEST, BEST_WEIGHTS, EVEN, PULL, place_edge, pose_best
from osteon.lod.mesh.state import CARRIERS, PAIRS, SPREAD, WEIGHT, WEIGHTS
from osteon.synth.shapes import make_ball
from tests.small_meshes import OCTAHEDRON, SQUARE, bending, fan, start, still
from tests.unit.lod.mesh.test_quadrics import value


def placed(started, i, j):
    """Key, cost, t, what; place; weights by carrier; where it lies in every pose."""
    tables, room = started.tables, started.room
    found = place_edge(
        tables.corners,
        tables.heads,
        tables.state,
        tables.poses,
        tables.transforms,
        tables.attributes,
        room.work,
        room.slots,
        i,
        j,
    )
    if found[3] == REFUSED:
        return found, None, None, None
    pose_best(tables.poses, tables.transforms, room.work, room.slots, i, j, found[2], room.places)
    k = tables.heads.shape[1] - CARRIERS
    weights = dict(zip(room.slots[PAIRS : PAIRS + k, 0].tolist(), room.work[BEST_WEIGHTS, :k].tolist(), strict=True))
    return found, room.work[BEST, :3].copy(), weights, room.places[:, :3].copy()


def blended(started, weights):
    """(f,3,4) of all poses."""
    matrices = sum(w * started.tables.transforms[name] for name, w in weights.items())
    return np.asarray(matrices).reshape(-1, 3, 4)


def cost_at(started, i, j, place, weights):
    """What the merged point costs at a place, written out: planes of all poses, and the spread of both ends."""
    tables, total = started.tables, 0.0
    for f, matrix in enumerate(blended(started, weights)):
        x = matrix[:, :3] @ place + matrix[:, 3]
        total += value(tables.poses[i, f, :10] + tables.poses[j, f, :10], x)
        both = tables.poses[i, f, SPREAD:] + tables.poses[j, f, SPREAD:]
        mass = tables.state[i, WEIGHT] + tables.state[j, WEIGHT]
        total += EVEN * (both[3] - 2 * x @ both[:3] + mass * x @ x)
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
    ends = [ball.tables.state[v, WEIGHTS:] for v in (i, j)]
    for t in np.linspace(0, 1, 5):
        mixed = (1 - t) * ends[0] + t * ends[1]
        names = ball.tables.heads[i, CARRIERS:].tolist()
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
    assert place == pytest.approx(started.tables.state[0, :3], abs=1e-6)


def test_no_place_is_far_from_its_edge():
    """Steep roofs: planes that are nearly parallel meet far away, and such a place is not taken."""
    for height in (0.0, 1e-4, 0.01, 0.3, 2.0, 50.0):
        started = start(still(fan(height)))
        for i, j in ((0, 4), (1, 4), (0, 1)):
            _, place, _, _ = placed(started, i, j)
            ends = started.tables.state[[i, j], :3]
            assert np.linalg.norm(place - ends.mean(axis=0)) <= 2 * np.linalg.norm(ends[0] - ends[1]) * (1 + 1e-9)


def test_edges_of_equal_weights_take_one_mixture():
    """On one bone all mixtures are the same, so that only the middle is tried."""
    assert placed(start(still(OCTAHEDRON)), 0, 2)[0][2] == 0.5


def test_locked_ends_stay():
    started = start(still(fan(0.5)), SimplifyOptions(lock_borders=True))
    found, place, _, _ = placed(started, 0, 4)
    assert found[2:] == (0.0, KEEP_FIRST)
    assert place == pytest.approx(started.tables.state[0, :3])
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
