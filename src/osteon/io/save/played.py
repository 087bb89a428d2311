"""The frames of a skinned model to files, posed as they are written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from osteon.core.arrays import Float32
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.io.formats.format_types import SequenceFormat
from osteon.io.formats.registry import FORMATS
from osteon.io.load.source import PathLike
from osteon.io.save.sequences import save_sequence, write_sequence

__all__ = ["played_sequence", "save_played"]

#: Vertices that are posed at once; more frames at a time save the work that frames share.
BLOCK_VERTICES = 1 << 20


def save_played(
    model: SkinnedModel, path: PathLike, *, suffix: str = ".obj", progress: Progress | None = None
) -> list[Path]:
    """Write what `model` plays, as `save_sequence` does. Returns the files.

    Frame by frame where the output allows it, so that a long animation is never in memory as a whole.
    """
    if isinstance(FORMATS.get(Path(path).suffix.lower()), SequenceFormat):
        return save_sequence(played_sequence(model), path, suffix=suffix, progress=progress)
    return write_sequence(_posed(model, progress), model.faces, path, asset=model.asset, suffix=suffix)


def played_sequence(model: SkinnedModel) -> MeshSequence:
    """All that a model plays, in memory."""
    from osteon.deform.pose import pose_frames  # compiled: not needed to import the formats

    return MeshSequence(pose_frames(model), model.faces, model.rest, model.clips, model.asset, model.name)


def _posed(model: SkinnedModel, progress: Progress | None) -> Iterator[Float32]:
    """All frames, one after the other."""
    from osteon.deform.pose import pose_frames

    step = max(1, BLOCK_VERTICES // max(1, model.n_vertices))
    for start in range(0, model.n_frames, step):
        for f, frame in enumerate(pose_frames(model, start, min(start + step, model.n_frames)), start):
            yield frame
            report_progress(progress, "play", (f + 1) / model.n_frames)
