"""Writes the frames of a mesh, one file per frame.

Outputs:
- `frames/` or `frames`: a folder, `frames/frame_0000.obj`, `frames/frame_0001.obj`, …
- `frames/horse_####.obj` or `frames/horse_%04d.obj`: the same with other names;
- `horse.obj`: one file, for one frame only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from osteon.core.arrays import Float32, FloatArray, Int32
from osteon.core.errors import FileFormatError, OptionError
from osteon.core.frames import ReaderFrames, each_frame
from osteon.core.mesh import Asset
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.io.formats.format_types import FrameWriter, MeshFormat, SequenceFormat, check_extra
from osteon.io.formats.registry import FORMATS, format_of, writable_suffixes
from osteon.io.load.source import PathLike
from osteon.io.save.atomic import atomic_file, atomic_folder, check_folder, check_output, output_batch
from osteon.io.save.overwriting import check_not_source, same_place

BARE = Asset()
_COUNTER = re.compile(r"#+|%0?(\d*)d")
_LIBRARY = "materials"  # stem of what all frames of a folder refer to


@dataclass(frozen=True, slots=True)
class _Target:
    """The output for frames: a folder and names in it, or one file."""

    path: Path  # the folder, or the file
    suffix: str
    before: str = ""  # of the number in a name
    after: str = ""
    digits: int = 0  # 0: one file

    def name(self, frame: int) -> str:
        return f"{self.before}{frame:0{self.digits}d}{self.after}"

    def pattern(self) -> re.Pattern[str]:
        """Names that this output may replace."""
        return re.compile(rf"{re.escape(self.before)}\d+{re.escape(self.after)}|{_LIBRARY}(\.mtl|_[\w-]+\.(png|jpg))")

    def check(self, path: Path) -> None:
        """Refuse what must not be replaced: a folder that holds anything but frames with the names of this output."""
        if not self.digits:
            check_output(path)
            return
        check_folder(path, self.pattern())


def write_sequence(
    frames: Iterable[FloatArray],
    faces: Int32,
    path: PathLike,
    *,
    asset: Asset = BARE,
    suffix: str = ".obj",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """Write each frame (v,3) to a file; all of them appear or none. `suffix` is the format of frames in a folder.

    A file that exists is replaced; a folder only if it holds nothing but frames with the names of this output. What the
    frames were read from is replaced only with `overwrite`.
    Frames may come from an iterator; then only one of them is in memory. Returns the files.
    """
    target = _target(path, suffix)
    if not overwrite:
        _check_not_source(asset, target)
    writer = frame_writer(target.suffix, faces, asset, _LIBRARY if target.digits else target.path.stem)
    total = len(frames) if isinstance(frames, (np.ndarray, list, tuple)) else 0
    stored = (np.asarray(frame, np.float32) for frame in frames)
    if not target.digits:
        return _write_one(stored, target, writer)
    written: list[Path] = []
    with atomic_folder(target.path, target.check) as folder:
        for f, frame in enumerate(stored):
            (folder / target.name(f)).write_bytes(writer.frame(frame))
            written.append(target.path / target.name(f))
            report_progress(progress, "write", (f + 1) / max(total, f + 1))
        for name, data in writer.extra_files().items():
            (folder / name).write_bytes(data)
        if not written:
            raise OptionError(f"{target.path}: there are no frames to write")
    return written


def save_sequence(
    sequence: MeshSequence,
    path: PathLike,
    *,
    suffix: str = ".obj",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """Write a sequence: whole to an .npz, else frame by frame as `write_sequence` does. Returns the files.

    A file that exists is replaced; a folder only if it holds nothing but frames with the names of this output. What the
    frames were read from is replaced only with `overwrite`.
    """
    found = FORMATS.get(Path(path).suffix.lower())
    if isinstance(found, SequenceFormat) and found.write is not None:
        if found.plain_pictures:
            sequence = sequence.with_parts(asset=sequence.asset.with_pictures())
        if not found.further_sets:
            sequence = sequence.with_parts(asset=sequence.asset.with_first_sets())
        if not overwrite:
            check_not_source(sequence.asset, Path(path))
        with atomic_file(path) as temporary:
            found.write(temporary, sequence)
        return [Path(path)]
    return write_sequence(
        each_frame(sequence.source),
        sequence.faces,
        path,
        asset=sequence.asset,
        suffix=suffix,
        overwrite=overwrite,
        progress=progress,
    )


def check_sequence_output(path: PathLike, *, suffix: str = ".obj") -> None:
    """Refuse an output of `save_sequence` that could not be written, before the long work starts."""
    found = FORMATS.get(Path(path).suffix.lower())
    if isinstance(found, SequenceFormat) and found.write is not None:
        check_output(path)
        check_extra(found, Path(path))
        return
    target = _target(path, suffix)
    target.check(target.path)


def frames_folder(path: PathLike, *, suffix: str = ".obj") -> Path | None:
    """The folder that an output of `save_sequence` replaces; None where it is one file."""
    found = FORMATS.get(Path(path).suffix.lower())
    if isinstance(found, SequenceFormat) and found.write is not None:
        return None
    target = _target(path, suffix)
    return target.path if target.digits else None


def _check_not_source(asset: Asset, target: _Target) -> None:
    """Refuse to write over the files that the mesh was read from."""
    if not target.digits:
        check_not_source(asset, target.path)
    elif any(same_place(file.parent, target.path) for file in asset.origin.files):
        raise FileFormatError(f"{target.path}: the mesh was read from it; name another folder, or pass overwrite=True")


def _target(path: PathLike, suffix: str) -> _Target:
    target = Path(path)
    suffix = suffix if suffix.startswith(".") else f".{suffix}"
    known = target.suffix.lower()
    if str(path).endswith(("/", "\\")) or target.is_dir() or not known:
        if suffix not in writable_suffixes():
            raise OptionError(f"suffix: cannot write frames as '{suffix}'; known are {', '.join(writable_suffixes())}")
        return _Target(target, suffix, "frame_", suffix, 4)
    found = format_of(target)
    if not isinstance(found, MeshFormat) or found.writer is None:
        raise FileFormatError(f"{target}: frames are written as {' or '.join(writable_suffixes())}, not '{known}'")
    counters = list(_COUNTER.finditer(target.name))
    if len(counters) > 1:
        raise OptionError(f"{target}: more than one place for the frame number; write one run of #, or %04d")
    if not counters:
        return _Target(target, known)
    at = counters[0]
    digits = len(at[0]) if at[0].startswith("#") else int(at[1] or 1)
    return _Target(target.parent, known, target.name[: at.start()], target.name[at.end() :], digits)


def frame_writer(suffix: str, faces: Int32, asset: Asset, stem: str) -> FrameWriter:
    """The writer of frames of one mesh; `stem` is the name of the files that they refer to."""
    found = FORMATS.get(suffix)
    if not isinstance(found, MeshFormat) or found.writer is None:
        raise OptionError(f"cannot write frames as '{suffix}'; known are {', '.join(writable_suffixes())}")
    return found.writer(faces, asset.with_first_sets().with_pictures(), stem)


def _write_one(frames: Iterator[Float32], target: _Target, writer: FrameWriter) -> list[Path]:
    """The only frame, and what it refers to beside it."""
    taken = list(islice(frames, 2))
    if len(taken) != 1:
        found = "several frames" if taken else "no frame"
        raise OptionError(
            f"{target.path}: one file for {found}; name a folder, or {target.path.stem}_####{target.suffix}"
        )
    files = {target.path: writer.frame(taken[0])}
    files |= {target.path.with_name(name): data for name, data in writer.extra_files().items()}
    with output_batch():
        for path, data in files.items():
            with atomic_file(path) as temporary:
                temporary.write_bytes(data)
    return [target.path]


def save_played(
    model: SkinnedModel, path: PathLike, *, suffix: str = ".obj", progress: Progress | None = None
) -> list[Path]:
    """Write the frames of `model`, as `save_sequence` does. Returns the files.

    Frames are posed when they are written, a few at a time, so that a long animation is never in memory as a whole.
    """
    return save_sequence(_streamed(model, progress), path, suffix=suffix)


def played_sequence(model: SkinnedModel) -> MeshSequence:
    """All frames of a model, in memory."""
    streamed = _streamed(model, None)
    return streamed.with_parts(frames=streamed.frames)


def _streamed(model: SkinnedModel, progress: Progress | None) -> MeshSequence:
    """The frames of a model, posed when they are read."""
    from osteon.deform.edits import edited_model
    from osteon.deform.pose import pose_frames  # compiled: not needed to import the formats

    model = edited_model(model)

    def read(start: int, stop: int) -> Float32:
        posed = pose_frames(model, start, stop)
        report_progress(progress, "play", stop / model.n_frames)
        return posed

    frames = ReaderFrames(model.n_frames, model.n_vertices, read)
    return MeshSequence(frames, model.faces, model.rest, model.clips, model.asset, model.name)
