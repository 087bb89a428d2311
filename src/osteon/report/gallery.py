"""The pictures of a report: bones, source and result, and the error, on light and on dark backgrounds.

Every picture is drawn for the two colour schemes of a page, as a PNG of 255 dithered colours: about a third of the size
without visible loss. Marks are not part of the picture; the page draws them on top.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from osteon.core.arrays import Float32, FloatArray, Int32
from osteon.core.parallel import available_threads
from osteon.core.sequence import MeshSequence
from osteon.deform.normals import pose_normals
from osteon.deform.pose import pose_vertices
from osteon.measure.shading import source_normals_of, stock_shown
from osteon.pipeline.skin import SkinFit
from osteon.report.advice import bone_shares
from osteon.report.picture import Image, bone_colors, heat_colors
from osteon.report.raster import Camera, DrawOptions, Paper, draw_on_papers, frame_camera
from osteon.report.views import both_sides, centering_shifts, distinct_frames, visible_vertices

UpAxis = Literal["x", "y", "z"]

LARGE = DrawOptions(width=560, height=420)
SMALL = DrawOptions(width=360, height=270)
STRIP = 4  # frames shown side by side
SIDES = ("one side", "the other side")
NEUTRAL = (0.72, 0.74, 0.78)
#: Least distance of two labels, as a fraction of the picture's width.
CLEAR = 0.05


@dataclass(frozen=True, slots=True)
class Spot:
    """A mark over a picture."""

    x: float  # 0 … 1 from the left
    y: float  # 0 … 1 from the top
    label: str
    kind: Literal["worst", "hidden", "bone"]


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture on a light and on a dark background, as data URIs."""

    light: str
    dark: str
    width: int
    height: int
    alt: str
    caption: str
    spots: tuple[Spot, ...] = ()


@dataclass(frozen=True, slots=True)
class Gallery:
    """All pictures of a report."""

    bones: tuple[Picture, ...]  # the rest pose from both sides, bones numbered
    strip: tuple[Picture, ...]  # source frames in grey, the same frames of the result in grey, then in bone colours
    heat: tuple[Picture, ...]  # error by vertex on the rest pose, from both sides
    worst: tuple[Picture, ...]  # source, result and error in the worst frame
    heat_maximum: float  # % of the body's size at the end of the scale of `heat`
    worst_maximum: float  # … and of `worst`


@dataclass(frozen=True, slots=True)
class Shot:
    """The description of a picture to draw."""

    points: FloatArray
    faces: Int32
    colors: FloatArray
    options: DrawOptions
    camera: Camera
    alt: str
    caption: str
    spots: tuple[Spot, ...] = ()
    normals: FloatArray | None = None  # (t,3,3) of the corners; None: of the surface

    def draw(self) -> Picture:
        papers: tuple[Paper, ...] = ("light", "dark")
        mesh = self.points, self.faces, self.colors
        drawn = draw_on_papers(*mesh, papers, options=self.options, camera=self.camera, normals=self.normals)
        light, dark = map(data_uri, drawn)
        return Picture(light, dark, self.options.width, self.options.height, self.alt, self.caption, self.spots)


def draw_gallery(fit: SkinFit, sequence: MeshSequence, *, up: UpAxis = "y", threads: int = 0) -> Gallery:
    """Draw all pictures of a report."""
    diagonal = max(sequence.diagonal, 1e-300)
    heat_maximum = round_up(100 * float(fit.distortion.per_vertex.max(initial=0)) / diagonal)
    worst_maximum = round_up(100 * fit.distortion.worst.distance / diagonal)
    shots = [
        _bone_shots(fit, sequence, replace(LARGE, up=up)),
        _strip_shots(fit, sequence, replace(SMALL, up=up)),
        _heat_shots(fit, sequence, replace(LARGE, up=up), heat_maximum),
        _worst_shots(fit, sequence, replace(LARGE, up=up), worst_maximum),
    ]
    drawn = draw_shots(shots, threads)
    return Gallery(drawn[0], drawn[1], drawn[2], drawn[3], heat_maximum, worst_maximum)


