"""Frames of a model that a person names: clips by name, frames by number."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from osteon.core.errors import OptionError

if TYPE_CHECKING:
    from osteon.core.model import SkinnedModel

__all__ = ["choose_frames", "parse_frames", "take_clips", "take_frames"]


def take_clips(model: SkinnedModel, clips: tuple[str, ...], file: Path) -> SkinnedModel:
    """The same model with only the given clips."""
    return take_frames(model, choose_frames(model, clips, None, file)) if clips else model


def choose_frames(model: SkinnedModel, clips: tuple[str, ...], frames: str | None, file: Path) -> list[int]:
    """The frames that the options name, in their order."""
    from osteon.io.doors.clip_choice import select_names

    chosen = [model.clips[i] for i in select_names([c.name for c in model.clips], clips, file)]
    there = [f for clip in chosen for f in range(clip.start, clip.stop)]
    return there if frames is None else [there[i] for i in parse_frames(frames, len(there))]


def parse_frames(text: str, count: int) -> list[int]:
    """Frame numbers in a list of numbers and ranges A:B or A:B:STEP (B not included); negative ones count back."""
    found: list[int] = []
    for word in text.split(","):
        try:
            numbers = [int(part) if part.strip() else None for part in word.split(":")]
        except ValueError:
            numbers = []
        if not 1 <= len(numbers) <= 3 or numbers == [None] or numbers[2:] == [0]:
            raise OptionError(f"--frames: expected A:B or numbers with commas, got {text!r}")
        ends = [n for n in numbers[:2] if n is not None]
        if any(not -count <= n <= count for n in ends) or (len(numbers) == 1 and count in ends):
            raise OptionError(f"--frames: {word.strip()} is beyond the {count} frames there are, 0 … {count - 1}")
        found += range(count)[slice(*numbers)] if len(numbers) > 1 else [range(count)[ends[0]]]
    if not found:
        raise OptionError(f"--frames: {text} names no frame")
    return found


def take_frames(model: SkinnedModel, frames: list[int]) -> SkinnedModel:
    """The same model with only the given frames; a run of frames of one clip stays a clip."""
    from osteon.core.animation import BoneTrack
    from osteon.core.clips import Clip
    from osteon.core.corrections import Corrections

    if frames == list(range(model.n_frames)):
        return model
    clips: list[Clip] = []
    of_frame = [next(c for c in model.clips if c.start <= f < c.stop) for f in frames]
    for clip, run in groupby(of_frame):
        start = clips[-1].stop if clips else 0
        clips.append(Clip(clip.name, start, start + len(list(run)), clip.fps))
    track, added = model.track, model.corrections
    if added is not None:
        added = Corrections(added.basis, added.coefficients[frames], added.normal_basis)
    track = BoneTrack(track.transforms[frames], track.bone_type, track.names)
    return model.with_parts(track=track, corrections=added, clips=tuple(clips))
