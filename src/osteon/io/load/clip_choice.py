"""Choosing clips by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from osteon.core.animation import Clip
from osteon.core.errors import OptionError
from osteon.core.sequence import MeshSequence
from osteon.io.load.source import quote

__all__ = ["select_clips", "select_names"]


def select_names(there: Sequence[str], wanted: Sequence[str], path: Path) -> list[int]:
    """Which of the names `there` are wanted, in their own order; all if nothing is wanted by name."""
    missing = [name for name in wanted if name not in there]
    if missing:
        known = ", ".join(quote(name) for name in there) or "none"
        raise OptionError(f"clips: {path} has no clip {quote(missing[0])}; it has {known}")
    return [i for i, name in enumerate(there) if not wanted or name in wanted]


def select_clips(sequence: MeshSequence, wanted: Sequence[str], path: Path) -> MeshSequence:
    """The sequence with only the wanted clips; its rest pose stays."""
    chosen = [sequence.clips[i] for i in select_names([c.name for c in sequence.clips], wanted, path)]
    if len(chosen) == len(sequence.clips):
        return sequence
    clips: list[Clip] = []
    for clip in chosen:
        start = clips[-1].stop if clips else 0
        clips.append(replace(clip, start=start, stop=start + clip.n_frames))
    frames = np.concatenate([sequence.frames[c.start : c.stop] for c in chosen])
    return sequence.with_parts(frames=frames, clips=tuple(clips))
