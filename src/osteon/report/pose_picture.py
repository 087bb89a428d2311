"""Pictures of a posed mesh: the skeleton at rest, segments by bone, and the pose and distortion of each method.

One column for the rest pose and one for each method; rows: the mesh, what happened to its triangles, and if asked for a
close-up at a joint. All methods share one camera and one scale, so that columns can be compared. A mesh whose z are all
equal is drawn flat, with the edges of its triangles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from osteon.core.arrays import Float64, FloatArray, Int32, checked, checked_indices
from osteon.core.errors import GeometryError, OptionError
from osteon.core.sticks import StickSkeleton
from osteon.measure.strain import flipped, triangle_distortion
from osteon.report.numbers import number
from osteon.report.picture import HeatScale, PanelOptions, bone_colors, heat_colors, panel_grid
from osteon.report.raster import Camera, DrawOptions, Image, draw_mesh, frame_camera
from osteon.report.stick_overlay import draw_bones, draw_edges

__all__ = ["PosePictureOptions", "PoseSubject", "PosedMesh", "pose_picture"]

Measure = Literal["area", "angle", "strain"]

SKIN = (0.86, 0.70, 0.54)  # of a mesh without a meaning for its colours
PALE = (0.88, 0.87, 0.85)  # of a mesh that stands back behind its skeleton
VIEW = DrawOptions(elevation=10.0)
#: What each measure is called, its unit, and the factor to that unit.
WORDS: dict[Measure, tuple[str, str, float]] = {
    "area": ("area change", "%", 100.0),
    "angle": ("angle change", "degrees", 180 / np.pi),
    "strain": ("strain", "", 1.0),
}
#: Percentile of all triangles of all methods at which the scale ends; a few broken ones must not hide the others.
SCALE_END = 99.0


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
        if self.segments is not None and np.shape(self.segments) != (len(self.faces),):
            raise GeometryError(f"segments: expected ({len(self.faces)},), got {np.shape(self.segments)}")

    @property
    def is_flat(self) -> bool:
        """Whether it is a 2D subject."""
        extent = np.ptp(self.rest, axis=0)
        return bool(extent[2] <= 1e-9 * np.linalg.norm(extent))


@dataclass(frozen=True, slots=True)
class PosedMesh:
    """One method's answer to a pose."""

    name: str
    vertices: Float64  # (v,3)
    ideal: Float64 | None = None  # (t,3,4) what the triangles were asked to follow; helps to tell which are flipped


@dataclass(frozen=True, slots=True)
class PosePictureOptions:
    """How the picture is laid out and seen."""

    width: int = 400  # pixels of a panel
    height: int | Literal["auto"] = "auto"  # pixels of a panel; auto: as the subject is shaped
    measure: Measure = "strain"
    closeup: str = ""  # name of the joint to show from near; "": no such row
    radius: float = 0.0  # of the close-up, in units of the mesh; 0: three quarters of the bones at the joint
    view: DrawOptions = VIEW  # direction, up axis and background of a 3D subject
    title: str = ""

    def __post_init__(self) -> None:
        if self.measure not in WORDS:
            raise OptionError(f"measure: expected one of {', '.join(WORDS)}, got '{self.measure}'")
        if self.width < 120 or (self.height != "auto" and self.height < 120) or self.radius < 0:
            raise OptionError("width, height: expected at least 120 pixels; radius: expected 0 or more")


def pose_picture(
    subject: PoseSubject,
    posed: Sequence[PosedMesh],
    joints: FloatArray,
    *,
    options: PosePictureOptions | None = None,
) -> Image:
    """A grid of panels for one pose; `joints` (j,3) are the posed joints. The first method is the one that counts."""
    options = options or PosePictureOptions()
    if not posed:
        raise OptionError("posed: expected at least one posed mesh")
    moved: Float64 = checked("joints", joints, subject.skeleton.joints.shape, np.float64)
    rest_view, pose_view = _views(subject, posed, moved, options)
    colors = bone_colors(subject.skeleton.n_bones)
    cells: list[tuple[Image, str]] = []
    skeleton = rest_view.with_bones(rest_view.draw(subject.rest, PALE), subject.skeleton.joints, colors)
    cells.append((skeleton, f"rest pose\n{subject.skeleton.n_bones} bones, {len(subject.rest):,} vertices"))
    for mesh in posed:
        image = pose_view.draw(mesh.vertices, SKIN)
        cells.append((pose_view.with_bones(image, moved, None, 0.55), f"pose, {mesh.name}"))
    heat, scale = _heat(subject, posed, options)
    cells.append(_segments_cell(subject, rest_view))
    for mesh, (values, words) in zip(posed, heat, strict=True):
        paint = heat_colors(values, scale.maximum)
        cells.append((pose_view.draw(mesh.vertices, paint), f"{scale.label}, {mesh.name}\n{words}"))
    if options.closeup:
        cells += _closeups(subject, posed, moved, (rest_view, pose_view), options)
    panel = PanelOptions(background=options.view.background, text_size=16)
    images, captions = [c[0] for c in cells], [c[1] for c in cells]
    return panel_grid(images, captions, columns=1 + len(posed), title=options.title, scale=scale, options=panel)


