"""Overlays on a picture of a mesh: bones and the edges of triangles, anti-aliased."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import FloatArray, Int32
from osteon.report.raster import Camera, Image

#: Supersampling factor of the overlay.
FINE = 4


@dataclass(frozen=True, slots=True)
class BoneStyle:
    """Style of drawn bones."""

    colors: FloatArray | None = None  # (b,3) their fills, sRGB in 0 … 1; None: near white
    size: float = 1.0  # thickness relative to the default
    strength: float = 1.0  # opacity, 0 … 1


PLAIN = BoneStyle()


def draw_bones(image: Image, joints: FloatArray, bones: Int32, camera: Camera, *, style: BoneStyle = PLAIN) -> Image:
    """The picture with bones on top, including hidden ones: pointed from joint A to B, joints as dots."""
    fills = np.full((len(bones), 3), 0.97) if style.colors is None else np.asarray(style.colors)
    layer, draw = _layer(image)
    flat = camera.project(joints) * (FINE, FINE, 1)
    width = 0.011 * style.size * FINE * (image.shape[0] + image.shape[1])
    dark = (25, 27, 33, 255)
    for b in np.argsort(flat[bones][:, :, 2].mean(axis=1)):  # far bones first
        start, stop = flat[bones[b], :2]
        along = stop - start
        aside = np.array([-along[1], along[0]]) * (0.5 * width / max(float(np.linalg.norm(along)), 1e-9))
        kite = [tuple(p) for p in (start, start + 0.16 * along + aside, stop, start + 0.16 * along - aside)]
        draw.polygon(kite, fill=(*(round(255 * float(c)) for c in fills[b]), 255))
        draw.line([*kite, kite[0]], fill=dark, width=round(0.35 * FINE * 3), joint="curve")
    radius = 0.30 * width
    for x, y in flat[np.argsort(flat[:, 2]), :2]:
        draw.ellipse(
            [x - radius, y - radius, x + radius, y + radius], fill="white", outline=dark, width=round(0.9 * FINE)
        )
    return _merged(image, layer, style.strength)


def draw_edges(
    image: Image, points: FloatArray, faces: Int32, camera: Camera, *, seen: NDArray[np.bool_] | None = None
) -> Image:
    """The picture with thin edges of all triangles and slightly thicker boundary edges.

    With `seen (v,)` only edges between visible vertices.
    """
    sides = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    edges, count = np.unique(sides, axis=0, return_counts=True)
    if seen is not None:
        shown = seen[edges].all(axis=1)
        edges, count = edges[shown], count[shown]
    flat = camera.project(points)[:, :2] * FINE
    layer, draw = _layer(image)
    for edge, n in zip(edges, count, strict=True):
        color, width = ((30, 26, 24, 235), 1.3) if n == 1 else ((30, 26, 24, 90), 0.6)
        draw.line([tuple(p) for p in flat[edge]], fill=color, width=round(width * FINE))
    return _merged(image, layer, 1.0)


def draw_segments(
    image: Image, segments: FloatArray, camera: Camera, color: tuple[int, int, int], width: float
) -> Image:
    """The picture with line segments (n,2,3) of the world on top, `width` pixels wide, including hidden ones."""
    layer, draw = _layer(image)
    flat = camera.project(np.asarray(segments).reshape(-1, 3))[:, :2].reshape(-1, 2, 2) * FINE
    for start, stop in flat:
        draw.line([tuple(start), tuple(stop)], fill=(*color, 235), width=round(width * FINE))
    return _merged(image, layer, 1.0)


def _layer(image: Image) -> tuple[Any, Any]:
    """A transparent canvas, `FINE` times as large as the picture, and its drawing context."""
    from PIL import Image as Canvas
    from PIL import ImageDraw

    layer = Canvas.new("RGBA", (FINE * image.shape[1], FINE * image.shape[0]), (255, 255, 255, 0))
    return layer, ImageDraw.Draw(layer)


def _merged(image: Image, layer: Any, strength: float) -> Image:
    """The picture blended with the averaged overlay."""
    above = np.asarray(layer.reduce(FINE), np.float64)
    alpha = strength * above[..., 3:] / 255
    return np.asarray(np.round(image * (1 - alpha) + above[..., :3] * alpha), np.uint8)
