"""The bench of rigid bodies: it sees a ball that passes a surface, and small trials are within their bounds."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.apply.collide.bodies_surface import SweptSurface
from osteon.apply.collide.scene import RigidBody, Touch
from osteon.deform.pose import pose_frames
from osteon_bench import collide_bodies
from tests.posable import posable_model


class Nothing:
    """A surface that no body touches."""

    def moved(self, begin: np.ndarray, end: np.ndarray) -> SweptSurface:
        return SweptSurface.of(np.zeros((3, 3)), np.zeros((0, 3), np.int32))


def shot_through(surface: SweptSurface | Nothing) -> tuple[bool, float, int]:
    """Whether a ball passed the model, its least distance and its touches; `surface` is what the solver has."""
    model = posable_model()
    poses = pose_frames(model, 0, 3)
    target = poses[1][model.faces[100]].mean(axis=0).astype(np.float64)
    way = np.array([0.3, -1.0, 0.2]) / np.linalg.norm([0.3, -1.0, 0.2])
    start = target - 3 * way
    ball = RigidBody("sphere", np.array([0.03, 0, 0]), start, velocity=way * 3 * 24, touch=Touch(0.5, 0.0))
    simulation, crossed, least = collide_bodies._shoot(ball, surface, poses, model, 24.0)
    return crossed, least, int(simulation.bodies["hits"][0])


def test_a_ball_that_passes_is_seen() -> None:
    model = posable_model()
    crossed, _, hits = shot_through(Nothing())
    assert crossed
    assert hits == 0
    crossed, least, hits = shot_through(SweptSurface.of(pose_frames(model, 0, 1)[0], model.faces))
    assert not crossed
    assert hits > 0
    assert least > 0.9


def test_small_trials_are_within_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collide_bodies, "SHOTS", 6)
    rows = collide_bodies.tunnel_rows("branch", posable_model()) + collide_bodies.energy_rows()
    assert len(rows) == 10
    assert all(row.ok for row in rows), [row for row in rows if not row.ok]