def draw_shots(groups: Sequence[Sequence[Shot]], threads: int = 0) -> list[tuple[Picture, ...]]:
    """Pictures, group by group."""
    with ThreadPoolExecutor(available_threads(threads)) as pool:
        return [tuple(pool.map(Shot.draw, group)) for group in groups]


def round_up(value: float) -> float:
    """Round up to two significant digits, for the end of a scale."""
    if value <= 0:
        return 1e-6
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{np.ceil(value / unit - 1e-9) * unit:.6g}")


def data_uri(image: Image) -> str:
    """A picture as a PNG data URI."""
    from PIL import Image as Canvas

    full = Canvas.fromarray(image)
    palette = full.reduce(3).quantize(255, kmeans=1)  # a ninth of the pixels suffices, in a tenth of the time
    buffer = io.BytesIO()
    full.quantize(palette=palette, dither=Canvas.Dither.FLOYDSTEINBERG).save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def _weight_colors(fit: SkinFit) -> Float32:
    """(v,3) colours of the bones mixed by weight, clipped for weights outside 0 … 1."""
    palette, skin = bone_colors(fit.model.n_bones), fit.model.skin
    mixed = np.zeros((len(skin.weights), 3), np.float32)
    for k in range(skin.n_influences):
        mixed += skin.weights[:, k, None] * palette[skin.bones[:, k]]
    return np.clip(mixed, 0, 1)


def _spot(
    point: FloatArray, camera: Camera, options: DrawOptions, label: str, kind: Literal["worst", "hidden", "bone"]
) -> Spot:
    x, y, _ = camera.project(point[None])[0]
    return Spot(float(x / options.width), float(y / options.height), label, kind)


def _bone_shots(fit: SkinFit, sequence: MeshSequence, options: DrawOptions) -> list[Shot]:
    rest, faces, colors = sequence.rest, sequence.faces, _weight_colors(fit)
    shots = []
    for view, side in zip(both_sides(rest, options), SIDES, strict=True):
        camera = frame_camera(rest, view)
        spots = _bone_spots(fit, rest, faces, camera, view)
        alt = f"The rest pose from {side}; each of {fit.model.n_bones} bones has a colour, mixed where weights mix"
        shots.append(Shot(rest, faces, colors, view, camera, alt, f"rest pose, from {side}", spots))
    return shots


def _bone_spots(fit: SkinFit, rest: Float32, faces: Int32, camera: Camera, options: DrawOptions) -> tuple[Spot, ...]:
    """Numbers of visible bones where there is room; bones with the largest share of the error come first."""
    skin, seen = fit.model.skin, visible_vertices(rest, faces, camera, options)
    strongest = np.zeros(fit.model.n_bones)
    np.maximum.at(strongest, skin.bones, skin.weights)
    core = (skin.weights >= 0.9 * strongest[skin.bones]) & (skin.weights > 0)
    spots: list[Spot] = []
    for share in bone_shares(fit.model, fit.distortion.per_vertex):
        members = np.flatnonzero((core & (skin.bones == share.bone)).any(axis=1))
        shown = members[seen[members]]
        if not len(shown):
            continue
        center = rest[members].mean(axis=0)
        place = rest[shown[np.linalg.norm(rest[shown] - center, axis=1).argmin()]]
        spot = _spot(place, camera, options, str(share.bone), "bone")
        if all(np.hypot(spot.x - s.x, (spot.y - s.y) * options.height / options.width) > CLEAR for s in spots):
            spots.append(spot)
    return tuple(spots)


def _strip_shots(fit: SkinFit, sequence: MeshSequence, options: DrawOptions) -> list[Shot]:
    """Source frames, then the result of the same frames twice, with one camera and moved to one place."""
    frames = distinct_frames(sequence, STRIP)
    shift = centering_shifts(sequence, frames, "xyz".index(options.up))
    camera = frame_camera(
        np.concatenate([sequence.frame(int(f)) + s for f, s in zip(frames, shift, strict=True)]), options
    )
    grey, shades = np.asarray(NEUTRAL), _Shades(fit, sequence)
    shots = []
    for name, paint in (("source", grey), ("result", grey), ("result by bone", _weight_colors(fit))):
        for f, s in zip(frames, shift, strict=True):
            points = sequence.frame(int(f)) if name == "source" else pose_vertices(fit.model, int(f))
            normals = shades.of_source(int(f)) if name == "source" else shades.of_result(int(f))
            caption = f"{name}, frame {f}"
            shots.append(Shot(points + s, sequence.faces, paint, options, camera, caption, caption, (), normals))
    return shots


