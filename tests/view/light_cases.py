"""Light of random numbers: all parts of the format, in a moment, without a ray."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from osteon.apply.light.compress import CompressedTransfer
from osteon.apply.light.environment import project_sky, seen_environment
from osteon.apply.light.harmonics import n_coefficients
from osteon.apply.light.model_light import BakedColors, CoarseLight, Environment, GroundLight, ModelLight
from osteon.core.model import SkinnedModel
from osteon.lod.model_levels import CoarseMesh

RANK = 4
POINTS = 9  # per side of the ground
UP = np.array([0.0, 1.0, 0.0])


def random_transfer(rng: np.random.Generator, frames: int, points: int, order: int) -> CompressedTransfer:
    """Transfer around that of an open surface, with all its bands."""
    count = n_coefficients(order)
    mean = 0.1 * rng.normal(size=(points, count))
    mean[:, 0] = 0.25
    basis = rng.normal(size=(RANK, points, count))
    coefficients = 0.05 * rng.normal(size=(frames, RANK)).astype(np.float32)
    return CompressedTransfer(
        mean.astype(np.float16), basis.astype(np.float16), coefficients, tuple(np.linspace(0.3, 0, RANK + 1))
    )


def random_light(
    model: SkinnedModel, order: int = 4, *, channels: int = 3, seed: int = 0, coarse: Sequence[CoarseMesh] = ()
) -> ModelLight:
    """Light with all parts of the format."""
    rng = np.random.default_rng(seed)
    frames, points = model.n_frames, model.mesh.n_normals
    ground = GroundLight(
        random_transfer(rng, frames, POINTS**2, order),
        rng.normal(size=(frames, 3)).astype(np.float32),
        1.5 * model.diagonal,
        POINTS,
    )
    baked = BakedColors(
        (rng.uniform(size=(RANK, frames, RANK)) * np.tri(RANK)[:, None]).astype(np.float32),
        rng.uniform(size=(RANK, points, channels)).astype(np.float16),
        rng.uniform(size=(RANK, POINTS**2, channels)).astype(np.float16),
        tuple(np.linspace(0.3, 0.1, RANK)),
    )
    return ModelLight(
        order,
        "y",
        random_transfer(rng, frames, points, order),
        seen_environment(order, UP),
        ground,
        (random_sky(seed),),
        baked,
        tuple(coarse_light(rng, mesh.character.mesh.n_normals, order, channels) for mesh in coarse),
    )


def coarse_light(rng: np.random.Generator, points: int, order: int, channels: int) -> CoarseLight:
    own = random_transfer(rng, 1, points, order)
    return CoarseLight(own.mean, own.basis, rng.uniform(size=(RANK, points, channels)).astype(np.float16))


def random_sky(seed: int) -> Environment:
    """Three lobes of colours in random directions above a dim grey."""
    rng = np.random.default_rng(seed)
    towards = rng.normal(size=(3, 3))
    towards /= np.linalg.norm(towards, axis=1, keepdims=True)
    colors = rng.uniform(0.2, 2.0, size=(3, 3))
    return project_sky(lambda d: 0.2 + np.exp(4 * (d @ towards.T - 1)) @ colors, name="random")
