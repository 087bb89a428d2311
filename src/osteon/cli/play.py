"""`osteon play`: a skinned model in, its vertices out."""

from __future__ import annotations

import os
import time
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.cli.common import console, json_option, progress_bar, write_json
from osteon.cli.info import describe_clips, print_facts
from osteon.core.errors import FileFormatError, OptionError

if TYPE_CHECKING:
    from osteon.core.model import SkinnedModel

__all__ = ["parse_frames", "play"]


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    help="Frames: a folder, 'out/fox_####.obj' or .ply; or one file for all (.npz, .abc).",
)
@click.option("--clip", "clips", multiple=True, metavar="NAME", help="Only this clip; may be repeated.  [all]")
@click.option(
    "--frames", metavar="A:B|LIST", help="Only these, counted from 0 over the chosen clips: '10:20', '0,5,9'."
)
@click.option("--rank", type=click.IntRange(min=0), metavar="R", help="Only the first R corrections.  [all]")
@click.option("--format", "suffix", default="obj", show_default=True, help="Of frames in a folder: obj or ply.")
@click.option("--fps", type=float, help="Rate at which the keys of a glTF are sampled.  [its own]")
@json_option
def play(
    file: Path,
    output: str,
    clips: tuple[str, ...],
    frames: str | None,
    rank: int | None,
    suffix: str,
    fps: float | None,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Evaluate a skinned model back to vertices.

    FILE is a model that Osteon wrote, or any glTF that moves by skin, morph targets or nodes.

    \b
    osteon play fox.npz -o frames/
    osteon play fox.glb --clip Walk --frames 0:10 -o walk/fox_####.ply
    osteon play cloth.glb --rank 0 -o cloth-rank0.npz
    """
    from osteon.io import LoadOptions, check_sequence_output, save_played

    started = time.perf_counter()
    options = LoadOptions(fps="file" if fps is None else fps, clips=clips)
    check_sequence_output(output, suffix=suffix)
    if os.path.realpath(file) == os.path.realpath(output):
        raise OptionError(f"-o: {output} is the model itself; name another file")
    with progress_bar(quiet) as progress:
        model = _load(file, options)
        model = _take_frames(model, _choose_frames(model, clips, frames, file))
        model = _cut(model, rank, file)
        save_played(model, output, suffix=suffix, progress=progress)
    facts = _describe(model, output) | {"seconds": time.perf_counter() - started}
    write_json(facts, json_file)
    if not quiet and json_file != "-":
        print_facts(facts, console())


def _load(file: Path, options: Any) -> SkinnedModel:
    from osteon.io import MODEL_FORMATS, holds_model, load_model

    if not file.exists():
        raise FileFormatError(f"{file}: there is no such file")
    if file.is_file() and file.suffix.lower() in MODEL_FORMATS and not holds_model(file):
        raise FileFormatError(f"{file}: nothing in it moves by bones or corrections; name a skinned model")
    return load_model(file, options=options)


def _choose_frames(model: SkinnedModel, clips: tuple[str, ...], frames: str | None, file: Path) -> list[int]:
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


def _take_frames(model: SkinnedModel, frames: list[int]) -> SkinnedModel:
    """The same model with only the given frames; a run of frames of one clip stays a clip."""
    from osteon.core.model import BoneTrack, Corrections
    from osteon.core.sequence import Clip

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


def _cut(model: SkinnedModel, rank: int | None, file: Path) -> SkinnedModel:
    if rank is not None and rank > model.rank:
        raise OptionError(f"--rank: {rank}, but {file} has {model.rank} corrections")
    return model if rank is None else model.cut(rank)


def _describe(model: SkinnedModel, output: str) -> dict[str, Any]:
    import numpy as np

    return {
        "output": output,
        "frames": model.n_frames,
        "vertices": model.n_vertices,
        "triangles": len(model.faces),
        "bones": model.n_bones,
        "rank": model.rank,
        "clips": describe_clips(model.clips),
        "diagonal": float(np.linalg.norm(np.ptp(model.rest.astype(np.float64), axis=0))),
    }
