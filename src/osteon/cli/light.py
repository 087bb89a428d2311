"""`osteon light`: a skinned, animated model and an environment in, the same model with precomputed light out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.apply.light.options import LightColorOptions, LightOptions
from osteon.cli.common import (
    WallTime,
    console,
    json_option,
    print_json,
    progress_bar,
    say_lost,
    size_text,
    time_text,
    write_json,
)
from osteon.cli.info import load_skinned, take_clips
from osteon.cli.option_flags import options_of, refuse_unused, some_of
from osteon.cli.outputs import WRITTEN, file_output, model_output, plan_outputs
from osteon.core.compile_kernels import start_compiling
from osteon.core.errors import OptionError
from osteon.core.options import drop_unused, option
from osteon.fit.kernel_modules import LIGHT_KERNELS
from osteon.io import MODEL_FORMATS, LoadOptions, SaveOptions
from osteon.io.formats.engine_facts import engine_notes, file_plays, plays_json, plays_rows
from osteon.io.models import check_light_output

if TYPE_CHECKING:
    from rich.console import Console

    from osteon.apply.light.model_light import Environment, ModelLight
    from osteon.core.model import SkinnedModel, StoredLevels
    from osteon.core.progress import Progress


@dataclass(frozen=True, slots=True)
class LightFiles:
    """The outputs of the command."""

    outputs: tuple[str, ...] = option(
        (),
        help="The model with its light: .glb .gltf .npz. May be repeated.",
        flags=("-o", "--output"),
        metavar="OUT",
        required=True,
    )


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("environments", nargs=-1, metavar="[ENVIRONMENT]...")
@options_of(
    files=LightFiles,
    options=LightOptions,
    colors=LightColorOptions,
    save=SaveOptions,
    load=some_of(LoadOptions, "fps", "clips"),
)
@json_option
def light(
    model: Path,
    environments: tuple[str, ...],
    files: LightFiles,
    options: LightOptions,
    colors: LightColorOptions,
    save: SaveOptions,
    load: LoadOptions,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Precompute how a skinned, animated model reflects light from all around, with its own shadows.

    MODEL is any glTF, USD or .npz of a skinned model. ENVIRONMENT is an image of the surroundings (.hdr, .exr, .png,
    .jpg) or one of the built-in skies overcast, sunset and studio; the page of `osteon view` rotates and exchanges it.
    The light is compressed across the frames, and follows the bones. A stock player shows it as vertex colours under
    the first environment.

    \b
    osteon light fox.glb sunset -o fox-lit.glb
    osteon light fox.glb venice.hdr --bounces 2 --baked --for web -o fox-lit.glb
    osteon light fox.glb --occlusion -o fox-occlusion.glb
    """
    clock = WallTime.of_command()
    suffixes = _check_usage(environments, files, options, colors)
    refuse_unused(written=suffixes)
    outputs = plan_outputs(
        [model, *(name for name in environments if Path(name).exists())],
        *(model_output("-o", path) for path in files.outputs),
        file_output("--json", json_file),
    )
    start_compiling(LIGHT_KERNELS)  # while the file is read
    with progress_bar(quiet) as progress:
        with clock.stage("load"):
            loaded = take_clips(load_skinned(model, load), load.clips, model)
            levels = None if load.clips else _levels_of(model)
            found = load_environments(environments, options, colors)
        stock = loaded.deformer.stock_skin() is not None
        refuse_unused(corrected=bool(loaded.rank), stock=stock)
        with clock.stage("light"), _kept_frames(frames_folder(files.outputs[0])) as folder:
            result = _fit(loaded, found, options, levels, folder, progress)
        with outputs.writing():
            with clock.stage("write"):
                from osteon.pipeline.light_files import save_light

                for path in files.outputs:
                    used = drop_unused(save, written=Path(path).suffix.lower())
                    save_light(loaded, result, path, levels=levels, colors=colors, options=used)
            plays = file_plays(loaded, files.outputs, save, None, coarse_meshes=bool(levels and levels.coarse))
            notes = engine_notes(loaded, plays, save)
            facts = describe_light(result) | {
                "outputs": list(files.outputs),
                "plays": plays_json(plays),
                "notes": list(notes),
                "seconds": clock.seconds(),
            }
            write_json(facts, json_file)
        _remove_frames(folder)
    print_json(facts, json_file)
    say_lost(loaded.asset, *files.outputs, quiet=quiet)
    if not quiet and json_file != "-":
        print_light(facts, clock.seconds(), files.outputs, plays_rows(plays), console())


