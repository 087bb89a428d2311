"""A character and its bodies in one glTF: valid, with the motion that was simulated, on the time of every clip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.apply.collide.bodies import place_scene, simulate_bodies
from osteon.apply.collide.bodies_options import BodyOptions
from osteon.apply.collide.scene import RigidBody, Scene
from osteon.apply.collide.scene_files import save_scene, solid_of
from osteon.core.errors import OptionError
from osteon.core.transforms import matrices_from_quaternions
from osteon.deform.pose import pose_frames
from osteon.io import load_model, save_model
from osteon.io.gltf.patch.solids import needed_keys
from tests.posable import posable_model

SCENE = Scene(
    (
        RigidBody("sphere", np.array([0.06, 0, 0]), np.array([0.0, 0.8, 0]), name="ball"),
        RigidBody("box", np.array([0.05, 0.03, 0.04]), np.array([0.05, 1.0, 0.02]), name="crate"),
        RigidBody("capsule", np.array([0.03, 0.05, 0]), np.array([0.3, 0.7, 0.1]), name="pill"),
    ),
    in_diagonals=True,
)


@pytest.mark.parametrize("loops", [1, 2])
@pytest.mark.parametrize("own", [True, False])
def test_the_file_moves_character_and_bodies(tmp_path: Path, loops: int, own: bool) -> None:
    save_model(posable_model(), tmp_path / "model.glb")
    model = load_model(tmp_path / "model.glb")
    tracks = simulate_bodies(model, SCENE, options=BodyOptions(loops=loops, rate=model.clips[0].fps))
    path = tmp_path / "scene.glb"
    save_scene(path, model, SCENE, tracks, tmp_path / "model.glb" if own else None)
    read = load_model(path)
    assert [clip.name for clip in read.clips] == [clip.name for clip in model.clips]
    solids = [solid_of(body) for body in place_scene(model, SCENE).bodies]
    for clip, track in zip(read.clips, tracks, strict=True):
        assert clip.n_frames == loops * track.clip.n_frames
        for frame in range(0, clip.n_frames, 3):
            posed = pose_frames(read, clip.start + frame, clip.start + frame + 1)[0]
            source = track.clip.start + frame % track.clip.n_frames
            expected = pose_frames(model, source, source + 1)[0]
            key = int(np.argmin(abs(track.seconds - frame / clip.fps)))
            turns = matrices_from_quaternions(track.rotations[key])
            moved = [s.vertices @ turns[i].T + track.positions[key, i] for i, s in enumerate(solids)]
            wanted = np.concatenate([expected, *moved])
            # Every point of one is a point of the other: vertices may be split at seams.
            nearest = np.sqrt(((wanted[:, None] - posed[None]) ** 2).sum(axis=2)).min(axis=1)
            assert nearest.max() < 5e-4 * model.diagonal


def test_stock_validation(tmp_path: Path) -> None:
    from osteon_bench.players.tools import why_no_validator
    from osteon_bench.players.validator import validate

    why = why_no_validator()
    if why:
        pytest.skip(why)
    model = posable_model()
    tracks = simulate_bodies(model, SCENE)
    for name in ("scene.glb", "scene.gltf"):
        save_scene(tmp_path / name, model, SCENE, tracks)
        assert validate(tmp_path / name) == []


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"scene\.usda.*\.glb"):
        save_scene(tmp_path / "scene.usda", posable_model(), SCENE, ())
    assert not list(tmp_path.iterdir())


def test_a_mesh_of_a_capsule_is_closed_and_faces_outwards() -> None:
    for body in SCENE.bodies:
        solid = solid_of(body)
        corners = solid.vertices[solid.faces].astype(np.float64)
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert ((normals * corners.mean(axis=1)).sum(axis=1) > 0).all()
        volume = np.einsum("ti,ti->", normals, corners[:, 0]) / 6
        assert volume == pytest.approx(body.mass, rel=0.05)
        assert (np.einsum("ti,ti->t", normals, solid.normals[solid.faces].sum(axis=1)) > 0).all()


def test_only_needed_keys_are_kept() -> None:
    seconds = np.arange(101) / 100
    bent = np.abs(seconds - 0.37)[:, None] * [1.0, 0, 0]
    assert needed_keys(seconds, bent, 1e-6).tolist() == [0, 37, 100]
    curve = np.sin(3 * seconds)[:, None] * [1.0, 2, 0]
    kept = needed_keys(seconds, curve, 1e-2)
    between = np.stack([np.interp(seconds, seconds[kept], curve[kept, k]) for k in range(3)], axis=1)
    assert 3 < len(kept) < 20
    assert np.linalg.norm(between - curve, axis=1).max() <= 1e-2
