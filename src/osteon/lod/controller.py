"""Choose the level of every character of a scene: the least error on the screen that the frame time allows.

All characters share one tolerance, the accepted error on the screen in pixels. A character gets the lowest level whose
root mean square error, projected at its distance, is no more than that:

    rms(level) * pixels_per_unit <= tolerance,     pixels_per_unit = height of the screen / (2 tan(fov / 2) distance)

so near or large characters get more bones. The mean time of the last five frames controls the tolerance: above the
budget the tolerance grows, clearly below it shrinks, by a power of the ratio of both.

Fewer bones save no more time than bones take. So there are two tolerances, one for bones and blends and one for meshes,
and the part of the picture's time that bones take weighs how much each grows: above the budget the costlier of both
grows by the full power, the other one in proportion to its time. Below the budget both shrink by the full power.

**No pops.** A level moves along its curve, where one step of bones or blends follows another (section 4.1.2), at most
so far in a frame that no vertex moves by more than `way` of the body's size because of it; a frame that takes longer
than 1/60 s moves no farther. Small bones fade in a frame or two, a leg takes half a second.

The functions use no clock, no random numbers and no screen: the same calls return the same levels.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, section 5: "a basic LoD system was used to maintain
frame rate based upon each character's distance from the camera and the average drawing time of the last five frames";
the idea of a tolerance that the frame rate sets: Funkhouser and Sequin, 1993.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import exp, isfinite, log, tan

from osteon.core.errors import OptionError
from osteon.lod.progressive_skin import LevelCurve

#: Number of frames whose mean time is used.
FRAMES = 5


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """The time budget of a frame, and how fast levels react."""

    budget: float = 1 / 60  # seconds per frame
    rate: float = 1.0  # largest change of a level per second; the whole range is 1
    way: float = 0.004  # largest way of a vertex in a frame of 1/60 s because of its level, of the body's size
    least_pixels: float = 0.25  # smallest tolerance
    most_pixels: float = 64.0  # largest tolerance
    slack: float = 0.1  # fraction of the budget below which the tolerance stays unchanged
    reaction: float = 0.5  # exponent of time over budget by which the tolerance changes in FRAMES frames

    def __post_init__(self) -> None:
        for name in ("budget", "rate", "way", "least_pixels", "most_pixels", "reaction"):
            if not (isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise OptionError(f"{name}: expected more than 0, got {getattr(self, name)}")
        if self.most_pixels < self.least_pixels or not 0 <= self.slack < 1:
            raise OptionError("most_pixels: expected no less than least_pixels; slack: expected 0 … 1")


DEFAULT_CONTROLLER = ControllerOptions()


@dataclass(frozen=True, slots=True)
class SeenCharacter:
    """The clip of a character and its size on the screen in this frame."""

    curve: LevelCurve  # of its current clip
    pixels_per_unit: float  # size of a unit of the model on the screen; 0: not visible

    def level_for(self, tolerance: float) -> float:
        """The lowest level whose error is within a tolerance in pixels."""
        if self.pixels_per_unit <= 0:
            return 0.0
        return self.curve.level_for_rms(tolerance / self.pixels_per_unit)


@dataclass(frozen=True, slots=True)
class ControllerState:
    """The state that is kept from frame to frame."""

    levels: tuple[float, ...] = ()  # one per character, 0 … 1
    tolerance: float = 1.0  # accepted error on the screen, in pixels
    times: tuple[float, ...] = field(default=())  # seconds of the last frames, at most FRAMES
    bone_times: tuple[float, ...] = field(default=())  # of these, seconds that bones took
    mesh_tolerance: float = 1.0  # accepted error of meshes on the screen, in pixels

    @property
    def bone_part(self) -> float:
        """The part 0 … 1 of the last frames that bones took."""
        return min(1.0, sum(self.bone_times) / sum(self.times)) if sum(self.times) > 0 else 1.0

    @property
    def mean_time(self) -> float:
        """Mean seconds per frame over the last frames; 0 before the first."""
        return sum(self.times) / len(self.times) if self.times else 0.0


def pixels_per_unit(distance: float, screen_height: float, fov: float, scale: float = 1.0) -> float:
    """Pixels per unit of a model drawn at `scale`; `fov` is the vertical field of view in radians."""
    if distance <= 0:
        return screen_height * scale  # the camera is inside the model: the largest size
    return scale * screen_height / (2 * tan(fov / 2) * distance)


def control_levels(
    state: ControllerState,
    frame_time: float,
    seen: Sequence[SeenCharacter],
    options: ControllerOptions = DEFAULT_CONTROLLER,
    *,
    bone_time: float | None = None,
) -> ControllerState:
    """The state after a frame of `frame_time` seconds, of which bones took `bone_time`, for all characters of a scene.

    Without a bone time, bones are assumed to take the whole frame.
    """
    spent = frame_time if bone_time is None else bone_time
    for name, value in (("frame_time", frame_time), ("bone_time", spent)):
        if not (isfinite(value) and value >= 0):
            raise OptionError(f"{name}: expected seconds, got {value}")
    times, bone_times = (*state.times, frame_time)[-FRAMES:], (*state.bone_times, spent)[-FRAMES:]
    timed = replace(state, times=times, bone_times=bone_times)
    tolerance, mesh_tolerance = _next_tolerances(timed, options)
    most = options.rate * frame_time
    way = options.way * min(1.0, 60 * frame_time)
    levels = []
    for number, character in enumerate(seen):
        goal = character.level_for(tolerance)
        now = state.levels[number] if number < len(state.levels) else goal  # a new character starts at its goal
        near = min(max(goal, now - most), now + most)
        levels.append(near if character.pixels_per_unit <= 0 else character.curve.moved(now, near, way))
    return ControllerState(tuple(levels), tolerance, times, bone_times, mesh_tolerance)


def _next_tolerances(state: ControllerState, options: ControllerOptions) -> tuple[float, float]:
    """Increase the tolerances of bones and of meshes above the time budget, decrease them clearly below."""
    over = state.mean_time / options.budget
    stays = over <= 0 or 1 - options.slack <= over <= 1
    change = 0.0 if stays else max(-1.0, min(1.0, options.reaction / FRAMES * log(over)))
    part, found = state.bone_part, []
    for tolerance, cost in ((state.tolerance, part), (state.mesh_tolerance, 1 - part)):
        weight = cost / max(part, 1 - part) if change > 0 else 1.0
        found.append(min(max(tolerance * exp(weight * change), options.least_pixels), options.most_pixels))
    return found[0], found[1]
