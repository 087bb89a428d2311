"""The ball is squashed by one affine map per frame; the cloth falls, hardly stretches, and stays above the floor."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.topology import vertex_graph
from osteon.synth.soft_bodies import HEAP, SoftBodyOptions, make_bouncing_ball, make_collapse


def test_the_ball_moves_by_one_affine_map_and_keeps_its_volume() -> None:
    ball = make_bouncing_ball(SoftBodyOptions(frames=12))
    points = np.concatenate([ball.rest, np.ones((ball.n_vertices, 1))], axis=1)
    for f in range(ball.n_frames):
        matrix, *_ = np.linalg.lstsq(points, ball.frame(f).astype(np.float64), rcond=None)
        np.testing.assert_allclose(points @ matrix, ball.frame(f), atol=1e-5)
        assert abs(np.linalg.det(matrix[:3])) == pytest.approx(1, abs=1e-5)
    low = ball.frames[..., 1].min(axis=1)
    assert low.min() == pytest.approx(0, abs=1e-6)
    assert low.max() > 0.5


def test_the_cloth_collapses_onto_its_heap() -> None:
    cloth = make_collapse(SoftBodyOptions(frames=24, resolution=40))
    rest, last = cloth.rest.astype(np.float64), cloth.frame(23).astype(np.float64)
    np.testing.assert_array_equal(cloth.frame(0), cloth.rest)
    height = np.ptp(rest[:, 1])
    assert np.ptp(last[:, 1]) < 0.45 * height
    size = np.ptp(rest, axis=0).max()
    floor = rest[:, 1].min() + HEAP * size * (rest[:, 1] - rest[:, 1].min()) / height
    assert (last[:, 1] >= floor - 1e-5 * size).all()
    edges = vertex_graph(cloth.faces, len(rest)).tocoo()
    lengths = [np.linalg.norm(p[edges.row] - p[edges.col], axis=1) for p in (rest, last)]
    stretch = lengths[1] / lengths[0]
    assert np.percentile(stretch, 95) < 1.25
    assert 0.85 < np.percentile(stretch, 5) < 0.95  # cloth resists compression less than stretch


def test_the_same_call_returns_the_same_cloth() -> None:
    options = SoftBodyOptions(frames=3, resolution=40)
    np.testing.assert_array_equal(make_collapse(options).frames, make_collapse(options).frames)


@pytest.mark.parametrize("wrong", [{"frames": 1}, {"resolution": 10}, {"friction": 2.0}])
def test_refuses(wrong: dict[str, float]) -> None:
    with pytest.raises(OptionError):
        SoftBodyOptions(**wrong)  # type: ignore[arg-type]
