"""`osteon skin`: a mesh sequence in, a skinned model out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from osteon.cli.common import (
    console,
    default_of,
    input_options,
    json_option,
    load_inputs,
    number_options,
    parse_bytes,
    progress_bar,
    save_options,
    size_text,
    write_json,
)
from osteon.core.errors import BoundNotReached, OptionError
from osteon.core.options import Preset, SkinOptions, WeightMethod
from osteon.core.sequence import MeshSequence
from osteon.io.doors.options import SaveOptions

if TYPE_CHECKING:
    from osteon.core.model import BoneType, SkinnedModel
    from osteon.core.progress import Progress
    from osteon.measure.skin_report import SkinReport
    from osteon.pipeline import Budget, SkinFit, Try

__all__ = ["check_outputs", "print_report", "skin", "write_outputs"]

#: Error in percent, worst distance, bytes; None where not asked for.
Limits = tuple[float | None, float | None, int | None]


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    required=True,
    metavar="OUT",
    help="Model: .glb .gltf .usdc .usda .usdz .npz. Frames: a folder, 'out_####.obj', .ply, .abc. May be repeated.",
)
@click.option("--bones", "-b", default=default_of("bones"), help="Exactly this many.  [as many as mean shift finds]")
@click.option(
    "--bone-type",
    type=click.Choice(["flexible", "rigid"]),
    default=default_of("bone_type"),
    show_default=True,
    help="Flexible bones may stretch and shear.",
)
@click.option("--influences", "-k", default=default_of("influences"), show_default=True, help="Bones a vertex, 1 to 8.")
@click.option(
    "--rank",
    "-r",
    default=default_of("rank"),
    show_default=True,
    help="Progressive corrections: morph targets that bring the skin closer.",
)
@click.option("--max-error", type=float, metavar="PERCENT", help="Find bones and rank for this E, with few bytes.")
@click.option("--max-distance", type=float, metavar="UNITS", help="The same for the worst vertex.")
@click.option("--max-bytes", type=parse_bytes, metavar="SIZE", help="The least error in a file of this size: 400k, 2M.")
@click.option("--rig", type=click.Path(path_type=Path), metavar="FILE", help="Keep the joints of this character.")
@click.option("--helpers", default=default_of("helpers"), show_default=True, help="Bones to add to the rig.")
@click.option(
    "--preset",
    type=click.Choice(["default", "paper"]),
    default=default_of("preset"),
    show_default=True,
    help="'paper': Skinning Mesh Animations (2005) step by step.",
)
@click.option(
    "--tolerance",
    "--eps",
    default=default_of("tolerance"),
    show_default=True,
    help="eps of mean shift; larger gives fewer bones.",
)
@click.option(
    "--weights",
    type=click.Choice(["nnls", "tsvd", "bounded"]),
    default=default_of("weights"),
    show_default=True,
    help="Least squares of the paper preset.",
)
@click.option("--delta", default=default_of("delta"), show_default=True, help="Weights >= -delta, with 'bounded'.")
@click.option(
    "--tsvd-threshold",
    default=default_of("tsvd_threshold"),
    show_default=True,
    help="Singular values dropped, with 'tsvd'.",
)
@click.option("--rounds", default=default_of("rounds"), show_default=True, help="Rounds of refinement.")
@click.option(
    "--stiffness", default=default_of("stiffness"), show_default=True, help="Pull of flexible bones towards rotations."
)
@click.option(
    "--smooth-weights",
    default=default_of("smooth_weights"),
    show_default=True,
    help="Pull of weights towards their neighbours'; try 0.01.",
)
@click.option(
    "--holdout",
    default=default_of("holdout"),
    metavar="K",
    show_default=True,
    help="Leave every K-th frame out of the fit and report its error.",
)
@save_options
@click.option("--report", "html", metavar="FILE.html", help="Write a page with pictures, curves and advice.")
@input_options
@number_options
@json_option
def skin(
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    bones: int,
    bone_type: BoneType,
    influences: int,
    rank: int,
    max_error: float | None,
    max_distance: float | None,
    max_bytes: int | None,
    rig: Path | None,
    helpers: int,
    preset: Preset,
    tolerance: float,
    weights: WeightMethod,
    delta: float,
    tsvd_threshold: float,
    rounds: int,
    stiffness: float,
    smooth_weights: float,
    holdout: int,
    quantize: bool,
    key_error: float,
    no_normals: bool,
    html: str | None,
    fps: float | None,
    faces: Path | None,
    rest: str | None,
    clips: tuple[str, ...],
    seed: int,
    threads: int,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Turn a mesh sequence into a skinned model.

    INPUTS are a folder of meshes, a pattern, files in order, or one animated file; several folders or animated files
    become several clips on one rig.

    \b
    osteon skin cloth/ -o cloth.glb --rank 5
    osteon skin face.abc --max-error 0.5 -o face.glb --report face.html
    osteon skin walk/ run/ --bones 40 -o both.usdc
    osteon skin anim.abc --rig character.glb --helpers 4 -o character2.glb
    """
    options = SkinOptions(
        preset=preset,
        bones=bones,
        bone_type=bone_type,
        influences=influences,
        rank=rank,
        helpers=helpers,
        tolerance=tolerance,
        weights=weights,
        delta=delta,
        tsvd_threshold=tsvd_threshold,
        rounds=rounds,
        stiffness=stiffness,
        smooth_weights=smooth_weights,
        holdout=holdout,
        seed=seed,
        threads=threads,
    )
    save = SaveOptions(quantize=quantize, key_error=key_error / 100, normals=not no_normals)
    limits = (max_error, max_distance, max_bytes)
    _check_options(options, limits, rig)
    check_outputs(outputs, html)
    budget = _budget(limits)
    with progress_bar(quiet) as progress:
        sequence = load_inputs(inputs, fps=fps, faces=faces, rest=rest, clips=clips, progress=progress)
        fit, tries, met = _fit(sequence, options, budget, rig, _sizer(outputs[0], save), progress, quiet)
        write_outputs(fit, outputs, save)
        report = fit.report.with_output_bytes(_size_of(outputs[0]))
        if html is not None:
            _write_page(html, replace(fit, report=report), sequence, options, rig is not None, progress)
    write_json(report.to_json() | ({"tries": [asdict(t) for t in tries], "bound_met": met} if tries else {}), json_file)
    if not quiet and json_file != "-":
        print_report(report, (*outputs, *([html] if html else [])))
    if not met:
        raise BoundNotReached("the bound was not reached; the best that was found has been written")


