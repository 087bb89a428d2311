"""Colours of a lit model: precomputed transfer under an environment, at any moment of its animation.

    c_v = max(0, sum_i t_v,i (R_v^-1 S E)_i)

is the radiance of a surface of albedo 1, of every point (a normal of the mesh); see `model_light`. This is the
reference for the shader of the page.
"""

from __future__ import annotations

import numpy as np

from osteon.apply.light.harmonics import rotate_sh
from osteon.apply.light.model_light import Y00, Environment, ModelLight
from osteon.apply.light.vertex_frames import bone_rotations, rotations_between, vertex_rotations
from osteon.core.arrays import Float32, Float64
from osteon.core.model import SkinnedModel


def light_colors(
    model: SkinnedModel,
    light: ModelLight,
    environment: Environment,
    moment: float,
    *,
    rank: int | None = None,
    rotations: Float32 | None = None,
) -> Float64:
    """(n,3) linear radiance of the points at a moment, in frames, by the first `rank` columns.

    `rotations` are those of `bone_rotations`, which are computed if they are not given.
    """
    bones = bone_rotations(model) if rotations is None else rotations
    inside = min(max(moment, 0.0), model.n_frames - 1.0)
    frames = vertex_rotations(model.deformer.bone_weights(), rotations_between(bones, inside))
    seen = seen_coefficients(light, environment)
    transfer = light.transfer.at(inside, rank)
    turned = rotate_sh(transfer, frames[model.mesh.vertex_of_normal])
    return np.maximum(0, turned @ seen)


def seen_coefficients(light: ModelLight, environment: Environment) -> Float64:
    """(c,3) L: an environment as the character sees it."""
    return light.seen.astype(np.float64) @ environment.coefficients.astype(np.float64)


def ground_colors(light: ModelLight, environment: Environment, moment: float, rank: int | None = None) -> Float64:
    """(g,3) linear radiance of the points of the ground's grid; none without a ground."""
    if light.ground is None:
        return np.zeros((0, 3))
    transfer = light.ground.transfer.at(moment, rank)
    return np.maximum(0, transfer @ environment.coefficients[: transfer.shape[1]].astype(np.float64))


def occlusion(light: ModelLight, moment: float, rank: int | None = None) -> Float64:
    """(n,) ambient occlusion of the points: the part of the cosine that nothing blocks, 0 … 1."""
    return np.asarray(np.clip(light.transfer.at(moment, rank)[:, 0] / Y00, 0, 1))


#: Shares of red, green and blue in luminance (Rec. 709).
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
