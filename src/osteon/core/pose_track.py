"""Poses of a stick skeleton over time, with control lines and pinned vertices (Simplex Transformations, 5, 7 and 8).

A single pose is a track of one frame. What is constant over time (rest positions of lines, the triangles that they may
move, pinned vertices) is stored once, so that all frames share one factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import DEFAULT_FPS, Clip, check_clips
from osteon.core.arrays import Float64, Int32, checked, checked_indices
from osteon.core.errors import GeometryError
from osteon.core.sticks import FARTHEST

Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Domain:
    """Which triangles a control line may move (7.1): all conditions that are set must hold."""

    distance: float | None = None  # effective distance with penalty at most this, in units of the mesh
    tube: float | None = None  # at most this far from the straight line segment
    box: tuple[Point, Point] | None = None  # lowest and highest corner
    triangles: tuple[int, ...] | None = None  # exactly these, however far

    def __post_init__(self) -> None:
        for what in ("distance", "tube"):
            value = getattr(self, what)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise GeometryError(f"domain: {what} must be positive, got {value}")
        if self.box is not None:
            low, high = (np.asarray(corner, float) for corner in self.box)
            if low.shape != (3,) or high.shape != (3,) or not np.isfinite([low, high]).all() or (low > high).any():
                raise GeometryError(f"domain: a box is its lowest and its highest corner, got {self.box}")
            object.__setattr__(self, "box", (tuple(low.tolist()), tuple(high.tolist())))  # lines are compared
        if self.triangles is not None:
            object.__setattr__(self, "triangles", tuple(int(t) for t in self.triangles))


@dataclass(frozen=True, slots=True)
class ControlLine:
    """A control line at rest, and the triangles that it may move."""

    start: Point
    stop: Point
    domain: Domain = Domain()
    name: str = "line"

    def __post_init__(self) -> None:
        ends = np.array([self.start, self.stop], float)
        if ends.shape != (2, 3) or not np.isfinite(ends).all() or np.array_equal(ends[0], ends[1]):
            raise GeometryError(f"line '{self.name}': needs two different finite points")
        for key, end in zip(("start", "stop"), ends.tolist(), strict=True):
            object.__setattr__(self, key, tuple(end))  # lines are compared


@dataclass(frozen=True, slots=True)
class LineTrack:
    """Control lines over time."""

    lines: tuple[ControlLine, ...] = ()
    ends: Float64 = field(default_factory=lambda: np.zeros((1, 0, 2, 3)))  # (f,l,2,3) posed ends
    cross_scale: Float64 = field(default_factory=lambda: np.ones((1, 0)))  # (f,l) beta of eq. 10
    twist: Float64 = field(default_factory=lambda: np.zeros((1, 0, 2)))  # (f,l,2) radians at start and stop


@dataclass(frozen=True, slots=True)
class PinTrack:
    """Pinned vertices and their target positions (8)."""

    vertices: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))  # (c,)
    targets: Float64 = field(default_factory=lambda: np.zeros((1, 0, 3)))  # (f,c,3)


@dataclass(frozen=True, slots=True)
class PoseTrack:
    """Poses over time. A field that is None has its default in every frame."""

    joints: Float64  # (f,j,3) posed joints; (f,0,3) without a skeleton
    cross_scale: Float64 | None = None  # (f,b) beta of eq. 10, across the bone; None: 1
    twist: Float64 | None = None  # (f,b,2) radians about the posed bone at its ends A and B; None: 0
    rotations: Float64 | None = None  # (f,b,3,3) given rotations of the bones; None: computed from the joints (5.2)
    turned: NDArray[np.bool_] | None = (
        None  # (f,) the poses whose rotations are given; None: all, if `rotations` is given
    )
    lines: LineTrack = field(default_factory=LineTrack)
    pins: PinTrack = field(default_factory=PinTrack)
    clips: tuple[Clip, ...] = ()  # cover all frames; () means one clip
    fps: float = DEFAULT_FPS

    def __post_init__(self) -> None:
        def put(key: str, value: object) -> None:
            object.__setattr__(self, key, value)

        put("joints", checked("joints", self.joints, (None, None, 3), np.float64))
        n = self.n_frames
        if n < 1:
            raise GeometryError("joints: a track needs at least one pose")
        if self.cross_scale is not None:
            put("cross_scale", checked("cross_scale", self.cross_scale, (n, None), np.float64))
        if self.twist is not None:
            put("twist", checked("twist", self.twist, (n, None, 2), np.float64))
        if self.rotations is not None:
            put("rotations", checked("rotations", self.rotations, (n, None, 3, 3), np.float64))
        if self.turned is not None:
            put("turned", checked("turned", self.turned, (n,), np.bool_))
        put("lines", _checked_lines(self.lines, n))
        put("pins", _checked_pins(self.pins, n))
        put("clips", tuple(self.clips) or (Clip("pose", 0, n, self.fps),))
        check_clips(self.clips, n)
        for what, places in (("joints", self.joints), ("lines", self.lines.ends), ("pins", self.pins.targets)):
            if np.abs(places).max(initial=0) > FARTHEST:
                raise GeometryError(
                    f"{what}: expected coordinates up to {FARTHEST:.0e}, got {np.abs(places).max():.1e}"
                )
        for what, scale in (("cross_scale", self.cross_scale), ("cross_scale of lines", self.lines.cross_scale)):
            if scale is not None and (scale <= 0).any():
                raise GeometryError(f"{what}: a scale must be positive, got {float(scale.min())}")

    @property
    def n_frames(self) -> int:
        return len(self.joints)

    @property
    def twists(self) -> bool:
        """Whether any pose twists a bone or a control line."""
        return bool(self.lines.twist.any() or (self.twist is not None and self.twist.any()))

    def frame(self, f: int) -> PoseTrack:
        """One pose alone."""

        def one(array: Float64 | None) -> Float64 | None:
            return None if array is None else array[f : f + 1]

        lines = LineTrack(
            self.lines.lines, self.lines.ends[f : f + 1], self.lines.cross_scale[f : f + 1], self.lines.twist[f : f + 1]
        )
        return replace(
            self,
            joints=self.joints[f : f + 1],
            cross_scale=one(self.cross_scale),
            twist=one(self.twist),
            rotations=one(self.rotations),
            turned=None if self.turned is None else self.turned[f : f + 1],
            lines=lines,
            pins=PinTrack(self.pins.vertices, self.pins.targets[f : f + 1]),
            clips=(),
        )


def _checked_lines(lines: LineTrack, n_frames: int) -> LineTrack:
    if not lines.lines:
        return LineTrack((), np.zeros((n_frames, 0, 2, 3)), np.ones((n_frames, 0)), np.zeros((n_frames, 0, 2)))
    n = len(lines.lines)
    return LineTrack(
        tuple(lines.lines),
        checked("ends of lines", lines.ends, (n_frames, n, 2, 3), np.float64),
        checked("cross_scale of lines", lines.cross_scale, (n_frames, n), np.float64),
        checked("twist of lines", lines.twist, (n_frames, n, 2), np.float64),
    )


def _checked_pins(pins: PinTrack, n_frames: int) -> PinTrack:
    n = len(pins.vertices)
    if not n:
        return PinTrack(np.zeros(0, np.int32), np.zeros((n_frames, 0, 3)))
    vertices = checked_indices("pinned vertices", pins.vertices, (n,), 2**31 - 1)
    if len(np.unique(vertices)) != n:
        raise GeometryError("pinned vertices: one is there twice")
    return PinTrack(vertices, checked("targets of pins", pins.targets, (n_frames, n, 3), np.float64))
