"""The input of `osteon bench growth`."""

from __future__ import annotations

from osteon_bench.growth import TubeSize, make_moving_tube


def test_the_tube_has_the_size_asked_for():
    sequence = make_moving_tube(TubeSize(frames=5, vertices=2000, bones=4))
    assert sequence.n_frames == 5
    assert 2000 <= sequence.n_vertices < 2200
