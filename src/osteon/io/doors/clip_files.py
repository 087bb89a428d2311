"""Files that hold joints and clips but no mesh: what they hold, and a character that plays them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from osteon.core.errors import FileFormatError, OptionError
from osteon.core.model import SkinnedModel
from osteon.io.doors.format_types import ClipFacts, ClipFiles, PlayedClips
from osteon.io.doors.frame_choice import choose_frame_numbers
from osteon.io.doors.inputs import resolve_inputs
from osteon.io.doors.options import DEFAULT_LOAD_OPTIONS, LoadOptions
from osteon.io.doors.registry import MODEL_FORMATS, model_format_of
from osteon.io.doors.source import PathLike

__all__ = ["describe_clips_only", "holds_clips_only", "play_on_rig"]


def holds_clips_only(path: PathLike) -> bool:
    """Whether this file holds joints and clips, but no mesh that they move."""
    found = MODEL_FORMATS.get(Path(path).suffix.lower())
    reader = None if found is None else found.clip_files
    return reader is not None and Path(path).is_file() and reader.holds(Path(path))


def describe_clips_only(path: PathLike, options: LoadOptions = DEFAULT_LOAD_OPTIONS) -> ClipFacts:
    """What such a file holds."""
    return _reader(Path(path)).describe(Path(path), options)


def play_on_rig(
    rig: PathLike, paths: Sequence[PathLike], *, options: LoadOptions = DEFAULT_LOAD_OPTIONS
) -> PlayedClips | None:
    """The character `rig` with the clips of files that hold no mesh; None if no input is such a file."""
    files = [take.files[0] for take in resolve_inputs(paths)]
    clips_only = [holds_clips_only(path) for path in files]
    if not any(clips_only):
        return None
    rig = Path(rig)
    for path, alone in zip(files, clips_only, strict=True):
        if not alone and not (rig.exists() and path.samefile(rig)):
            first = files[clips_only.index(True)]
            raise FileFormatError(f"{path}: holds a mesh, but {first} holds clips for a rig; give one kind of them")
    if options.rest is not None or options.faces is not None:
        flag = "--faces" if options.rest is None else "--rest"
        raise OptionError(f"{flag}: clips without a mesh play the rig's own; leave it away")
    if holds_clips_only(rig):
        raise FileFormatError(f"{rig}: holds clips but no mesh; name the file of the character with --rig")
    played = _reader(rig).play(rig, files, replace(options, frames=None, step=1))
    return replace(played, model=_choose_frames(played.model, options))


def _reader(path: Path) -> ClipFiles:
    found = model_format_of(path).clip_files
    if found is None:
        known = ", ".join(suffix for suffix, model in MODEL_FORMATS.items() if model.clip_files is not None)
        raise FileFormatError(f"{path}: clips without a mesh play on characters in {known}; write it as one of these")
    return found


def _choose_frames(model: SkinnedModel, options: LoadOptions) -> SkinnedModel:
    frames, clips = choose_frame_numbers(model.clips, options.frames, options.step)
    return model.take_frames(np.array(frames, np.int32)).with_parts(clips=clips)
