"""Lit models for tests: a moving jointed body, a ball, and the light of the first."""

from __future__ import annotations

from functools import cache

import numpy as np

from osteon.apply.light.environment import SKIES, project_sky
from osteon.apply.light.model_light import ModelLight
from osteon.apply.light.options import LightOptions
from osteon.apply.light.precompute import axes_with
from osteon.apply.light.scene import Ground, LitScene, ShadedPoints
from osteon.core.arrays import Float64, Int32
from osteon.core.model import SkinnedModel
from osteon.core.normals import vertex_normals
from osteon.core.topology import bounding_diagonal
from osteon.pipeline.light import fit_light
from osteon.synth.shapes import make_sphere
from osteon_bench.subjects import JointedOptions, make_jointed

#: Two of the environments made in code.
ENVIRONMENTS = tuple(project_sky(SKIES[name], name=name) for name in ("studio", "overcast"))
SMALL = LightOptions(directions=64, rank=4, ground_points=8, threads=1)


@cache
def moving_body() -> SkinnedModel:
    """Six joints, twelve frames."""
    return make_jointed(3, JointedOptions(joints=6, vertices=40))


@cache
def lit_body(**options: object) -> ModelLight:
    from dataclasses import replace

    return fit_light(moving_body(), ENVIRONMENTS, options=replace(SMALL, **options))  # type: ignore[arg-type]


def scene_of(vertices: Float64, faces: Int32, ground: Ground | None = None, turn: Float64 | None = None) -> LitScene:
    """A mesh at rest, with the same frame of reference at all points."""
    normals = vertex_normals(vertices, faces)
    rotations = np.ascontiguousarray(np.broadcast_to(np.eye(3) if turn is None else turn, (len(vertices), 3, 3)))
    shaded = ShadedPoints(vertices, normals, rotations)
    return LitScene(vertices, faces, shaded, faces, bounding_diagonal(vertices), ground)


def ball_above_ground(height: float = 1.1, resolution: int = 9) -> LitScene:
    ball = make_sphere(3, 1.0).moved((0.0, height, 0.0))
    return scene_of(ball.vertices, ball.faces, Ground(np.zeros(3), axes_with("y"), 4.0, resolution))
