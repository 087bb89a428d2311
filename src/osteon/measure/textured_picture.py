"""Pictures of a model with its textures, as a player shows it: to compare a model with a simpler one.

A camera looks at the body from far away. Every sample takes the colour of its texture (or of its material and vertex
colours), lit by a key light and the sky with the model's own normals; a pixel is the mean of SAMPLES x SAMPLES samples
in linear light. The mipmap follows from the larger side of a pixel in the texture, as graphics cards choose it.

    colour = texture(uv) tint (SKY (1 + n_y) / 2 + GROUND (1 - n_y) / 2 + SUN max(0, n . key))

Normal maps, metal, transparency and emission are omitted: they follow the same texture coordinates and normals.

Notes. Soldier, 11,376 triangles, 400 pixels: 20 ms per picture on one core, FLIP 4 to 7 ms more. 95th percentiles of
FLIP of the levels for 400, 200 and 100 pixels, here and in three.js, in other frames: CesiumMan .066 and .068, .074 and
.078, .076 and .080; Soldier .083 and .082, .065 and .065, .083 and .096. With a light of which a third came from all
sides, three.js had up to .033 more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Bool, Float32, Float64, Int32, Int64
from osteon.core.kernels import compiled_by, part
from osteon.core.mesh import Image
from osteon.core.model import SkinnedModel
from osteon.deform.normals import pose_normals
from osteon.deform.pose import pose_vertices
from osteon.measure.flip import srgb_from_linear
from osteon.measure.scan_conversion import scan_triangles
from osteon.measure.texture import Textures

#: Samples of a pixel along each side.
SAMPLES = 2
#: Grey of the background, sRGB.
BACKGROUND = 0.5
#: Direction to the key light, to the right, upwards and towards the camera; what it gives a surface that faces it, and
#: what the sky and the ground give: as three.js has them with a sun of 2.5 and a sky of 1.
KEY_LIGHT = (-0.5, 0.8, 0.6)
SUN, SKY, GROUND = 0.8, 0.32, 0.05


@dataclass(frozen=True, slots=True)
class Paint:
    """Textures and colours of the triangles of a model, in all poses."""

    uvs: Float32  # (t,3,2) of the texture that a triangle has
    texture: Int32  # (t,) its number, -1: none
    tints: Float32  # (t,3,3) linear colour of every corner: of the material times that of the vertex
    textures: Textures

    @staticmethod
    def of(model: SkinnedModel, textures: Textures | None = None) -> Paint:
        """The paint of a model; `textures` are those of another one with the same materials."""
        asset, count = model.asset, len(model.faces)
        of_triangle = np.zeros(count, np.int32) if asset.triangle_material is None else asset.triangle_material
        uvs, texture = np.zeros((count, 3, 2), np.float32), np.full(count, -1, np.int32)
        tints = np.full((count, 3, 3), 0.8, np.float32)
        images: list[Image] = []
        for number, material in enumerate(asset.materials):
            here = np.flatnonzero(of_triangle == number)
            tints[here] = np.asarray(material.base_color[:3], np.float32)
            image, sets = material.texture("base_color"), asset.all_uvs
            if image is not None and material.uv_set("base_color") < len(sets):
                texture[here], uvs[here] = len(images), sets[material.uv_set("base_color")][here]
                images.append(image)
        if asset.colors is not None:
            tints = tints * asset.colors[model.faces][..., :3]
        return Paint(uvs, texture, np.ascontiguousarray(tints), textures or Textures.of(images))


@dataclass(frozen=True, slots=True)
class FarCamera:
    """A camera far away, which looks along -axes[2]."""

    axes: Float64  # (3,3) to the right, upwards and towards the camera
    middle: Float64  # (3,) of the picture
    zoom: float  # pixels per unit
    width: int
    height: int

    def samples(self, points: Float64) -> Float64:
        """(v,3) column and row in samples, and nearness."""
        seen = (points - self.middle) @ self.axes.T
        scale = SAMPLES * self.zoom
        return np.stack(
            [
                seen[:, 0] * scale + 0.5 * SAMPLES * self.width,
                0.5 * SAMPLES * self.height - seen[:, 1] * scale,
                seen[:, 2],
            ],
            axis=1,
        )

    @staticmethod
    def around(points: Float64, axes: Float64, zoom: float, margin: int) -> FarCamera:
        """The smallest picture of points (v,3) with a margin in pixels."""
        seen = points @ axes.T
        low, high = seen.min(axis=0), seen.max(axis=0)
        width, height = (int(np.ceil(zoom * float(extent))) + 2 * margin for extent in (high - low)[:2])
        return FarCamera(axes, (low + high) / 2 @ axes, zoom, width, height)


def view_axes(count: int, up: int = 1) -> Float64:
    """(n,3,3) axes of cameras around a body, by turns slightly above and below its middle; `up` is its upward axis."""
    turned = np.roll(np.eye(3), up - 1, axis=0)  # rows: right, up and towards the camera
    found = []
    for number in range(count):
        angle, rise = 2 * np.pi * (number + 0.5) / count, np.radians(15.0 if number % 2 else -5.0)
        back = np.array([np.sin(angle) * np.cos(rise), np.sin(rise), np.cos(angle) * np.cos(rise)])
        right = np.array([np.cos(angle), 0.0, -np.sin(angle)])
        found.append(np.stack([right, np.cross(back, right), back]) @ turned)
    return np.stack(found)


@dataclass(frozen=True, slots=True)
class PosedSurface:
    """A model in one pose, with its paint."""

    points: Float64  # (v,3)
    faces: Int32  # (t,3)
    normals: Float32  # (n,3)
    normal_corners: Int32  # (t,3)
    paint: Paint

    @staticmethod
    def of(model: SkinnedModel, frame: int, paint: Paint) -> PosedSurface:
        """A model in a frame of its animation."""
        own, points = model.asset.normals, pose_vertices(model, frame).astype(np.float64)
        if model.asset.faceted:
            a, b, c = (points[model.faces[:, e]] for e in range(3))
            triangles = np.repeat(np.arange(len(model.faces), dtype=np.int32)[:, None], 3, axis=1)
            return PosedSurface(points, model.faces, np.cross(b - a, c - a).astype(np.float32), triangles, paint)
        corners = model.faces if own is None else own.of_corner
        return PosedSurface(points, model.faces, pose_normals(model, frame), corners, paint)


def draw_textured(surface: PosedSurface, camera: FarCamera, background: float = BACKGROUND) -> tuple[Float32, Bool]:
    """A picture (h,w,3), sRGB in 0 … 1 on grey, and the pixels that the body covers."""
    flat = camera.samples(surface.points)
    hit, weights = scan_triangles(flat, surface.faces, (SAMPLES * camera.height, SAMPLES * camera.width))
    normals = (surface.normals @ camera.axes.T.astype(np.float32))[surface.normal_corners]
    key = np.asarray(KEY_LIGHT, np.float32) / np.float32(np.linalg.norm(KEY_LIGHT))
    colors = np.empty((*hit.shape, 3), np.float32)
    colors[:] = float(((background + 0.055) / 1.055) ** 2.4)
    paint = surface.paint
    sizes = _pixels_in_texture(flat[surface.faces][..., :2], paint.uvs)
    _shade(
        *(hit, weights, np.ascontiguousarray(normals), paint.uvs, paint.texture, paint.tints, sizes),
        *(paint.textures.texels, paint.textures.levels, key, np.empty(3), colors),
    )
    parts = [(slice(y, None, SAMPLES), slice(x, None, SAMPLES)) for y in range(SAMPLES) for x in range(SAMPLES)]
    mean: Float32 = np.sum([colors[part] for part in parts], axis=0) / np.float32(SAMPLES**2)
    covered: Bool = np.any([hit[part] >= 0 for part in parts], axis=0)
    return srgb_from_linear(mean), covered


def _pixels_in_texture(corners: Float64, uvs: Float32) -> Float32:
    """(t,2,2) change of the texture coordinates for a step of one pixel to the right and down, as parts of the texture.

    Corners (t,3,2) are in samples; a triangle without area in the picture gets zeros.
    """
    one, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]
    scale = SAMPLES / np.where(area == 0, np.inf, area)
    rise, further = (uvs[:, i].astype(np.float64) - uvs[:, 0] for i in (1, 2))
    right = (rise * other[:, 1:] - further * one[:, 1:]) * scale[:, None]
    down = (further * one[:, :1] - rise * other[:, :1]) * scale[:, None]
    return np.stack([right, down], axis=1).astype(np.float32)


@part
def _add_texel(
    texels: Float32, start: int, width: int, height: int, u: float, v: float, share: float, out: Float64
) -> None:
    """out (3,) += share times the colour of a mipmap at u, v, bilinearly; it repeats."""
    x, y = u * width - 0.5, (1.0 - v) * height - 0.5
    left, top = int(np.floor(x)), int(np.floor(y))
    p, q = x - left, y - top
    a, b = left % width, (left + 1) % width
    above, below = start + (top % height) * width, start + ((top + 1) % height) * width
    for c in range(3):
        upper = (1.0 - p) * texels[above + a, c] + p * texels[above + b, c]
        lower = (1.0 - p) * texels[below + a, c] + p * texels[below + b, c]
        out[c] += share * ((1.0 - q) * upper + q * lower)


@compiled_by({"_nrt": False}, "i4.2r f4.3r f4.3r f4.3r i4.1r f4.3r f4.3r f4.2r i8.3r f4.1r f8.1 f4.3")
def _shade(
    hit: Int32,
    weights: Float32,
    normals: Float32,
    uvs: Float32,
    texture: Int32,
    tints: Float32,
    sizes: Float32,
    texels: Float32,
    levels: Int64,
    key: Float32,
    texel: Float64,
    out: Float32,
) -> None:
    """Colours of all samples that show a triangle; `texel` (3,) is scratch memory."""
    for y in range(hit.shape[0]):
        for x in range(hit.shape[1]):
            t = hit[y, x]
            if t < 0:
                continue
            a, b, c = weights[y, x, 0], weights[y, x, 1], weights[y, x, 2]
            nx = a * normals[t, 0, 0] + b * normals[t, 1, 0] + c * normals[t, 2, 0]
            ny = a * normals[t, 0, 1] + b * normals[t, 1, 1] + c * normals[t, 2, 1]
            nz = a * normals[t, 0, 2] + b * normals[t, 1, 2] + c * normals[t, 2, 2]
            length = np.sqrt(nx * nx + ny * ny + nz * nz)
            facing = (nx * key[0] + ny * key[1] + nz * key[2]) / length if length > 0 else 0.0
            facing = -facing if nz < 0 else facing
            upward = ny / length if length > 0 else 0.0
            upward = -upward if nz < 0 else upward
            light = 0.5 * (SKY + GROUND) + 0.5 * (SKY - GROUND) * upward + SUN * max(0.0, facing)
            m, level, between = texture[t], 0, 0.0
            u = a * uvs[t, 0, 0] + b * uvs[t, 1, 0] + c * uvs[t, 2, 0]
            v = a * uvs[t, 0, 1] + b * uvs[t, 1, 1] + c * uvs[t, 2, 1]
            if m >= 0:
                width, height = levels[m, 0, 1], levels[m, 0, 2]
                right = (sizes[t, 0, 0] * width) ** 2 + (sizes[t, 0, 1] * height) ** 2
                down = (sizes[t, 1, 0] * width) ** 2 + (sizes[t, 1, 1] * height) ** 2
                wanted = min(max(0.5 * np.log2(max(right, down, 1e-12)), 0.0), levels.shape[1] - 1.0)
                level = int(wanted)
                between = wanted - level
                texel[:] = 0.0
                w, h = levels[m, level, 1], levels[m, level, 2]
                _add_texel(texels, levels[m, level, 0], w, h, u, v, 1.0 - between, texel)
                if between > 0:
                    w, h = levels[m, level + 1, 1], levels[m, level + 1, 2]
                    _add_texel(texels, levels[m, level + 1, 0], w, h, u, v, between, texel)
            else:
                texel[:] = 1.0
            for i in range(3):
                color = a * tints[t, 0, i] + b * tints[t, 1, i] + c * tints[t, 2, i]
                out[y, x, i] = color * texel[i] * light