def _check_options(options: SkinOptions, limits: Limits, rig: Path | None) -> None:
    """Refuse options that contradict each other."""
    asked = any(limit is not None for limit in limits)
    if options.helpers and rig is None:
        raise OptionError("--helpers: adds bones to a rig; name one with --rig FILE")
    if asked and rig is not None:
        raise OptionError("--rig: brings its own bones, so a bound cannot be searched for; use --helpers and --rank")
    if asked and options.bones:
        raise OptionError("--bones: a bound finds the number of bones itself; leave --bones away")
    if asked and options.rank:
        raise OptionError("--rank: a bound finds the rank itself; leave --rank away")
    if asked and options.preset == "paper":
        raise OptionError("--preset paper: has no search for a bound; use the default preset")
    if asked and options.holdout:
        raise OptionError("--holdout: not together with a bound; fit again with the bones and rank it finds")


def _budget(limits: Limits) -> Budget | None:
    """What was asked for, checked before anything is read."""
    from osteon.pipeline import Budget

    return None if all(limit is None for limit in limits) else Budget(*limits)


def _fit(
    sequence: MeshSequence,
    options: SkinOptions,
    budget: Budget | None,
    rig: Path | None,
    size_of: Callable[[SkinnedModel], int],
    progress: Progress | None,
    quiet: bool,
) -> tuple[SkinFit, tuple[Try, ...], bool]:
    from osteon.pipeline import fit_to_budget, skin_sequence

    if budget is None:
        joints = None
        if rig is not None:
            from osteon.io import load_model

            joints = load_model(rig)
        return skin_sequence(sequence, options=options, rig=joints, progress=progress), (), True
    out = console(stderr=True)

    def tell(tried: Try) -> None:
        if not quiet:
            out.print(
                f"{tried.bones:4d} bones, rank {tried.rank:2d}: E {tried.error_percent:.3f} %, "
                f"worst {tried.worst:.3g}, {size_text(tried.bytes)}"
            )

    found = fit_to_budget(sequence, budget, size_of=size_of, options=options, tell=tell, progress=progress)
    return found.fit, found.tries, found.met


