"""Pictures of meshes for figures: views, colours of bones and weights, and drawing in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int32
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.papers.entries import Panels
from osteon.report.gallery import Picture, Shot, data_uri, draw_shots
from osteon.report.picture import OUTLIER_COLOR, HeatScale, bone_colors
from osteon.report.raster import Camera, DrawOptions, Image, Paper, draw_on_papers, frame_camera
from osteon.report.stick_overlay import draw_segments

#: A panel of a figure.
PANEL = DrawOptions(width=420, height=320)
#: sRGB of bodies, of simulated flesh, and of what replaces it.
CLAY, FLESH, GREEN = (0.72, 0.74, 0.78), (0.85, 0.68, 0.58), (0.45, 0.72, 0.52)


def shot(
    points: FloatArray,
    faces: Int32,
    colors: object,
    caption: str,
    *,
    options: DrawOptions = PANEL,
    camera: Camera | None = None,
) -> Shot:
    """The description of one panel; `colors` is one, or one per vertex or triangle. Without a camera it fills it."""
    paint = np.asarray(colors, np.float64)
    paint = np.tile(paint, (len(points), 1)) if paint.ndim == 1 else np.clip(paint, 0, 1)
    seen = camera or frame_camera(points, options)
    return Shot(np.asarray(points, np.float64), faces, paint, options, seen, caption.split("\n")[0], caption)


def panels(
    shots: Sequence[Shot], columns: int = 0, *, title: str = "", scale: HeatScale | None = None, threads: int = 0
) -> Panels:
    """The drawn panels, in rows of `columns`, or all in one row."""
    pictures: tuple[Picture, ...] = draw_shots([shots], threads)[0]
    return Panels(pictures, columns or len(pictures), scale, title)


def hand_view(options: DrawOptions = PANEL) -> DrawOptions:
    """The view of the built-in hand: from the palm's side, a little from above."""
    return replace(options, azimuth=35.0, elevation=20.0)


def core_colors(labels: Int32) -> Float32:
    """(t,3) the colour of each core triangle's bone; outliers are black."""
    n_bones = int(labels.max(initial=-1)) + 1
    palette = np.concatenate([bone_colors(n_bones), np.array([OUTLIER_COLOR], np.float32)])
    colors: Float32 = palette[labels]  # -1 is the last
    return colors


def weight_colors(model: SkinnedModel) -> Float64:
    """(v,3) colours of the bones mixed by weight; outside 0 … 1, and clipped later, where weights are."""
    mixed: Float64 = model.skin.dense(model.n_bones).astype(np.float64) @ bone_colors(model.n_bones)
    return mixed


def common_camera(sequence: MeshSequence, frames: Sequence[int], options: DrawOptions = PANEL) -> Camera:
    """One camera for several frames of a sequence."""
    return frame_camera(np.concatenate([sequence.frame(f) for f in frames]), options)


#: sRGB of lines over a picture, and their width in pixels.
INK, LINE = (28, 30, 36), 1.2


def edged(one: Shot, segments: Float64) -> Picture:
    """The drawn shot with line segments (n,2,3) of the world on top."""
    return overlaid(one, lambda image, camera: draw_segments(image, segments, camera, INK, LINE))


def overlaid(one: Shot, draw: Callable[[Image, Camera], Image]) -> Picture:
    """The shot with something drawn over it, on both backgrounds."""
    papers: tuple[Paper, ...] = ("light", "dark")
    drawn = draw_on_papers(one.points, one.faces, one.colors, papers, options=one.options, camera=one.camera)
    light, dark = (data_uri(draw(image, one.camera)) for image in drawn)
    return Picture(light, dark, one.options.width, one.options.height, one.alt, one.caption)
