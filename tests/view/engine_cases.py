"""Packs for the engine's tests: models whose positions Python knows, and sources that differ from them."""

from __future__ import annotations

from functools import cache

import numpy as np

from osteon.core.animation import BoneTrack, Clip
from osteon.core.arrays import Float32
from osteon.core.character import Corrections
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames
from osteon.view.pack.model_pack import pack_model
from osteon_bench.players.cases import make_cases

RANK = 5


@cache
def models() -> dict[str, SkinnedModel]:
    """Every kind of model that the shader must pose."""
    found = {case.name: case.model for case in make_cases() if "quantised" not in case.name}
    kinds = ("rigid", "flexible", "corrections", "two clips", "eight influences", "two materials", "mirrored")
    far = found["flexible"]
    moved = far.track.transforms.copy()
    moved[..., 3] += np.array([300, 20, -500], np.float32) - moved[..., :3] @ np.array([300, 20, -500], np.float32)
    away = np.array([300, 20, -500], np.float32)
    return {name: found[name] for name in kinds} | {
        "far away": far.with_mesh(rest=far.rest + away).with_animation(track=BoneTrack(moved, "flexible")),
        "full": with_normals(found["corrections"]).with_animation(
            clips=(Clip("walk", 0, 7, 24.0), Clip("run", 7, 12, 30.0))
        ),
    }


def with_normals(model: SkinnedModel) -> SkinnedModel:
    """The same corrections with displacements of normals."""
    added = model.corrections
    assert added is not None
    basis = np.roll(added.basis, 1, axis=2)
    return model.with_corrections(Corrections(added.basis, added.coefficients, basis))


@cache
def source_of(name: str) -> Float32:
    """(f,v,3) frames that the model misses by a little, and by most at one vertex of one frame."""
    frames = pose_frames(models()[name]).astype(np.float64)
    rng = np.random.default_rng(4)
    frames += 0.004 * np.sin(3 * frames[..., ::-1]) + 0.002 * rng.normal(size=frames.shape)
    frames[5, 17] += 0.1
    return frames.astype(np.float32)


def clusters_of(model: SkinnedModel) -> np.ndarray:
    """(t,) the strongest bone of the first corner; every seventh triangle is an outlier."""
    labels = model.skin.bones[model.faces[:, 0], 0].astype(np.int32)
    labels[::7] = -1
    return labels


@cache
def pack_of(name: str, source: bool = True) -> bytes:
    model = models()[name]
    return pack_model(model, source=source_of(name) if source else None, clusters=clusters_of(model))
