"""A model that a person names, and frames of it: clips by name, frames by number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from osteon.core.errors import FileFormatError
from osteon.core.options import command_text
from osteon.io import MODEL_FORMATS, LoadOptions, holds_model, load_model
from osteon.io.load.clips import clips_of_frames, parse_frames

if TYPE_CHECKING:
    from osteon.core.model import SkinnedModel

__all__ = ["choose_frames", "load_skinned", "take_clips", "take_frames"]


def load_skinned(file: Path, options: LoadOptions) -> SkinnedModel:
    """The skinned model in a file; one that holds something else is told what to do with it."""
    if not file.exists():
        raise FileFormatError(f"{file}: there is no such file")
    if file.is_file() and file.suffix.lower() in MODEL_FORMATS and not holds_model(file):
        skin = command_text("osteon", "skin", file, "-o", file.with_name(f"{file.stem}-skinned.glb"))
        raise FileFormatError(f"{file}: is no skinned model, nothing in it moves by bones; make one with: {skin}")
    return load_model(file, options=options)


def take_clips(model: SkinnedModel, clips: tuple[str, ...], file: Path) -> SkinnedModel:
    """The same model with only the given clips."""
    return take_frames(model, choose_frames(model, clips, None, file)) if clips else model


def choose_frames(model: SkinnedModel, clips: tuple[str, ...], frames: str | None, file: Path) -> list[int]:
    """The frames that the options name, in their order."""
    from osteon.io.load.clips import select_names

    chosen = [model.clips[i] for i in select_names([c.name for c in model.clips], clips, file)]
    there = [f for clip in chosen for f in range(clip.start, clip.stop)]
    return there if frames is None else [there[i] for i in parse_frames(frames, len(there))]


def take_frames(model: SkinnedModel, frames: list[int]) -> SkinnedModel:
    """The same model with only the given frames; a run of frames of one clip stays a clip."""
    from osteon.core.animation import BoneTrack
    from osteon.core.corrections import Corrections

    if frames == list(range(model.n_frames)):
        return model
    clips = clips_of_frames(model.clips, frames)
    track, added = model.track, model.corrections
    if added is not None:
        added = Corrections(added.basis, added.coefficients[frames], added.normal_basis)
    track = BoneTrack(track.transforms[frames], track.bone_type, track.names)
    return model.with_corrections(None).with_animation(track=track, clips=clips).with_corrections(added)
