"""`osteon skin`: a mesh sequence in, a skinned model out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from osteon.cli.common import (
    console,
    default_of,
    input_options,
    json_option,
    load_inputs,
    number_options,
    progress_bar,
    write_json,
)
from osteon.core.errors import OptionError
from osteon.core.options import Preset, SkinOptions, WeightMethod

if TYPE_CHECKING:
    from osteon.core.model import BoneType
    from osteon.measure.skin_report import SkinReport
    from osteon.pipeline import SkinFit

__all__ = ["print_report", "skin"]


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    required=True,
    metavar="OUT",
    help="model.npz, or frames: a folder, 'out_####.obj' or .ply. May be repeated.",
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
@input_options
@number_options
@json_option
def skin(
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    bones: int,
    bone_type: BoneType,
    influences: int,
    preset: Preset,
    tolerance: float,
    weights: WeightMethod,
    delta: float,
    tsvd_threshold: float,
    rounds: int,
    stiffness: float,
    smooth_weights: float,
    holdout: int,
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
    osteon skin cloth/ -o cloth.npz
    osteon skin walk/ run/ --bones 40 -o both.npz
    osteon skin fox.glb --fps 30 --bone-type rigid -o fox.npz -o frames/
    """
    options = SkinOptions(
        preset=preset,
        bones=bones,
        bone_type=bone_type,
        influences=influences,
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
    _check_outputs(outputs)
    with progress_bar(quiet) as progress:
        sequence = load_inputs(inputs, fps=fps, faces=faces, rest=rest, clips=clips, progress=progress)
        from osteon.pipeline import skin_sequence

        fit = skin_sequence(sequence, options=options, progress=progress)
        _write_outputs(fit, outputs)
    report = replace(fit.report, output_bytes=_size_of(outputs[0]))
    write_json(report.to_json(), json_file)
    if not quiet and json_file != "-":
        print_report(report, outputs)


def _is_model(path: str) -> bool:
    return Path(path).suffix.lower() == ".npz"


def _check_outputs(outputs: tuple[str, ...]) -> None:
    """Refuse a bad output before the work, not after it."""
    from osteon.io import check_output, check_sequence_output

    if len(set(outputs)) != len(outputs):
        raise OptionError("-o: the same output is named twice")
    for path in outputs:
        if _is_model(path):
            check_output(path)
        else:
            check_sequence_output(path)


def _write_outputs(fit: SkinFit, outputs: tuple[str, ...]) -> None:
    from osteon.deform.linear_blend import pose_vertices
    from osteon.io import save_model, write_sequence

    model = fit.model
    for path in outputs:
        if _is_model(path):
            save_model(model, path)
        else:
            frames = (pose_vertices(model, f) for f in range(model.n_frames))
            write_sequence(frames, model.faces, path, asset=model.asset)


def _size_of(path: str) -> int:
    target = Path(path)
    if target.is_file():
        return target.stat().st_size
    folder = target if target.is_dir() else target.parent
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
        ("error E", f"[bold]{report.error_percent:.3f} %[/]   (Karni-Gotsman {report.karni_gotsman_percent:.3f} %)"),
        ("RMS", f"{report.rms:.4g}"),
        ("worst", f"{worst['distance']:.4g} at vertex {worst['vertex']}, frame {worst['frame']}"),
        ("normals", f"{report.normal_deviation_degrees['mean']:.2f}° on average"),
        ("near-rigid", f"{report.near_rigid_fraction:.0%} of the triangles at tolerance {report.tolerance:g}"),
        ("held out", "" if report.heldout_error_percent is None else f"{report.heldout_error_percent:.3f} %"),
        ("smaller by", f"{report.compression_ratio:.1f} x (as floats)"),
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
