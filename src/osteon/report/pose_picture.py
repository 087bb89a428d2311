"""Pictures of a posed mesh: the skeleton at rest, segments by bone, and the pose and distortion of each method.

One column for the rest pose and one per method; rows: the mesh, the distortion of its triangles, and optionally a
close-up at a joint. All methods share one camera and one scale, so that columns can be compared. A mesh with constant z
is drawn flat, with the edges of its triangles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from osteon.core.arrays import Float64, FloatArray, Int32, checked, checked_indices
from osteon.core.errors import GeometryError, OptionError
from osteon.core.sticks import StickSkeleton
from osteon.core.topology import bounding_diagonal, is_flat
from osteon.measure.strain import flipped, triangle_distortion
from osteon.report.page_parts import number
from osteon.report.picture import HeatScale, PanelOptions, bone_colors, draw_heat_scale, heat_colors, panel_grid
from osteon.report.raster import Camera, DrawOptions, Image, draw_mesh, frame_camera
from osteon.report.stick_overlay import BoneStyle, draw_bones, draw_edges
from osteon.report.views import both_sides, visible_vertices

Measure = Literal["area", "angle", "strain"]
Cell = tuple[Image, str]  # a picture and its caption

SKIN = (0.86, 0.70, 0.54)  # of a mesh without colours
PALE = (0.88, 0.87, 0.85)  # of a mesh behind its skeleton
VIEW = DrawOptions(elevation=10.0)
#: Name, unit and factor to that unit of each measure.
MEASURES: dict[Measure, tuple[str, str, float]] = {
    "area": ("area change", "%", 100.0),
    "angle": ("angle change", "degrees", 180 / np.pi),
    "strain": ("strain", "", 1.0),
}
#: Percentile of all triangles of all methods at which the scale ends, so that outliers do not determine it.
SCALE_END = 99.0


@dataclass(frozen=True, slots=True)
class PosedMesh:
    """The result of one method for a pose."""

    name: str
    vertices: Float64  # (v,3)
    ideal: Float64 | None = None  # (t,3,4) prescribed transforms of the triangles, which help to detect flipped ones


@dataclass(frozen=True, slots=True)
class PosePictureOptions:
    """Layout and view of the picture."""

    width: int = 400  # pixels of a panel
    height: int | Literal["auto"] = "auto"  # pixels of a panel; auto: from the shape of the subject
    measure: Measure = "strain"
    closeup: str = ""  # name of the joint to show from near; "": no such row
    radius: float = 0.0  # of the close-up, in units of the mesh; 0: three quarters of its longest bone
    view: DrawOptions = VIEW  # direction, up axis and background of a 3D subject
    title: str = ""

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise OptionError(f"measure: expected one of {', '.join(MEASURES)}, got '{self.measure}'")
        if self.width < 120 or (self.height != "auto" and self.height < 120) or self.radius < 0:
            raise OptionError("width, height: expected at least 120 pixels; radius: expected 0 or more")


def pose_picture(
    subject: PoseSubject,
    posed: Sequence[PosedMesh],
    joints: FloatArray,
    *,
    options: PosePictureOptions | None = None,
) -> Image:
    """A grid of panels for one pose; `joints` (j,3) are the posed joints. The first method is the main one."""
    options = options or PosePictureOptions()
    if not posed:
        raise OptionError("posed: expected at least one posed mesh")
    moved: Float64 = checked("joints", joints, subject.skeleton.joints.shape, np.float64)
    seen = np.concatenate([*(mesh.vertices for mesh in posed), moved])
    views = shared_views(subject, seen, replace(options.view, width=options.width), options.height)
    panel = PanelOptions(background=options.view.background, text_size=16)
    heat, scale = _heat_row(subject, posed, views, options)
    rows = [_mesh_row(subject, posed, moved, views), heat]
    if options.closeup:
        rows.append(_closeup_row(subject, posed, moved, views, options))
    bar = draw_heat_scale(scale, views[0].options.height, options=panel)
    blank = np.broadcast_to(bar[:1, :1], (1, bar.shape[1], 3))  # paper
    cells = [cell for row in rows for cell in (*row, (bar if row is heat else blank, ""))]
    images, captions = [c[0] for c in cells], [c[1] for c in cells]
    return panel_grid(images, captions, columns=2 + len(posed), title=options.title, options=panel)


def _mesh_row(
    subject: PoseSubject, posed: Sequence[PosedMesh], joints: Float64, views: tuple[PoseView, PoseView]
) -> list[Cell]:
    """The skeleton at rest, and the pose of each method."""
    skeleton, (rest_view, pose_view) = subject.skeleton, views
    colored = BoneStyle(colors=bone_colors(skeleton.n_bones))
    image = rest_view.with_bones(rest_view.draw(subject.rest, PALE), skeleton.joints, colored)
    bones = "1 bone" if skeleton.n_bones == 1 else f"{skeleton.n_bones} bones"
    cells = [(image, f"rest pose\n{bones}, {len(subject.rest):,} vertices")]
    for mesh in posed:
        image = pose_view.with_bones(pose_view.draw(mesh.vertices, SKIN), joints, BoneStyle(strength=0.55))
        cells.append((image, f"pose, {mesh.name}"))
    return cells


def _segments_cell(subject: PoseSubject, view: PoseView) -> Cell:
    """Triangles in the colours of their bones, or plain without segments."""
    if subject.segments is None:
        return view.draw(subject.rest, SKIN), "rest pose"
    used = np.unique(subject.segments[subject.segments >= 0])
    colors = np.where(
        (subject.segments >= 0)[:, None], bone_colors(subject.skeleton.n_bones)[subject.segments], np.asarray(PALE)
    )
    image = view.with_bones(view.draw(subject.rest, colors), subject.skeleton.joints, BoneStyle(size=0.55))
    return image, f"segments\n{len(used)} of {subject.skeleton.n_bones} bones control triangles"


def _heat_row(
    subject: PoseSubject, posed: Sequence[PosedMesh], views: tuple[PoseView, PoseView], options: PosePictureOptions
) -> tuple[list[Cell], HeatScale]:
    """Segments, each method's distortion with its numbers, and the scale of all of them."""
    label, unit, factor = MEASURES[options.measure]
    sign = f" {unit}" if unit else ""
    found = [triangle_distortion(subject.rest, mesh.vertices, subject.faces) for mesh in posed]
    values = [factor * np.asarray(getattr(f, options.measure)) for f in found]
    end = float(np.percentile(np.concatenate(values), SCALE_END))
    scale = HeatScale(max(float(f"{end:.1g}"), 1e-3 * factor), unit, label)
    cells = [_segments_cell(subject, views[0])]
    for mesh, value in zip(posed, values, strict=True):
        turned = int(flipped(subject.rest, mesh.vertices, subject.faces, mesh.ideal).sum())
        mean, most = number(float(value.mean())), number(float(value.max()))
        numbers = (
            f"mean {mean}{sign}, largest {most}{sign}; {turned} {'triangle' if turned == 1 else 'triangles'} flipped"
        )
        image = views[1].draw(mesh.vertices, heat_colors(value, scale.maximum))
        cells.append((image, f"{label}, {mesh.name}\n{numbers}"))
    return cells, scale


