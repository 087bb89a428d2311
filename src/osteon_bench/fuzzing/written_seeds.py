"""Valid files written by Osteon itself: one small model and one small sequence in every format that it writes."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from osteon.core.animation import BoneTrack, Clip
from osteon.core.character import Corrections, Skeleton, Skin
from osteon.core.mesh import Asset, Image, Material
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.linear_blend import LinearBlend, linear_blend_model
from osteon.io import save_model, save_sequence
from osteon.io.formats.options import SaveOptions
from osteon.io.meshes.ply import PlyWriter

REST = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.5]], np.float32)
FACES = np.array([[0, 1, 2], [0, 2, 3], [3, 1, 0]], np.int32)
FRAMES = np.stack([REST, REST + 1, REST * 2])
CLIPS = (Clip("walk", 0, 2, 24.0), Clip("run", 2, 3, 30.0))


@cache
def _asset() -> Asset:
    image = Image("dots", "image/png", b"\x89PNG\r\n\x1a\n")
    return Asset(
        uvs=np.zeros((3, 3, 2), np.float32),
        colors=np.ones((4, 4), np.float32),
        materials=(Material("red", (1, 0, 0, 1), textures=(("base_color", image),)), Material("blue")),
        triangle_material=np.array([0, 0, 1], np.int32),
        polygon_of_triangle=np.array([0, 0, 1], np.int32),
    )


def small_sequence() -> MeshSequence:
    return MeshSequence(FRAMES, FACES, REST, CLIPS, _asset(), "square")


def small_model(*, rich: bool) -> SkinnedModel:
    """Two bones; a rich one has corrections, joints, materials and two clips."""
    rotations = np.zeros((3, 2, 3, 4), np.float32)
    rotations[..., :3] = np.eye(3)
    rotations[:, 1, 0, 3] = (0, 1, 2)
    skin = Skin(np.tile(np.array([0, 1], np.int32), (4, 1)), np.full((4, 2), 0.5, np.float32))
    plain = linear_blend_model(REST, FACES, skin, BoneTrack(rotations, "rigid"))
    if not rich:
        return plain
    basis = np.zeros((1, 4, 3), np.float32)
    basis[0, 2, 2] = 0.1
    corrections = Corrections(basis, np.array([[0.0], [1], [0.5]], np.float32), basis)
    joints = Skeleton(("hip", "knee"), np.array([-1, 0], np.int32), rotations[1])
    return (
        plain.with_mesh(asset=_asset())
        .with_character(skeleton=joints)
        .with_animation(clips=CLIPS)
        .with_corrections(corrections)
    )


def written_model(suffix: str, options: tuple[SaveOptions, ...] = (SaveOptions(),)) -> list[bytes]:
    """A plain and a rich model as files of that kind."""
    models = [small_model(rich=False), small_model(rich=True)]
    if suffix == ".npz":
        arrays = {"bones": models[0].skin.bones, "weights": models[0].skin.weights}
        from osteon.deform.registry import deformer_class

        quaternions = deformer_class("dual_quaternion").from_arrays(arrays)
        models.append(models[0].with_character(deformer=quaternions, fallback=models[0].skin))
    with tempfile.TemporaryDirectory(prefix="osteon-fuzz-") as folder:
        path = Path(folder, f"model{suffix}")
        found = []
        for chosen in options:
            for model in models:
                save_model(model, path, options=chosen)
                found.append(path.read_bytes())
    return found


def written_levels(suffix: str) -> bytes:
    """The rich model with levels, one of them a coarser mesh."""
    from osteon.lod.fit_progressive import fit_progressive
    from osteon.lod.model_levels import CoarseMesh, Level, ModelLevels, save_levels

    model = small_model(rich=True)
    skin = fit_progressive(model).skin
    model = model.with_character(deformer=LinearBlend(skin.blends.skin))
    levels = (Level(2, 2, 0, 3), Level(1, 1, 1, 3, 9.0, 2.0, 4.0, 50.0))
    found = ModelLevels(model, skin, levels, (CoarseMesh(model.character, skin.blends),))
    with tempfile.TemporaryDirectory(prefix="osteon-fuzz-") as folder:
        path = Path(folder, f"levels{suffix}")
        save_levels(found, path)
        return path.read_bytes()


def written_sequence(suffix: str) -> list[bytes]:
    """The sequence as one file of that kind."""
    with tempfile.TemporaryDirectory(prefix="osteon-fuzz-") as folder:
        path = Path(folder, f"sequence{suffix}")
        save_sequence(small_sequence(), path)
        return [path.read_bytes()]


def ply_seeds() -> list[bytes]:
    """All three encodings."""
    text, little = PlyWriter(FACES, _asset(), "ascii"), PlyWriter(FACES, _asset(), "binary_little_endian")
    return [writer.frame(REST) for writer in (text, little, PlyWriter(FACES, _asset(), "binary_big_endian"))]
