"""A character and the bodies that it kicks, in players of the web: both move as they were simulated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.apply.collide.bodies import place_scene, simulate_bodies
from osteon.apply.collide.bodies_options import BodyOptions
from osteon.apply.collide.scene import RigidBody, Scene
from osteon.apply.collide.scene_files import save_scene, solid_of
from osteon.core.transforms import matrices_from_quaternions
from osteon.deform.pose import pose_frames
from osteon_bench.players.browser import Engine, WebPlayer
from tests.posable import posable_model

SCENE = Scene(
    (
        RigidBody("sphere", np.array([0.06, 0, 0]), np.array([0.0, 0.8, 0])),
        RigidBody(
            "box", np.array([0.05, 0.03, 0.04]), np.array([0.05, 1.0, 0.02]), rotation=np.array([0.1, 0.2, 0, 1])
        ),
        RigidBody("capsule", np.array([0.03, 0.05, 0]), np.array([0.3, 0.7, 0.1])),
    ),
    in_diagonals=True,
)


@pytest.mark.parametrize("name", ["three", "babylon", "playcanvas"])
def test_character_and_bodies_play_together(name: Engine, players: dict[Engine, WebPlayer], tmp_path: Path) -> None:
    model = posable_model()
    clip = model.clips[0]
    tracks = simulate_bodies(model, SCENE, options=BodyOptions(loops=2, rate=clip.fps))
    path = tmp_path / "scene.glb"
    save_scene(path, model, SCENE, tracks)
    solids = [solid_of(body) for body in place_scene(model, SCENE).bodies]
    frames = [0, 2, clip.n_frames, 2 * clip.n_frames - 1]
    player = players[name]
    player.open(path)
    found = np.concatenate(player.positions(0, [frame / clip.fps for frame in frames]), axis=1)
    for frame, points in zip(frames, found, strict=True):
        posed = pose_frames(model, frame % clip.n_frames, frame % clip.n_frames + 1)[0]
        turns = matrices_from_quaternions(tracks[0].rotations[frame])
        moved = [s.vertices @ turns[i].T + tracks[0].positions[frame, i] for i, s in enumerate(solids)]
        for wanted in (posed, *moved):
            off = np.sqrt(((wanted[:, None] - points[None]) ** 2).sum(axis=2)).min(axis=1).max()
            assert off < 5e-4 * model.diagonal, frame
