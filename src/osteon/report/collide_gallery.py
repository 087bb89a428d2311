"""Pictures of interpenetration: the worst frames, with the triangles that intersect in red.

A frame is shown whole and from near. Where there are two surfaces, each is also shown without the other, which hides
most of what intersects. The view is the one of several around the up axis from which most red is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.apply.collide.interpenetration import FrameOverlap, Overlaps
from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_vertices
from osteon.report.gallery import LARGE, Picture, Shot, Spot, UpAxis, draw_shots
from osteon.report.raster import Camera, DrawOptions, draw_mesh, frame_camera

#: Colours of the first and the second surface, and of triangles that intersect.
FIRST, SECOND, RED = (0.72, 0.74, 0.78), (0.52, 0.66, 0.80), (0.84, 0.12, 0.12)
#: Frames that are drawn, and the least distance of two in frames, where there are enough.
DRAWN, APART = 4, 3
#: Views that are tried: degrees about the up axis and above the horizon.
AZIMUTHS, ELEVATIONS = range(-170, 190, 40), (14.0, 50.0)
#: Pixels of a tried view, and how much more red a view from above must show.
TRIED, ABOVE = (140, 105), 1.3
#: Radius of what a close picture shows: of a quarter of the triangles in red, times ROOM, within these, in diagonals.
NEAR, FAR, ROOM = 0.05, 0.14, 1.6


@dataclass(frozen=True, slots=True)
class OverlapRow:
    """The pictures of a frame."""

    overlap: FrameOverlap
    pictures: tuple[Picture, ...]


@dataclass(frozen=True, slots=True)
class _Surfaces:
    """Both surfaces in a frame; of one with itself the second is empty."""

    points: Float64
    faces: Int32
    colors: Float32  # (t,3)
    red: Int32  # triangles
    n_first: int  # triangles of the first surface

    def of(self, number: int) -> tuple[Int32, Float32]:
        """The triangles of a surface and their colours; -1: of both."""
        part = (slice(None), slice(0, self.n_first), slice(self.n_first, None))[number + 1]
        return self.faces[part], self.colors[part]


def worst_frames(found: Overlaps, count: int = DRAWN) -> list[FrameOverlap]:
    """The deepest frames that are not next to one another; if these are too few, the next deepest ones."""
    deepest = sorted(found.found, key=lambda one: (-one.depth, one.frame))
    chosen: list[FrameOverlap] = []
    for apart in (APART, 1):
        for one in deepest:
            if len(chosen) < count and all(abs(one.frame - other.frame) >= apart for other in chosen):
                chosen.append(one)
    return sorted(chosen, key=lambda one: -one.depth)


def draw_overlaps(
    found: Overlaps, models: Sequence[SkinnedModel], *, up: UpAxis = "y", threads: int = 0
) -> list[OverlapRow]:
    """The worst frames, the deepest first."""
    worst = worst_frames(found)
    shots = [_shots(one, found, models, up) for one in worst]
    return [OverlapRow(one, drawn) for one, drawn in zip(worst, draw_shots(shots, threads), strict=True)]


def _surfaces(overlap: FrameOverlap, models: Sequence[SkinnedModel]) -> _Surfaces:
    first, itself = models[0], len(models) == 1
    red = np.union1d(overlap.triangles, overlap.others) if itself else overlap.triangles
    points, faces = pose_vertices(first, overlap.frame).astype(np.float64), first.faces
    colors = np.tile(np.array(FIRST, np.float32), (len(faces), 1))
    if not itself:
        second = models[1]
        there = pose_vertices(second, overlap.frame if second.n_frames > 1 else 0).astype(np.float64)
        red = np.concatenate([red, overlap.others + len(faces)])
        colors = np.concatenate([colors, np.tile(np.array(SECOND, np.float32), (len(second.faces), 1))])
        faces = np.concatenate([faces, second.faces + len(points)])
        points = np.concatenate([points, there])
    colors[red] = RED
    return _Surfaces(points, faces.astype(np.int32), colors, red.astype(np.int32), len(first.faces))


def _shots(overlap: FrameOverlap, found: Overlaps, models: Sequence[SkinnedModel], up: UpAxis) -> list[Shot]:
    shown = _surfaces(overlap, models)
    view = best_view(shown.points, shown.faces, shown.red, replace(LARGE, up=up))
    whole = frame_camera(shown.points, view)
    deepest = overlap.contacts.points[int(overlap.contacts.depths.argmax())].astype(np.float64)
    close = _near(shown, deepest, found.diagonal, view)
    frame = f"frame {overlap.frame}"
    alt = f"{frame}: {len(overlap.contacts)} pairs of triangles intersect, in red"
    spots = (_spot(deepest, whole, view),)
    shots = [Shot(shown.points, *shown.of(-1), view, whole, alt, frame, spots)]
    if len(models) == 1:
        return [*shots, Shot(shown.points, *shown.of(-1), view, close, f"{alt}, from near", f"{frame}, from near")]
    for number, name in enumerate("AB"):
        caption = f"{frame}, from near, {name} alone"
        own = replace(view, shadow=False)
        shots.append(Shot(shown.points, *shown.of(number), own, close, f"{alt}; {name} alone", caption))
    return shots


def best_view(points: Float64, faces: Int32, red: Int32, options: DrawOptions) -> DrawOptions:
    """The view around the up axis from which most red is seen; from above only if that shows much more."""
    paint = np.zeros((len(faces), 3), np.uint8)
    paint[red] = (255, 0, 0)
    best, most = options, -1.0
    for elevation in ELEVATIONS:
        for azimuth in AZIMUTHS:
            view = replace(options, azimuth=float(azimuth), elevation=elevation)
            tried = replace(view, width=TRIED[0], height=TRIED[1], samples=1, shading="none", shadow=False)
            tried = replace(tried, color_per="triangle")
            image = draw_mesh(points, faces, paint, options=tried).astype(np.int64)
            seen = float((image[..., 0] - image[..., 1:].max(axis=-1) > 128).sum())
            seen /= ABOVE if elevation > ELEVATIONS[0] else 1.0
            if seen > most:
                best, most = view, seen
    return best


def _near(shown: _Surfaces, deepest: Float64, diagonal: float, view: DrawOptions) -> Camera:
    """A camera for the surroundings of the deepest pair."""
    corners = shown.points[shown.faces[shown.red]].reshape(-1, 3)
    distances = np.linalg.norm(corners - deepest, axis=1)
    radius = float(np.clip(ROOM * np.quantile(distances, 0.25), NEAR * diagonal, FAR * diagonal))
    box = deepest + radius * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return frame_camera(box, view)


def _spot(point: Float64, camera: Camera, view: DrawOptions) -> Spot:
    x, y, _ = camera.project(point[None])[0]
    return Spot(float(x / view.width), float(y / view.height), "deepest", "worst")
