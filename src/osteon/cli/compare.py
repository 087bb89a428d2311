"""`osteon compare`: skinning models on the same bones and training poses, measured on held-out poses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

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
from osteon.cli.option_flags import naming_input, options_of, refuse_unused, some_of
from osteon.cli.outputs import file_output, folder_output, plan_outputs
from osteon.core.compile_kernels import start_compiling
from osteon.core.options import command_text, option
from osteon.core.progress import report_progress
from osteon.fit.kernel_modules import COMPARE_KERNELS
from osteon.fit.models.registry import find_contestants
from osteon.io import LoadOptions, load_sequence
from osteon.pipeline.options import CompareOptions, check_strengths

if TYPE_CHECKING:
    from osteon.core.sequence import MeshSequence
    from osteon.io.save.overwriting import Output
    from osteon.pipeline.comparison import Comparison, PoseMeasures


@dataclass(frozen=True, slots=True)
class CompareFiles:
    """The outputs of the command."""

    report: str | None = option(
        None,
        help="Write a page with a verdict, tables, and pictures of the error of each model.",
        flags=("-o", "--output"),
        metavar="FILE.html",
    )
    save: str | None = option(
        None,
        help="Write every fitted model with all frames as FOLDER/NAME.npz; osteon view shows them side by side.",
        flags=("--save",),
        metavar="FOLDER",
    )


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@options_of(
    files=CompareFiles,
    options=CompareOptions,
    load=some_of(LoadOptions, "faces", "rest", "clips", "frames", "step"),
)
@json_option
def compare(
    inputs: tuple[str, ...],
    files: CompareFiles,
    options: CompareOptions,
    load: LoadOptions,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Compare skinning models on the poses of a mesh sequence.

    All models have the same bones, fitted to the training poses alone. They are measured on these and on all other
    poses. INPUTS are those of osteon skin.

    \b
    osteon compare horse.npz -o horse.html
    osteon compare horse.npz --models ssd,dqs --train 10 --bones 25 -o horse.html
    osteon compare walk/ run/ --poses 0,4,7,30 --json walk.json
    osteon compare horse.npz --models as,as-zero --lambda 0.001,0.1,10
    osteon compare horse.npz --save models        then: osteon view models horse.npz
    """
    clock = WallTime.of_command()
    refuse_unused(input="sequence", rest_pose="sequence")
    check_strengths(options, find_contestants(options.words))
    outputs = plan_outputs(
        [*inputs, load.rest, load.faces],
        file_output("-o", files.report, (".html", ".htm")),
        save_output(files.save),
        file_output("--json", json_file),
    )
    start_compiling(COMPARE_KERNELS)  # while the file is read
    with progress_bar(quiet) as progress:
        with clock.stage("load"):
            sequence = load_sequence(list(inputs), options=load, progress=progress)
        with clock.stage("import"):
            from osteon.pipeline.compare import compare_models
        with clock.stage("fit"), naming_input(inputs, sequence.name):
            found = compare_models(sequence, options=options, progress=progress)
        clock.split("fit", {"fit": found.seconds["fit"]}, "other")
        with outputs.writing():
            if files.report is not None:
                with clock.stage("page"):
                    from osteon.report.compare_page import write_comparison_page

                    report_progress(progress, "draw", 0.0)
                    write_comparison_page(files.report, found)
            facts = found.to_json() | _words(found)
            if files.save is not None:
                with clock.stage("write"):
                    facts["written"] = save_models(files.save, found, facts, sequence, inputs, load)
            facts["seconds"] = found.seconds | clock.seconds()
            write_json(facts, json_file)
    print_json(facts, json_file)
    say_lost(sequence.asset, quiet=quiet)
    if not quiet and json_file != "-":
        print_comparison(found, found.seconds | clock.seconds(), files.report)
        if files.save is not None:
            print_saved(facts["written"])


def _words(found: Comparison) -> dict[str, Any]:
    """The verdict of the page and the table."""
    from osteon.report.compare_figures import best_choice, compare_verdict, verdict_lines

    return {"best_choice": best_choice(found).word, "verdict": [compare_verdict(found), *verdict_lines(found)]}