def _write_page(
    path: str, fit: SkinFit, sequence: MeshSequence, options: SkinOptions, rigged: bool, progress: Progress | None
) -> None:
    from osteon.report.curves import ReportCurves, report_curves
    from osteon.report.html import write_html_report

    # Quick fits find their own bones; beside a rig's they would say nothing.
    found = replace(options, bones=fit.report.bones, rank=fit.report.rank)
    curves = ReportCurves() if rigged else report_curves(sequence, fit.report, found, progress)
    write_html_report(path, fit, sequence, curves=curves)


def _is_model(path: str) -> bool:
    from osteon.io import MODEL_FORMATS

    return Path(path).suffix.lower() in MODEL_FORMATS


def check_outputs(outputs: tuple[str, ...], html: str | None = None) -> None:
    """Refuse a bad output before the work, not after it."""
    from osteon.io import check_output, check_sequence_output

    named = (*outputs, *([html] if html else []))
    if len({Path(name).resolve() for name in named}) != len(named):
        raise OptionError("-o: the same output is named twice")
    if html is not None:
        if Path(html).suffix.lower() not in (".html", ".htm"):
            raise OptionError(f"--report: '{html}' should end in .html")
        check_output(html)
    for path in outputs:
        if _is_model(path):
            check_output(path)
        else:
            check_sequence_output(path)


def write_outputs(fit: SkinFit, outputs: tuple[str, ...], options: SaveOptions) -> None:
    """Write every output in the format its name says."""
    from osteon.io import save_model, save_played

    for path in outputs:
        if _is_model(path):
            save_model(fit.model, path, options=options)
        else:
            save_played(fit.model, path)


def _sizer(path: str, options: SaveOptions) -> Callable[[SkinnedModel], int]:
    """Bytes of a model as the first output will hold it; as a GLB where that is frames."""
    suffix = Path(path).suffix.lower() if _is_model(path) else ".glb"

    def size_of(model: SkinnedModel) -> int:
        from osteon.io import save_model

        with TemporaryDirectory() as folder:
            target = Path(folder) / f"model{suffix}"
            save_model(model, target, options=options)
            return target.stat().st_size

    return size_of


def _size_of(path: str) -> int:
    target = Path(path)
    if target.is_file():
        return target.stat().st_size
    folder = target if target.is_dir() else target.parent  # frames have a folder of their own
    return sum(f.stat().st_size for f in folder.iterdir() if f.is_file())


def print_report(report: SkinReport, outputs: tuple[str, ...]) -> None:
    """The report as a table for people."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    counts = report.input
    worst = report.worst
    rows = [
        ("input", f"{counts['frames']} frames, {counts['vertices']:,} vertices, {counts['triangles']:,} triangles"),
        ("bones", f"{report.bones} {report.bone_type}, {report.influences} a vertex"),
        (
            "rank",
            f"{report.rank}   (cut to rank 0: E {report.error_percent_by_rank['0']:.3f} %)" if report.rank else "",
        ),
        ("error E", f"[bold]{report.error_percent:.3f} %[/]   (Karni-Gotsman {report.karni_gotsman_percent:.3f} %)"),
        ("RMS", f"{report.rms:.4g}"),
        ("worst", f"{worst['distance']:.4g} at vertex {worst['vertex']}, frame {worst['frame']}"),
        ("normals", f"{report.normal_deviation_degrees['mean']:.2f}° on average"),
        ("near-rigid", f"{report.near_rigid_fraction:.0%} of the triangles at tolerance {report.tolerance:g}"),
        ("held out", "" if report.heldout_error_percent is None else f"{report.heldout_error_percent:.3f} %"),
        ("smaller by", f"{report.compression_ratio:.1f} x (as floats)"),
        ("size", "" if report.output_bytes is None else size_text(report.output_bytes)),
        ("time", f"{report.seconds['fit']:.2f} s"),
        ("written", ", ".join(outputs)),
    ]
    for name, value in rows:
        if value:
            table.add_row(name, value)
    out = console()
    out.print(table)
    for warning in report.warnings:
        out.print(f"[yellow]note:[/] {warning}")