@dataclass(frozen=True, slots=True)
class _View:
    """A camera with what all pictures it takes have in common."""

    subject: PoseSubject
    camera: Camera
    options: DrawOptions

    def draw(self, points: Float64, colors: Any) -> Image:
        """The mesh, one colour or one a triangle."""
        image = draw_mesh(points, self.subject.faces, colors, options=self.options, camera=self.camera)
        return draw_edges(image, points, self.subject.faces, self.camera) if self.subject.is_flat else image

    def with_bones(self, image: Image, joints: Float64, colors: Any, strength: float = 1.0) -> Image:
        return draw_bones(image, joints, self.subject.skeleton.bones, self.camera, colors=colors, strength=strength)

    def near(self, point: Float64, radius: float) -> _View:
        """The same view magnified about a point."""
        at, aside = self.camera.project(np.stack([point, point + radius * self.camera.axes[0]]))[:, :2]
        size = np.array([self.options.width, self.options.height])
        factor = 0.5 * size.min() / max(float(np.linalg.norm(aside - at)), 1e-9)
        shift = size / 2 - factor * (at - self.camera.shift)
        camera = replace(self.camera, zoom=factor * self.camera.zoom, shift=(float(shift[0]), float(shift[1])))
        return _View(self.subject, camera, replace(self.options, shadow=False))


def _views(
    subject: PoseSubject, posed: Sequence[PosedMesh], joints: Float64, options: PosePictureOptions
) -> tuple[_View, _View]:
    """Views of the rest pose and of the pose, with panels of one size."""
    view = replace(options.view, width=options.width, color_per="auto")
    if subject.is_flat:
        flat: dict[str, Any] = {"azimuth": 0.0, "elevation": 0.0, "up": "y", "projection": "orthographic"}
        view = replace(view, **flat, shading="none", shadow=False)
    elif view.azimuth == "auto":  # decided once, by the rest pose: a pose may be long where the rest pose is wide
        ahead = ("xyz".index(view.up) + 1) % 3
        extent = np.ptp(subject.rest, axis=0)
        view = replace(view, azimuth=-58.0 if extent[ahead] >= extent[(ahead + 1) % 3] else 32.0)
    clouds = [
        np.concatenate([subject.rest, subject.skeleton.joints]),
        np.concatenate([*(mesh.vertices for mesh in posed), joints]),
    ]
    height = options.height if options.height != "auto" else max(_height(cloud, view) for cloud in clouds)
    view = replace(view, height=height)
    rest_view, pose_view = (_View(subject, frame_camera(cloud, view), view) for cloud in clouds)
    return rest_view, pose_view


def _height(cloud: Float64, view: DrawOptions) -> int:
    """A height that suits what is seen, between three quarters and one and a half of the width."""
    spread = np.ptp(frame_camera(cloud, replace(view, height=view.width)).project(cloud)[:, :2], axis=0)
    return round(view.width * float(np.clip((spread[1] / max(spread[0], 1e-9)), 0.75, 1.5)))


def _segments_cell(subject: PoseSubject, view: _View) -> tuple[Image, str]:
    """Triangles in the colours of their bones, or plain where nothing is known."""
    if subject.segments is None:
        return view.draw(subject.rest, SKIN), "rest pose"
    used = np.unique(subject.segments[subject.segments >= 0])
    colors = np.where(
        (subject.segments >= 0)[:, None], bone_colors(subject.skeleton.n_bones)[subject.segments], np.asarray(PALE)
    )
    image = view.with_bones(view.draw(subject.rest, colors), subject.skeleton.joints, None)
    return image, f"segments\n{len(used)} of {subject.skeleton.n_bones} bones control triangles"


def _heat(
    subject: PoseSubject, posed: Sequence[PosedMesh], options: PosePictureOptions
) -> tuple[list[tuple[Float64, str]], HeatScale]:
    """Each method's distortion (t,) with a line of numbers, and the scale of all of them."""
    label, unit, factor = WORDS[options.measure]
    rows = []
    for mesh in posed:
        found = triangle_distortion(subject.rest, mesh.vertices, subject.faces)
        values = factor * getattr(found, options.measure)
        over = int(flipped(subject.rest, mesh.vertices, subject.faces, mesh.ideal).sum())
        sign = f" {unit}" if unit else ""
        middle, most = number(float(values.mean())), number(float(values.max(initial=0)))
        rows.append((values, f"mean {middle}{sign}, largest {most}{sign}\n{over} flipped"))
    end = float(np.percentile(np.concatenate([values for values, _ in rows]), SCALE_END))
    return rows, HeatScale(max(float(f"{end:.1g}"), 1e-3 * factor), unit, label)


def _closeups(
    subject: PoseSubject,
    posed: Sequence[PosedMesh],
    joints: Float64,
    views: tuple[_View, _View],
    options: PosePictureOptions,
) -> list[tuple[Image, str]]:
    """The rest pose and every method near one joint."""
    skeleton = subject.skeleton
    if options.closeup not in skeleton.names:
        raise OptionError(f"closeup: the skeleton has no joint '{options.closeup}'; it has {', '.join(skeleton.names)}")
    joint = skeleton.names.index(options.closeup)
    lengths = np.linalg.norm(skeleton.vectors[skeleton.bones_at(joint)], axis=1)
    radius = options.radius or 0.75 * float(lengths.mean() if len(lengths) else 1.0)
    rest_near, pose_near = views[0].near(skeleton.joints[joint], radius), views[1].near(joints[joint], radius)
    cells = [(rest_near.draw(subject.rest, SKIN), f"{options.closeup}, rest pose")]
    return cells + [(pose_near.draw(m.vertices, SKIN), f"{options.closeup}, {m.name}") for m in posed]
