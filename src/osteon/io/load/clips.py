"""Selection of clips by name and of frames (`A:B` or every N-th)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np

from osteon.core.animation import Clip
from osteon.core.errors import OptionError
from osteon.core.sequence import MeshSequence
from osteon.io.load.source import quote


def select_names(there: Sequence[str], wanted: Sequence[str], path: Path) -> list[int]:
    """The requested names among those that are `there`, in the order of the file; all if none is requested."""
    missing = [name for name in wanted if name not in there]
    if missing:
        known = ", ".join(quote(name) for name in there) or "none"
        raise OptionError(f"clips: {path} has no clip {quote(missing[0])}; it has {known}")
    return [i for i, name in enumerate(there) if not wanted or name in wanted]


def select_clips(sequence: MeshSequence, wanted: Sequence[str], path: Path) -> MeshSequence:
    """The sequence with only the requested clips and its rest pose."""
    chosen = [sequence.clips[i] for i in select_names([c.name for c in sequence.clips], wanted, path)]
    if len(chosen) == len(sequence.clips):
        return sequence
    clips: list[Clip] = []
    for clip in chosen:
        start = clips[-1].stop if clips else 0
        clips.append(replace(clip, start=start, stop=start + clip.n_frames))
    frames = np.concatenate([sequence.frames[c.start : c.stop] for c in chosen])
    return sequence.with_parts(frames=frames, clips=tuple(clips))


def choose_sequence_frames(sequence: MeshSequence, frames: str | None, step: int) -> MeshSequence:
    """The sequence with every `step`-th of the requested frames of each clip, and its rest pose."""
    if frames is None and step == 1:
        return sequence
    kept, clips = choose_frame_numbers(sequence.clips, frames, step)
    return sequence.with_parts(frames=sequence.source.take(np.array(kept, np.int32)), clips=clips)


def choose_frame_numbers(clips: Sequence[Clip], frames: str | None, step: int) -> tuple[list[int], tuple[Clip, ...]]:
    """The numbers of these frames, and the clips that they make."""
    count = clips[-1].stop
    chosen = list(range(count)) if frames is None else parse_frames(frames, count)
    named = clips_of_frames(clips, chosen)
    kept = [f for clip in named for f in range(clip.start, clip.stop, step)]
    slower = (replace(clip, fps=clip.fps / step) for clip in clips_of_frames(named, kept))
    return [chosen[i] for i in kept], tuple(slower)


def clips_of_frames(clips: Sequence[Clip], frames: Sequence[int]) -> tuple[Clip, ...]:
    """The clips of some frames; a run of frames of one clip stays a clip."""
    found: list[Clip] = []
    of_frame = [next(clip for clip in clips if clip.start <= f < clip.stop) for f in frames]
    for clip, run in groupby(of_frame):
        start = found[-1].stop if found else 0
        found.append(Clip(clip.name, start, start + len(list(run)), clip.fps))
    return tuple(found)


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
