"""Animations: the bone transforms of every frame, named clips and their times, coefficients of stored displacements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int32, checked
from osteon.core.bone_axes import off_axes
from osteon.core.errors import GeometryError
from osteon.core.mesh import scale_of_bones

DEFAULT_FPS = 24.0


@dataclass(frozen=True, slots=True)
class Clip:
    """A named run of consecutive frames, start <= f < stop."""

    name: str
    start: int
    stop: int
    fps: float = DEFAULT_FPS  # frames per second

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.stop:
            raise GeometryError(f"clip '{self.name}': frames {self.start} … {self.stop} are empty or negative")
        if not (np.isfinite(self.fps) and self.fps > 0):
            raise GeometryError(f"clip '{self.name}': frame rate must be positive, got {self.fps}")

    @property
    def n_frames(self) -> int:
        return self.stop - self.start


def check_clips(clips: tuple[Clip, ...], n_frames: int) -> None:
    """Refuse clips that leave gaps, overlap, or do not end with the last frame."""
    stops = [0, *(c.stop for c in clips)]
    if [c.start for c in clips] != stops[:-1] or stops[-1] != n_frames:
        raise GeometryError(f"clips must follow each other and cover all {n_frames} frames")


def distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names made unique: repetitions get one to three `_`, then a number: `a`, `a_`, …, `a_4`."""
    taken: dict[str, None] = {}
    times: dict[str, int] = {}
    for name in names:
        candidate = name
        while candidate in taken:
            times[name] = times.get(name, 0) + 1
            candidate = name + "_" * times[name] if times[name] <= 3 else f"{name}_{times[name]}"
        taken[candidate] = None
    return tuple(taken)


def clips_or_one(clips: Iterable[Clip], n_frames: int) -> tuple[Clip, ...]:
    """The clips, or one clip of all frames if there are none; refuses clips that do not cover the frames."""
    found = tuple(clips) or (Clip("clip", 0, n_frames),)
    check_clips(found, n_frames)
    return found


#: Frame rate of keys that fall on no common rate.
DEFAULT_KEY_FPS = 30.0
COMMON_RATES = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0)
#: A key may differ from its frame by this fraction of a frame: times are float32, and some files round them.
KEY_TOLERANCE = 0.02


def frame_times(clips: tuple[Clip, ...], rate: float = 1.0) -> Float64:
    """(f,) the time of each frame in units of 1 / `rate` seconds.

    A clip starts where the next frame of the clip before it would be. With the clips' own rate the times are 0, 1, 2, …
    """
    times, start = [], 0.0
    for clip in clips:
        step = rate / clip.fps
        times.append(start + np.arange(clip.n_frames) * step)
        start += clip.n_frames * step
    return np.concatenate(times)


def key_rate(times: Float64) -> float:
    """The lowest common frame rate on whose frames all key times fall, or 30."""
    since = times - times.min()
    for rate in COMMON_RATES:
        if np.abs(since * rate - np.rint(since * rate)).max() <= KEY_TOLERANCE:
            return rate
    return DEFAULT_KEY_FPS


#: Kinds of bone transforms; each includes those before it.
BoneType = Literal["rigid", "scaled", "flexible"]

#: Floats per bone and frame: quaternion and translation, these and three scales, or all of [A | t].
FLOATS_PER_BONE: dict[BoneType, int] = {"rigid": 7, "scaled": 10, "flexible": 12}
#: A bone is rigid if no entry of A'A differs from the identity's by more than this: a scale of 1.0005, which is what
#: scales of 0.9999 or 1.0001, rounded by an exporter, leave at the end of a chain of joints. No vertex moves visibly.
RIGID = 1e-3


def bone_type_of(transforms: FloatArray, tolerance: float = RIGID) -> BoneType:
    """The narrowest type that holds transforms (f,b,3,4), apart from one scale that all may share.

    Rigid: rotation and translation. Scaled: also scales along axes that are fixed in the rest pose. Flexible: the rest.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        linear = transforms[..., :3].astype(np.float64) / scale_of_bones(transforms)
        if not np.isfinite(linear).all() or not (np.linalg.det(linear) > 0).all():
            return "flexible"
        off = np.abs(np.swapaxes(linear, -1, -2) @ linear - np.eye(3)).max(initial=0.0)
        if off <= tolerance:
            return "rigid"
        return "scaled" if off_axes(linear) <= tolerance else "flexible"


def wider_type(a: BoneType, b: BoneType) -> BoneType:
    """The narrowest type that includes both."""
    return max(a, b, key=get_args(BoneType).index)


@dataclass(frozen=True, slots=True)
class BoneTrack:
    """Where each bone takes the rest pose in each frame."""

    transforms: Float32  # (f,b,3,4) posed_from_rest, column vectors
    bone_type: BoneType = "flexible"
    names: tuple[str, ...] = ()  # one per bone; () numbers them

    def __post_init__(self) -> None:
        object.__setattr__(self, "transforms", checked("transforms", self.transforms, (None, None, 3, 4)))
        if self.bone_type not in get_args(BoneType):
            known = " or ".join(repr(kind) for kind in get_args(BoneType))
            raise GeometryError(f"bone_type: expected {known}, got {self.bone_type!r}")
        names = tuple(self.names) or tuple(f"bone_{b}" for b in range(self.n_bones))
        object.__setattr__(self, "names", names)
        if len(names) != self.n_bones:
            raise GeometryError(f"names: expected {self.n_bones}, one for each bone, got {len(names)}")

    @property
    def n_frames(self) -> int:
        return int(self.transforms.shape[0])

    @property
    def n_bones(self) -> int:
        return int(self.transforms.shape[1])


@dataclass(frozen=True, slots=True)
class Animation:
    """A bone track in named clips, and the coefficients of stored displacements."""

    track: BoneTrack
    clips: tuple[Clip, ...] = ()  # cover all frames in order; () means one clip
    coefficients: Float32 | None = None  # (f,r) of the stored displacement; None without one

    def __post_init__(self) -> None:
        object.__setattr__(self, "clips", clips_or_one(self.clips, self.n_frames))
        if self.coefficients is not None:
            shape = (self.n_frames, None)
            object.__setattr__(self, "coefficients", checked("coefficients", self.coefficients, shape))

    @property
    def transforms(self) -> Float32:
        """(f,b,3,4) posed_from_rest."""
        return self.track.transforms

    @property
    def n_frames(self) -> int:
        return self.track.n_frames

    @property
    def n_bones(self) -> int:
        return self.track.n_bones

    @property
    def n_floats(self) -> int:
        """Number of floats of the motion, without the coefficients of displacements."""
        return FLOATS_PER_BONE[self.track.bone_type] * self.n_frames * self.n_bones

    def take_frames(self, frames: Int32) -> Animation:
        """Only the given frames, as one clip."""
        track = replace(self.track, transforms=self.transforms[frames])
        coefficients = None if self.coefficients is None else self.coefficients[frames]
        return Animation(track, (), coefficients)