def _check_usage(
    environments: Sequence[str], files: LightFiles, options: LightOptions, colors: LightColorOptions
) -> frozenset[str]:
    """Suffixes of the outputs; refuses formats that cannot hold light, and a missing or useless environment."""
    for path in files.outputs:
        if Path(path).suffix.lower() not in MODEL_FORMATS:
            raise click.UsageError(f"-o {path}: light is that of a model; write a .glb, .gltf or .npz")
        check_light_output(path)
    if options.occlusion and environments:
        raise OptionError(f"{environments[0]}: ambient occlusion needs no environment; omit it, or --occlusion")
    if not options.occlusion and not environments:
        raise click.UsageError("name an environment: an image, or overcast, sunset or studio; or use --occlusion")
    if colors.colors == "morphed" and not (options.baked or options.occlusion):
        raise OptionError("colors morphed: needs --baked, the factors of colours that change with time")
    return frozenset(Path(path).suffix.lower() for path in files.outputs)


def load_environments(
    names: Sequence[str], options: LightOptions, colors: LightColorOptions
) -> tuple[Environment, ...]:
    """The environments of a command, in the axes of the model."""
    from osteon.apply.light.environment import load_environment, rotated

    found = (load_environment(name, options.up) for name in names)
    return tuple(rotated(one, colors.rotate, options.up) if colors.rotate else one for one in found)


def _levels_of(path: Path) -> StoredLevels | None:
    from osteon.io import load_stored_levels

    return load_stored_levels(path)


def frames_folder(output: str) -> Path:
    """Where finished frames are kept until the output is written."""
    return Path(f"{output}.frames")


@contextmanager
def _kept_frames(folder: Path) -> Iterator[Path]:
    """The folder, which is listed as written if the run ends early."""
    try:
        yield folder
    except BaseException:
        if folder.is_dir():
            WRITTEN.paths.append(folder)
        raise


def _remove_frames(folder: Path) -> None:
    from osteon.apply.light.precompute import FrameFolder

    FrameFolder(folder).remove()


def _fit(
    model: SkinnedModel,
    environments: tuple[Environment, ...],
    options: LightOptions,
    levels: StoredLevels | None,
    folder: Path,
    progress: Progress | None,
) -> ModelLight:
    from osteon.pipeline.light import LightRun, fit_light

    return fit_light(model, environments, options=options, levels=levels, run=LightRun(folder), progress=progress)


def describe_light(light: ModelLight) -> dict[str, Any]:
    """Facts about the light as plain JSON."""
    from osteon.pipeline.light import rank_rows

    return {
        "kind": "occlusion" if light.is_occlusion else "transfer",
        "order": light.order,
        "points": light.transfer.n_points,
        "frames": light.n_frames,
        "environments": [one.name for one in light.environments],
        "ground": None if light.ground is None else light.ground.resolution,
        "coarse": len(light.coarse),
        "bytes": light.n_bytes,
        "ranks": [asdict(row) for row in rank_rows(light)],
    }


def print_light(
    facts: Mapping[str, Any],
    seconds: Mapping[str, float],
    written: Sequence[str],
    plays: Sequence[tuple[str, str]],
    out: Console,
) -> None:
    """Print the table of ranks, the outputs, and the engines that show them."""
    from rich.table import Table

    baked = any(row["baked_percent"] is not None for row in facts["ranks"])
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("rank", "transfer %", "ground %", *(("baked %",) if baked else ()), "bytes"):
        table.add_column(heading, justify="right")
    for row in facts["ranks"]:
        percents = [row["error_percent"], row["ground_percent"], *([row["baked_percent"]] if baked else [])]
        table.add_row(str(row["rank"]), *("" if p is None else f"{p:.2f}" for p in percents), size_text(row["bytes"]))
    out.print(table)
    out.print("[dim]root mean square error of all frames, relative to the transfer; size in the file[/]")
    what = "ambient occlusion" if facts["kind"] == "occlusion" else f"order {facts['order']}"
    rows = [("light", f"{what}, {facts['points']:,} points in {facts['frames']} frames, {size_text(facts['bytes'])}")]
    rows += [("environments", ", ".join(facts["environments"]))] if facts["environments"] else []
    rows += [("time", time_text(seconds)), ("written", ", ".join(written)), *plays]
    below = Table(show_header=False, box=None, pad_edge=False)
    below.add_column(style="dim")
    below.add_column()
    for name, text in rows:
        below.add_row(name, text)
    out.print(below)
    for note in facts["notes"]:
        out.print(f"[yellow]note:[/] {note}")
