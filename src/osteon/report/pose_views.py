"""Where pictures of a posed mesh are taken from: rest pose and pose at one scale, joints with nothing before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from osteon.core.arrays import Float64, Int32, checked, checked_indices
from osteon.core.errors import GeometryError, OptionError
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import is_flat
from osteon.report.raster import Camera, DrawOptions, Image, draw_mesh, frame_camera
from osteon.report.stick_overlay import BoneStyle, draw_bones, draw_edges
from osteon.report.views import both_sides, visible_vertices

__all__ = ["PoseSubject", "PoseView", "Region", "clear_view", "shared_views"]

#: Degrees by which a view may be turned to see a joint.
TURNS = (0, 25, -25, 50, -50, 80, -80, 115, -115, 150, -150, 180)
#: Turning all the way round must show this much more of what matters.
WORTH = 0.25


@dataclass(frozen=True, slots=True)
class PoseSubject:
    """What is posed."""

    rest: Float64  # (v,3)
    faces: Int32  # (t,3)
    skeleton: StickSkeleton
    segments: Int32 | None = None  # (t,) controlling bone of each triangle, -1 for none; None leaves the panel out

    def __post_init__(self) -> None:
        object.__setattr__(self, "rest", checked("rest", self.rest, (None, 3), np.float64))
        object.__setattr__(self, "faces", checked_indices("faces", self.faces, (None, 3), len(self.rest)))
        if not len(self.faces):
            raise GeometryError("faces: there are no triangles to draw")
        if self.segments is not None and np.shape(self.segments) != (len(self.faces),):
            raise GeometryError(f"segments: expected ({len(self.faces)},), got {np.shape(self.segments)}")

    @property
    def is_flat(self) -> bool:
        """Whether it is a 2D subject."""
        return is_flat(self.rest)


@dataclass(frozen=True, slots=True)
class Region:
    """What a view should show: the vertices around a point."""

    points: Float64  # (v,3) of the whole mesh
    center: Float64  # (3,)
    radius: float


@dataclass(frozen=True, slots=True)
class PoseView:
    """A camera with what all pictures it takes have in common."""

    subject: PoseSubject
    camera: Camera
    options: DrawOptions

    def draw(self, points: Float64, colors: ArrayLike) -> Image:
        """The mesh, one colour or one a triangle."""
        image = draw_mesh(points, self.subject.faces, colors, options=self.options, camera=self.camera)
        return draw_edges(image, points, self.subject.faces, self.camera) if self.subject.is_flat else image

    def with_bones(self, image: Image, joints: Float64, style: BoneStyle) -> Image:
        return draw_bones(image, joints, self.subject.skeleton.bones, self.camera, style=style)

    def near(self, point: Float64, radius: float) -> PoseView:
        """The same view magnified about a point."""
        at, aside = self.camera.project(np.stack([point, point + radius * self.camera.axes[0]]))[:, :2]
        size = np.array([self.options.width, round(0.8 * self.options.width)])
        factor = 0.5 * size.min() / max(float(np.linalg.norm(aside - at)), 1e-9)
        shift = size / 2 - factor * (at - self.camera.shift)
        camera = replace(self.camera, zoom=factor * self.camera.zoom, shift=(float(shift[0]), float(shift[1])))
        return PoseView(self.subject, camera, replace(self.options, height=int(size[1]), shadow=False))

    def zoomed_out(self, zoom: float) -> PoseView:
        """The same view with at most `zoom` pixels a unit, about the middle of the picture."""
        factor = min(1.0, zoom / self.camera.zoom)
        middle = np.array([self.options.width, self.options.height]) / 2
        shift = middle - factor * (middle - self.camera.shift)
        camera = replace(self.camera, zoom=factor * self.camera.zoom, shift=(float(shift[0]), float(shift[1])))
        return replace(self, camera=camera)


def shared_views(
    subject: PoseSubject, posed: Float64, view: DrawOptions, height: int | Literal["auto"]
) -> tuple[PoseView, PoseView]:
    """Views of the rest pose and of all points `posed` (n,3), with panels of one size, at one scale, from one side."""
    if subject.is_flat:
        flat: dict[str, Any] = {"azimuth": 0.0, "elevation": 0.0, "up": "y", "projection": "orthographic"}
        view = replace(view, **flat, shading="none", shadow=False)
    elif view.azimuth == "auto":  # decided once, by the rest pose: a pose may be long where the rest pose is wide
        view = both_sides(subject.rest, view)[0]
    clouds = [np.concatenate([subject.rest, subject.skeleton.joints]), posed]
    view = replace(view, height=_height(clouds, view) if height == "auto" else height)
    views = [PoseView(subject, frame_camera(cloud, view), view) for cloud in clouds]
    zoom = min(v.camera.zoom for v in views)
    return views[0].zoomed_out(zoom), views[1].zoomed_out(zoom)


def _height(clouds: Sequence[Float64], view: DrawOptions) -> int:
    """The height at which the width is filled, between three quarters and one and a half of the width."""
    square = replace(view, height=view.width)
    width, height = 1e-9, 0.0
    for cloud in clouds:
        camera = frame_camera(cloud, square)
        spread = np.ptp(camera.project(cloud)[:, :2], axis=0) / camera.zoom
        width, height = max(width, float(spread[0])), max(height, float(spread[1]))
    return round(view.width * float(np.clip(height / width, 0.75, 1.5)))


def clear_view(view: DrawOptions, faces: Int32, regions: Sequence[Region]) -> DrawOptions:
    """The view turned so that the regions show best; as little as that needs."""
    if isinstance(view.azimuth, str):
        raise OptionError("view: its azimuth must be known before it is turned")
    small = replace(view, width=240, height=240)
    best, found = view.azimuth, -np.inf
    for turn in TURNS:
        trial = replace(small, azimuth=view.azimuth + turn)
        score = -abs(turn) / 180 * WORTH
        for region in regions:
            near = np.linalg.norm(region.points - region.center, axis=1) < region.radius
            seen = visible_vertices(region.points, faces, frame_camera(region.points, trial), trial)
            score += float(seen[near].mean()) / len(regions) if near.any() else 0.0
        if score > found + 1e-9:
            best, found = view.azimuth + turn, score
    return replace(view, azimuth=best)