class _Shades:
    """Normals of corners (t,3,3): the source's own, and those with which players shade the result."""

    def __init__(self, fit: SkinFit, sequence: MeshSequence) -> None:
        self.sequence, self.model, self.source = sequence, stock_shown(fit.model), source_normals_of(sequence)

    def of_source(self, frame: int) -> FloatArray | None:
        if self.sequence.asset.faceted:
            return None
        return self.source.at(self.sequence.frame(frame))[self.source.of_corner]

    def of_result(self, frame: int) -> FloatArray | None:
        own = self.model.asset.normals
        if self.model.asset.faceted:
            return None
        return pose_normals(self.model, frame)[self.model.faces if own is None else own.of_corner]


def _heat_shots(fit: SkinFit, sequence: MeshSequence, options: DrawOptions, maximum: float) -> list[Shot]:
    rest, faces = sequence.rest, sequence.faces
    error = 100 * fit.distortion.per_vertex / max(sequence.diagonal, 1e-300)
    vertex, colors = int(error.argmax()), heat_colors(error, maximum)
    views = both_sides(rest, options)
    cameras = [frame_camera(rest, view) for view in views]
    seen = [bool(visible_vertices(rest, faces, c, v)[vertex]) for c, v in zip(cameras, views, strict=True)]
    shots = []
    for i, (view, camera, side) in enumerate(zip(views, cameras, SIDES, strict=True)):
        kind: Literal["worst", "hidden"] = "worst" if seen[i] else "hidden"
        marked = seen[i] or (i == 0 and not any(seen))
        spots = (_spot(rest[vertex], camera, view, f"{error[vertex]:.2g} %", kind),) if marked else ()
        caption = f"RMS distance over all frames, % of the body’s size, from {side}"
        alt = f"RMS error of every vertex over all frames on the rest pose, from {side}; darkest at vertex {vertex}"
        shots.append(
            Shot(
                rest,
                faces,
                colors,
                view,
                camera,
                alt,
                caption,
                spots,
            )
        )
    return shots


def _worst_shots(fit: SkinFit, sequence: MeshSequence, options: DrawOptions, maximum: float) -> list[Shot]:
    """Source, result and error in the worst frame, from the side where the worst vertex is visible."""
    worst = fit.distortion.worst
    source, result = sequence.frame(worst.frame), pose_vertices(fit.model, worst.frame)
    views = both_sides(source, options)
    cameras = [frame_camera(np.concatenate([source, result]), view) for view in views]
    seen = [
        bool(visible_vertices(result, sequence.faces, c, v)[worst.vertex]) for c, v in zip(cameras, views, strict=True)
    ]
    side = int(seen[1] and not seen[0])
    view, camera = views[side], cameras[side]
    distance = 100 * np.linalg.norm(source.astype(np.float64) - result, axis=1) / max(sequence.diagonal, 1e-300)
    kind: Literal["worst", "hidden"] = "worst" if seen[side] else "hidden"
    shades = _Shades(fit, sequence)
    panels = (
        ("source", source, np.asarray(NEUTRAL), "", shades.of_source(worst.frame)),
        ("result", result, np.asarray(NEUTRAL), "", shades.of_result(worst.frame)),
        ("distance, % of the body’s size,", result, heat_colors(distance, maximum), f"{distance.max():.2g} %", None),
    )
    return [
        Shot(
            points,
            sequence.faces,
            colors,
            view,
            camera,
            f"{name} in frame {worst.frame}; the worst vertex, {worst.vertex}, is marked",
            f"{name.rstrip(',')}, frame {worst.frame}",
            (_spot(points[worst.vertex], camera, view, label, kind),),
            normals,
        )
        for name, points, colors, label, normals in panels
    ]