def print_comparison(found: Comparison, seconds: dict[str, float], page: str | None) -> None:
    """Print the verdict, a table of all measures, and the costs."""
    from rich.table import Table

    from osteon.report.compare_figures import compare_verdict, strength_text, verdict_lines

    out = console()
    out.print(f"[bold]{compare_verdict(found)}[/]")
    for line in verdict_lines(found):
        out.print(line)
    out.print()
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("model", "surface %", "max %", "normals °", "max °", "RMS %", "max %", "E %"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    for name, unseen in (("unseen poses", True), ("training poses", False)):
        table.add_row(f"[dim]{name}[/]")
        for result in found.results:
            table.add_row(f"  {result.word}", *_cells(result.unseen if unseen else result.training))
    out.print(table)
    costs = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("cost", "numbers/vertex", "size", "multiply-adds/vertex", "ns/vertex", "fit s"):
        costs.add_column(heading, justify="left" if heading == "cost" else "right")
    n = max(1, found.sequence.n_vertices)
    for result in found.results:
        cost = result.cost
        cells = (f"{cost.floats / n:.3g}", size_text(cost.bytes), str(cost.multiply_adds), f"{cost.nanoseconds:.0f}")
        costs.add_row(f"  {result.word}", *cells, f"{result.seconds:.2f}")
    out.print(costs)
    strengths = [f"{r.word} {strength_text(r.strength)}" for r in found.results if r.strength is not None]
    if strengths:
        out.print(f"[dim]λ[/]        {', '.join(strengths)}")
    frames = ",".join(map(str, found.distinct[found.training].tolist()))
    out.print(
        f"[dim]poses[/]    {len(found.distinct)} distinct, {len(found.training)} to train with (--poses {frames}), "
        f"{found.n_bones} bones\n[dim]time[/]     {time_text(seconds)}"
    )
    if page is not None:
        out.print(f"[dim]written[/]  {page}")
    for note in found.notes:
        out.print(f"[yellow]note:[/] {note}")


def _cells(measured: PoseMeasures) -> list[str]:
    off, apart = measured.deviation, measured.distortion
    return [
        f"{off.percent(off.mean):.4f}",
        f"{off.percent(off.worst.distance):.3f}",
        f"{off.normal_mean:.2f}",
        f"{off.normal_worst.distance:.1f}",
        f"{off.percent(apart.rms):.4f}",
        f"{off.percent(apart.worst.distance):.3f}",
        f"{apart.error_percent:.3f}",
    ]


def save_output(path: str | None) -> Output | None:
    """The folder of the models, if one was named."""
    if path is None:
        return None
    from osteon.io.comparisons import check_comparison_folder

    check_comparison_folder(path)
    return folder_output("--save", path)


def save_models(
    path: str,
    found: Comparison,
    facts: dict[str, Any],
    sequence: MeshSequence,
    inputs: tuple[str, ...],
    load: LoadOptions,
) -> dict[str, Any]:
    """Write all models, and their source if one input does not identify it; returns what was written."""
    from osteon.io.comparisons import write_comparison_folder

    named = _names_source(inputs, load)
    models = {result.word: found.animated(result) for result in found.results}
    written = write_comparison_folder(path, models, facts, None if named else sequence)
    return {**written, "view": command_text("osteon", "view", path, *(inputs if named else ()))}


def print_saved(written: dict[str, Any]) -> None:
    """Print where the models are, and the command that shows them."""
    out = console()
    out.print(f"[dim]models[/]   {written['folder']}: ", end="", soft_wrap=True)
    out.print(", ".join(f"{word}.npz" for word in written["models"]), markup=False, soft_wrap=True)
    out.print("[dim]view[/]     ", end="")
    out.print(written["view"], markup=False, soft_wrap=True)


def _names_source(inputs: tuple[str, ...], load: LoadOptions) -> bool:
    """Whether the path of the input identifies the compared frames without further options."""
    return len(inputs) == 1 and load.faces is None and not load.clips and load.frames is None and load.step == 1
