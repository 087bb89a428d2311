"""`osteon play`: evaluate a skinned model to vertices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.cli.common import WallTime, console, json_option, print_json, progress_bar, say_lost, time_text, write_json
from osteon.cli.info import choose_frames, describe_clips, load_skinned, print_facts, take_frames
from osteon.cli.option_flags import is_given, options_of, some_of
from osteon.cli.outputs import file_output, plan_outputs, sequence_output
from osteon.core.errors import OptionError
from osteon.io import LoadOptions, save_played

if TYPE_CHECKING:
    from osteon.core.model import SkinnedModel


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    help="Frames: a folder, 'out/fox_####.obj' or .ply; or one file for all (.npz, .abc, .pc2, …).",
)
@click.option(
    "--frames", metavar="A:B|LIST", help="Select frames, counted from 0 over the selected clips: '10:20', '0,5,9'."
)
@click.option("--rank", type=click.IntRange(min=0), metavar="R", help="Evaluate only the first R corrections.  [all]")
@click.option("--format", "suffix", default="obj", show_default=True, help="Format of frames in a folder: obj or ply.")
@options_of(load=some_of(LoadOptions, "fps", "clips"))
@json_option
def play(
    file: Path,
    output: str,
    frames: str | None,
    rank: int | None,
    suffix: str,
    load: LoadOptions,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Evaluate a skinned model to vertices.

    FILE is a model written by Osteon, or any glTF animated by a skin, morph targets or nodes.

    \b
    osteon play fox.npz -o frames/
    osteon play fox.glb --clip Walk --frames 0:10 -o walk/fox_####.ply
    osteon play cloth.glb --rank 0 -o cloth-rank0.npz
    """
    clock = WallTime.of_command()
    folder = not Path(output).suffix or output.endswith(("/", "\\")) or Path(output).is_dir()
    if is_given("suffix") and not folder:
        raise OptionError(f"--format: sets the format of frames in a folder, but {output} has a suffix; omit it")
    outputs = plan_outputs([file], sequence_output("-o", output, suffix), file_output("--json", json_file))
    with progress_bar(quiet) as progress:
        with clock.stage("load"):
            model = load_skinned(file, load)
            model = take_frames(model, choose_frames(model, load.clips, frames, file))
            model = _cut(model, rank, file)
        with clock.stage("import"):
            import osteon.deform.pose  # noqa: F401  compiled kernels, which take a while
        with outputs.writing():
            with clock.stage("write"):
                save_played(model, output, suffix=suffix, progress=progress)
            facts, seconds = _describe(model, output), clock.seconds()
            written = facts | {"seconds": seconds["wall"], "seconds_by_stage": seconds}
            write_json(written, json_file)
    print_json(written, json_file)
    say_lost(model.asset, output, quiet=quiet)
    if not quiet and json_file != "-":
        print_facts(facts | {"time": time_text(clock.seconds())}, console())


def _cut(model: SkinnedModel, rank: int | None, file: Path) -> SkinnedModel:
    if rank is not None and rank > model.rank:
        raise OptionError(f"--rank: {rank}, but {file} has {model.rank} corrections")
    return model if rank is None else model.truncate(rank)


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