def _closeup_row(
    subject: PoseSubject,
    posed: Sequence[PosedMesh],
    joints: Float64,
    views: tuple[PoseView, PoseView],
    options: PosePictureOptions,
) -> list[Cell]:
    """The rest pose and every method near one joint."""
    skeleton = subject.skeleton
    if options.closeup not in skeleton.names:
        raise OptionError(f"closeup: the skeleton has no joint '{options.closeup}'; it has {', '.join(skeleton.names)}")
    joint = skeleton.names.index(options.closeup)
    lengths = np.linalg.norm(skeleton.vectors[skeleton.bones_at(joint)], axis=1)
    radius = options.radius or 0.75 * float(lengths.max(initial=0.02 * bounding_diagonal(subject.rest)))
    rest_view, pose_view = views
    if not subject.is_flat:
        before = Region(subject.rest, skeleton.joints[joint], radius)
        after = Region(posed[0].vertices, joints[joint], radius)
        view = clear_view(pose_view.options, subject.faces, (before, after))
        rest_view, pose_view = shared_views(subject, np.concatenate([posed[0].vertices, joints]), view, view.height)
    rest_view, pose_view = rest_view.near(skeleton.joints[joint], radius), pose_view.near(joints[joint], radius)
    cells = [(rest_view.draw(subject.rest, SKIN), f"at {options.closeup}, rest pose")]
    return cells + [(pose_view.draw(m.vertices, SKIN), f"at {options.closeup}, {m.name}") for m in posed]


# Views of a posed mesh: rest pose and pose at one scale, with visible joints.

#: Candidate rotations of a view to see a joint, in degrees.
VIEW_ANGLES = (0, 25, -25, 50, -50, 80, -80, 115, -115, 150, -150, 180)
#: Additional visible fraction that justifies a rotation by 180 degrees.
WORTH = 0.25


@dataclass(frozen=True, slots=True)
class PoseSubject:
    """The posed mesh and its skeleton."""

    rest: Float64  # (v,3)
    faces: Int32  # (t,3)
    skeleton: StickSkeleton
    segments: Int32 | None = None  # (t,) controlling bone of each triangle, -1 for none; None omits the panel

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
    """The vertices around a point that a view should show."""

    points: Float64  # (v,3) of the whole mesh
    center: Float64  # (3,)
    radius: float


@dataclass(frozen=True, slots=True)
class PoseView:
    """A camera with the common settings of its pictures."""

    subject: PoseSubject
    camera: Camera
    options: DrawOptions

    def draw(self, points: Float64, colors: ArrayLike) -> Image:
        """Draw the mesh in one colour, or one colour per triangle."""
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
        """The same view with at most `zoom` pixels per unit, about the centre of the picture."""
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
    elif view.azimuth == "auto":  # chosen once for the rest pose, whose long axis may differ from that of the pose
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
    """The view rotated as little as needed to show the regions best."""
    if isinstance(view.azimuth, str):
        raise OptionError("view: expected an azimuth in degrees, got 'auto'")
    small = replace(view, width=240, height=240)
    best, found = view.azimuth, -np.inf
    for angle in VIEW_ANGLES:
        trial = replace(small, azimuth=view.azimuth + angle)
        score = -abs(angle) / 180 * WORTH
        for region in regions:
            near = np.linalg.norm(region.points - region.center, axis=1) < region.radius
            seen = visible_vertices(region.points, faces, frame_camera(region.points, trial), trial)
            score += float(seen[near].mean()) / len(regions) if near.any() else 0.0
        if score > found + 1e-9:
            best, found = view.azimuth + angle, score
    return replace(view, azimuth=best)
