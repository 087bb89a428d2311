"""Pictures of precomputed light: frames under several environments, beside the same without shadows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from osteon.apply.light.harmonics import cosine_transfer
from osteon.apply.light.model_light import Environment, ModelLight
from osteon.apply.light.precompute import axes_with
from osteon.apply.light.scene import grid_shares
from osteon.apply.light.shade import ground_colors, light_colors, seen_coefficients
from osteon.core.arrays import Float64, FloatArray
from osteon.core.model import SkinnedModel
from osteon.core.normals import vertex_normals
from osteon.deform.pose import pose_vertices
from osteon.report.picture import panel_grid
from osteon.report.raster import Camera, DrawOptions, Image, draw_mesh, frame_camera
from osteon.synth.shapes import Shape

#: One panel.
VIEW = DrawOptions(width=430, height=310, elevation=16.0, shading="none", shadow=False)
#: Albedo of the ground, and of a body without colours.
GROUND_ALBEDO, BODY_ALBEDO = 0.55, 0.75
#: Radiance that is white in a picture, relative to that of a white floor under the empty sky.
WHITE = 1.05


#: Of the round ground.
RINGS, SPOKES = 48, 120


@dataclass(frozen=True, slots=True)
class LitFrame:
    """A frame to be drawn."""

    frame: int
    shadows: bool
    caption: str


def light_picture(
    model: SkinnedModel,
    light: ModelLight,
    environments: Sequence[Environment],
    frames: Sequence[LitFrame],
    *,
    title: str,
) -> Image:
    """A row of pictures for each environment."""
    whole = [pose_vertices(model, one.frame) for one in frames]
    camera = frame_camera(np.concatenate(whole), VIEW)
    images, captions = [], []
    for environment in environments:
        for one in frames:
            images.append(_draw(model, light, environment, one, camera))
            captions.append(f"{environment.name}: {one.caption}")
    return panel_grid(images, captions, columns=len(frames), title=title)


def _draw(model: SkinnedModel, light: ModelLight, environment: Environment, one: LitFrame, camera: Camera) -> Image:
    points = pose_vertices(model, one.frame).astype(np.float64)
    seen = seen_coefficients(light, environment)
    if one.shadows:
        lit = light_colors(model, light, environment, float(one.frame))[model.mesh.normal_of_vertex]
    else:
        lit = np.maximum(0, cosine_transfer(vertex_normals(points, model.faces), light.order) @ seen)
    colors = model.asset.colors
    albedo = BODY_ALBEDO if colors is None else colors[:, :3].astype(np.float64) ** 2.2
    floor = cosine_transfer(axes_with(light.up)[2], light.order) @ environment.coefficients[: len(seen)]
    white = WHITE * float(floor.max())
    parts, faces, paints = [points], [model.faces], [_srgb(albedo * lit / white)]
    if light.ground is not None:
        disc, shares = _disc(light, one.frame)
        under = np.tile(floor, (len(disc.vertices), 1))
        if one.shadows:
            under = shares @ ground_colors(light, environment, float(one.frame))
        parts.append(disc.vertices)
        faces.append(disc.faces + len(points))
        paints.append(_srgb(GROUND_ALBEDO * under / white))
    return draw_mesh(np.concatenate(parts), np.concatenate(faces), np.concatenate(paints), options=VIEW, camera=camera)


def _disc(light: ModelLight, frame: int) -> tuple[Shape, csr_array]:
    """A round ground in the grid of the light, and the bilinear shares (p,g) of the grid's points in its own."""
    assert light.ground is not None
    own, axes = light.ground, axes_with(light.up)
    angle = 2 * np.pi * np.arange(SPOKES) / SPOKES
    ring = np.linspace(0, 1, RINGS)[:, None]
    u, v = (ring * np.cos(angle)).reshape(-1), (ring * np.sin(angle)).reshape(-1)
    places = own.centers[frame] + own.half * (u[:, None] * axes[0] + v[:, None] * axes[1])
    number = np.arange(RINGS * SPOKES).reshape(RINGS, SPOKES)
    inner, outer, after = number[:-1], number[1:], np.roll(number, -1, axis=1)
    quads = np.stack([inner, outer, after[1:], after[:-1]], axis=-1).reshape(-1, 4)
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]).astype(np.int32)
    columns, shares = grid_shares(np.stack([u, v], axis=1), own.resolution)
    rows = np.repeat(np.arange(len(u)), 4)
    mixed = csr_array((shares.reshape(-1), (rows, columns.reshape(-1))), shape=(len(u), own.resolution**2))
    return Shape(places, faces), mixed


def _srgb(linear: FloatArray) -> Float64:
    clipped = np.clip(linear, 0, 1)
    return np.asarray(np.where(clipped <= 0.0031308, 12.92 * clipped, 1.055 * clipped ** (1 / 2.4) - 0.055))
