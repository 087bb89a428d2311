"""Which level every character of a scene gets: as little error on the screen as the time for a frame allows.

All characters share one tolerance, the error on the screen in pixels that is put up with. A character gets the lowest
level whose root mean square error, seen from its distance, is no more than that:

    rms(level) * pixels_per_unit <= tolerance,     pixels_per_unit = height of the screen / (2 tan(fov / 2) distance)

so those that are near or large get more bones. The mean time of the last five frames moves the tolerance: where it is
above the budget the tolerance grows, where it is clearly below it shrinks, by the ratio of both to a power. Levels go
there no faster than `rate` a second, so every bone fades (section 4.1.2), and rest at whole numbers of bones.

Nothing here knows a clock, a random number or a screen: the same calls give the same levels.

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

__all__ = ["ControllerOptions", "ControllerState", "SeenCharacter", "control_levels", "pixels_per_unit"]

#: Frames whose mean time counts.
FRAMES = 5


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """What a frame may take, and how fast levels answer."""

    budget: float = 1 / 60  # seconds a frame
    rate: float = 1.0  # of the whole range of levels, a second, at most
    least_pixels: float = 0.25  # of error on the screen: less is never asked for
    most_pixels: float = 64.0  # more is never put up with
    slack: float = 0.1  # part of the budget below it where the tolerance stays as it is
    reaction: float = 0.5  # power of time over budget by which the tolerance changes in FRAMES frames

    def __post_init__(self) -> None:
        for name in ("budget", "rate", "least_pixels", "most_pixels", "reaction"):
            if not (isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise OptionError(f"{name}: expected more than 0, got {getattr(self, name)}")
        if self.most_pixels < self.least_pixels or not 0 <= self.slack < 1:
            raise OptionError("most_pixels: expected no less than least_pixels; slack: expected 0 … 1")


DEFAULT_CONTROLLER = ControllerOptions()


@dataclass(frozen=True, slots=True)
class SeenCharacter:
    """A character as the camera has it now."""

    curve: LevelCurve  # of the clip that it plays
    pixels_per_unit: float  # how large a unit of the model is on the screen; 0: it is not in the picture

    def level_for(self, tolerance: float) -> float:
        """The lowest level whose error is no more than so many pixels."""
        if self.pixels_per_unit <= 0:
            return 0.0
        return self.curve.level_for_rms(tolerance / self.pixels_per_unit)


@dataclass(frozen=True, slots=True)
class ControllerState:
    """What is kept from frame to frame."""

    levels: tuple[float, ...] = ()  # one a character, 0 … 1
    tolerance: float = 1.0  # error on the screen that is put up with, in pixels
    times: tuple[float, ...] = field(default=())  # seconds of the last frames, at most FRAMES

    @property
    def mean_time(self) -> float:
        """Seconds a frame, over the last ones; 0 before the first."""
        return sum(self.times) / len(self.times) if self.times else 0.0


def pixels_per_unit(distance: float, screen_height: float, fov: float, scale: float = 1.0) -> float:
    """How many pixels a unit of a model takes, drawn `scale` times as large; fov from top to bottom, in radians."""
    if distance <= 0:
        return screen_height * scale  # the camera is in it: as large as can be
    return scale * screen_height / (2 * tan(fov / 2) * distance)


def control_levels(
    state: ControllerState,
    frame_time: float,
    seen: Sequence[SeenCharacter],
    options: ControllerOptions = DEFAULT_CONTROLLER,
) -> ControllerState:
    """The state after a frame that took so many seconds, for the characters as they are seen now."""
    if not (isfinite(frame_time) and frame_time >= 0):
        raise OptionError(f"frame_time: expected seconds, got {frame_time}")
    times = (*state.times, frame_time)[-FRAMES:]
    tolerance = _next_tolerance(replace(state, times=times), options)
    most = options.rate * frame_time
    levels = []
    for number, character in enumerate(seen):
        goal = character.level_for(tolerance)
        now = state.levels[number] if number < len(state.levels) else goal  # who comes in has no way to go
        levels.append(min(max(goal, now - most), now + most))
    return ControllerState(tuple(levels), tolerance, times)


def _next_tolerance(state: ControllerState, options: ControllerOptions) -> float:
    """The tolerance grows with the time above the budget, and shrinks with the time clearly below it."""
    over = state.mean_time / options.budget
    stays = over <= 0 or 1 - options.slack <= over <= 1
    change = 0.0 if stays else options.reaction / FRAMES * log(over)
    tolerance = state.tolerance * exp(max(-1.0, min(1.0, change)))
    return min(max(tolerance, options.least_pixels), options.most_pixels)
