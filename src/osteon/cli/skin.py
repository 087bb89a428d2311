"""`osteon skin`: fit a skinned model to a mesh sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from osteon.cli.common import WallTime, console, json_option, print_json, progress_bar, size_text, time_text, write_json
from osteon.cli.option_flags import is_given, naming_input, optional, options_of, refuse_unused
from osteon.cli.outputs import file_output, model_output, plan_outputs
from osteon.cli.skin_clips import ClipRun, write_clips
from osteon.cli.stored_light import OTHER_BONES, OTHER_FRAMES, notes_on_light
from osteon.core.compile_kernels import start_compiling
from osteon.core.errors import BoundNotReached
from osteon.core.options import drop_unused, need, option
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.fit.kernel_modules import kernels_for
from osteon.io import (
    MODEL_FORMATS,
    LoadOptions,
    SaveOptions,
    load_model,
    load_sequence,
    save_model,
    save_played,
)
from osteon.io.engines import GLTF
from osteon.io.formats.engine_facts import FilePlays, engine_notes, file_plays, plays_json, plays_rows
from osteon.io.formats.options import ClipOptions
from osteon.io.load.rig_files import PlayedClips, keeps_rig, open_character, play_on_rig, save_on_rig
from osteon.io.models import note_lost
from osteon.io.save.atomic import scratch_folder, written_path
from osteon.io.save.sequences import frames_folder
from osteon.pipeline.options import Budget, Try, options_for

if TYPE_CHECKING:
    from osteon.core.model import SkinnedModel
    from osteon.core.progress import Progress
    from osteon.io.gltf.patch.character import Character
    from osteon.measure.skin_report import SkinReport
    from osteon.pipeline.skin import SkinFit
    from osteon.report.curves import ReportCurves


@dataclass(frozen=True, slots=True)
class SkinFiles:
    """The outputs, and the rig that is kept."""

    outputs: tuple[str, ...] = option(
        (),
        help="Model: .glb .gltf .usdc .usda .usdz .npz. Frames: a folder, 'out_####.obj', .abc, .pc2. May be repeated.",
        flags=("-o", "--output"),
        metavar="OUT",
        required=True,
    )
    report: str | None = option(
        None, help="Write a page with pictures, curves and advice.", flags=("--report",), metavar="FILE.html"
    )
    rig: Path | None = option(
        None,
        help="Keep this character: weights and motion are added to its file.",
        flags=("--rig",),
        metavar="FILE",
        needs=(
            need(
                bound=False,
                reason="has its own bones, so there is no search for a bound; use --helpers and --rank",
            ),
        ),
    )


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@options_of(
    files=SkinFiles,
    options=SkinOptions,
    budget=optional(Budget),
    save=SaveOptions,
    load=LoadOptions,
    clip_options=ClipOptions,
)
@json_option
def skin(
    inputs: tuple[str, ...],
    files: SkinFiles,
    options: SkinOptions,
    budget: Budget | None,
    save: SaveOptions,
    load: LoadOptions,
    clip_options: ClipOptions,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Turn a mesh sequence into a skinned model.

    INPUTS are a folder of meshes, a pattern, files in order, or one animated file; several folders or animated files
    become several clips on one rig. With --rig the file of the character is kept and only extended; inputs may then be
    glTF or FBX without a mesh: clips for its joints.

    \b
    osteon skin cloth/ -o cloth.glb --rank 5
    osteon skin face.abc --max-error 0.5 -o face.glb --report face.html
    osteon skin walk/ run/ --bones 40 -o both.usdc
    osteon skin cloth/ --for web -o cloth.glb
    osteon skin anim.abc --rig character.glb --helpers 4 -o character2.glb
    osteon skin run.glb walk.glb --rig character.glb -o moving.glb
    """
    clock = WallTime.of_command()
    written = _written(files.outputs, budget)
    refuse_unused(
        rig=files.rig is not None,
        bound=budget is not None,
        written=written,
        corrected=bool(options.rank or budget),
        stock=options.model == "lbs" or (options.model == "dqs" and not written & set(GLTF)),  # USD has a form for it
        input="sequence",
    )
    if files.rig is None:
        refuse_unused(clips=False, kept=False)
    has_bone_type = is_given("options.bone_type")
    options = options_for(options, save.engine, has_bone_type=has_bone_type, has_rig=files.rig is not None)
    outputs = plan_outputs(
        [*inputs, files.rig, load.rest, load.faces],
        *(model_output("-o", path) for path in files.outputs),
        file_output("--report", files.report, (".html", ".htm")),
        file_output("--json", json_file),
    )
    start_compiling(kernels_for(replace(options, rank=1) if budget else options))  # while the file is read
    with progress_bar(quiet) as progress:
        with clock.stage("load"):
            given = _load(inputs, files.rig, load, clip_options, progress)
        if isinstance(given, PlayedClips):
            given = replace(given, notes=(*given.notes, *notes_on_light([files.rig], files.outputs, OTHER_FRAMES)))
            write_clips(given, ClipRun(files.outputs, files.report, save, outputs, clock, json_file, quiet))
            return
        sequence, rig, notes = given.sequence, given.rig, given.notes
        kept = given.character if given.keeps_file(options, files.outputs) else None
        refuse_unused(clips=False, kept=kept is not None)
        with clock.stage("import"):
            import osteon.pipeline.skin  # noqa: F401  compiled kernels, which take a while
        with clock.stage("fit"), naming_input(inputs, sequence.name):
            options = options if rig is None else _options_for_rig(options, sequence, rig, has_bone_type=has_bone_type)
            if budget is None:
                found = Found(_fit(given, options, kept, progress))
            else:
                found = _search(sequence, budget, options, _sizer(files.outputs[0], save), progress, quiet)
        taken = {name: found.fit.report.seconds[name] for name in ("measure", "fit")}
        clock.split("fit", taken, "other" if budget is None else "search")
        curves = None
        if files.report is not None:
            with clock.stage("page"):
                sizer = _sizer(files.outputs[0], save, kept)
                curves = _curves(sizer, found, sequence, options, rig, budget, progress)
        with clock.stage("write"):
            sizer = _sizer(files.outputs[0], save, kept)
            without_normals = _bytes_without_normals(found.fit.model, files.outputs[0], sizer)
        with outputs.writing():
            with clock.stage("write"):
                write_outputs(found.fit, files.outputs, save, kept)
            report = found.fit.report.with_output_bytes(_size_of(files.outputs[0]))
            if without_normals is not None and report.output_bytes is not None:
                report = replace(report, normal_bytes=report.output_bytes - without_normals)
            plays = _plays(found.fit, files.outputs, save)
            lost = [note for path in files.outputs for note in note_lost(found.fit.model, path)]
            lost += [] if kept is not None else found.fit.model.asset.origin.lost
            anew = _notes_on_rig(given.character, found.fit, files.outputs)
            anew += notes_on_light((*inputs, files.rig), files.outputs, OTHER_BONES)
            notes = (*lost, *anew, *engine_notes(found.fit.model, plays, save))
            report = replace(report, warnings=(*report.warnings, *notes))
            if files.report is not None and curves is not None:
                with clock.stage("page"):
                    _write_page(files.report, replace(found.fit, report=report), sequence, curves)
            report = report.with_seconds(clock.seconds())
            facts = report.to_json() | found.to_json() | {"plays": plays_json(plays)}
            write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        report = report.with_seconds(clock.seconds())
        print_report(report, (*files.outputs, *([files.report] if files.report else [])), plays_rows(plays))
    if not found.met:
        raise BoundNotReached("the bound was not reached; the best that was found has been written")


@dataclass(frozen=True, slots=True)
class Found:
    """A fit, and the search for it where a bound was given."""

    fit: SkinFit
    tries: tuple[Try, ...] = ()
    met: bool = True

    def to_json(self) -> dict[str, Any]:
        return {"tries": [asdict(t) for t in self.tries], "bound_met": self.met} if self.tries else {}


def _written(outputs: tuple[str, ...], budget: Budget | None) -> frozenset[str]:
    """Suffixes of the models that are written; frames count only if a bound measures them as a GLB."""
    sized = [_sized_as(outputs[0])] if budget is not None else []
    return frozenset([Path(path).suffix.lower() for path in outputs if _is_model(path)] + sized)


@dataclass(frozen=True, slots=True)
class Given:
    """The loaded frames, the rig, the file of the rig, and notes."""

    sequence: MeshSequence
    rig: SkinnedModel | None = None
    character: Character | None = None
    notes: tuple[str, ...] = ()

    def keeps_file(self, options: SkinOptions, outputs: tuple[str, ...]) -> bool:
        """Whether the file of the rig is kept and only extended."""
        written = any(Path(path).suffix.lower() in GLTF for path in outputs)
        if self.character is None or self.rig is None or not written or options.model != "lbs":
            return False
        same = self.sequence.n_vertices == self.rig.n_vertices
        return same and np.array_equal(self.sequence.faces, self.rig.faces)


def _load(
    inputs: tuple[str, ...],
    rig: Path | None,
    options: LoadOptions,
    clip_options: ClipOptions,
    progress: Progress | None,
) -> Given | PlayedClips:
    """Load the frames, in the vertex order of the rig if it is the same mesh, and the rig; or clips for its joints."""
    played = None if rig is None else play_on_rig(rig, inputs, options=options, clip_options=clip_options)
    if played is not None:
        return played
    sequence = load_sequence(list(inputs), options=options, progress=progress)
    if rig is None:
        return Given(sequence)
    from osteon.pipeline.rig import on_rig_vertices

    character = open_character(rig)
    model = load_model(rig) if character is None else character.model
    sequence, notes = on_rig_vertices(sequence, model)
    if character is not None and np.array_equal(sequence.faces, model.faces):
        sequence = sequence.with_parts(asset=model.asset)  # the output has the surface of the rig
    return Given(sequence, model, character, notes)


def _notes_on_rig(character: Character | None, fit: SkinFit, outputs: tuple[str, ...]) -> list[str]:
    """Notes on outputs that do not keep the file of the rig."""
    if character is None:
        return []
    name = character.document.source.path
    anew = [path for path in outputs if Path(path).suffix.lower() in GLTF and not keeps_rig(character, fit.model, path)]
    model, own = fit.model, character.model
    why = "its mesh is another"
    if model.deformer.kind != "linear_blend":
        why = "its deformer is not linear"
    elif model.rank and np.array_equal(model.faces, own.faces):
        why = "its morph targets hold light"
    return [f"{path}: holds the joints of {name}, not the rest of that file: {why}" for path in anew]


def _options_for_rig(
    options: SkinOptions, sequence: MeshSequence, rig: SkinnedModel, *, has_bone_type: bool
) -> SkinOptions:
    """Refuse options without effect on a rig. By default its joints are rigid and it gets no targets for normals."""
    from osteon.pipeline.rig import rig_circumstances

    brings = rig_circumstances(sequence, rig)
    refuse_unused(**brings)
    if not has_bone_type:
        options = replace(options, bone_type="rigid")
    if options.normals != "faceted" and not is_given("options.normal_rank"):
        options = replace(options, normal_rank=0)
    return drop_unused(options, **brings)


def _fit(given: Given, options: SkinOptions, kept: Character | None, progress: Progress | None) -> SkinFit:
    from osteon.pipeline.skin import skin_sequence

    limits = None if kept is None else kept.limits()
    fit = skin_sequence(given.sequence, options=options, rig=given.rig, limits=limits, progress=progress)
    return replace(fit, report=replace(fit.report, warnings=(*given.notes, *fit.report.warnings)))


def _search(
    sequence: MeshSequence,
    budget: Budget,
    options: SkinOptions,
    size_of: Callable[[SkinnedModel], int],
    progress: Progress | None,
    quiet: bool,
) -> Found:
    """Search for the best fit within a bound; prints every trial."""
    from osteon.pipeline.budget import fit_to_budget

    out = console(stderr=True)

    def on_try(tried: Try) -> None:
        if not quiet:
            out.print(
                f"{tried.bones:4d} bones, rank {tried.rank:2d}: E {tried.error_percent:.3f} %, "
                f"shading {tried.shading:.1f}°, worst {tried.worst:.3g}, {size_text(tried.bytes)}"
            )

    found = fit_to_budget(sequence, budget, size_of=size_of, options=options, on_try=on_try, progress=progress)
    return Found(found.fit, found.tries, found.met)


def _curves(
    size_of: Callable[[SkinnedModel], int],
    found: Found,
    sequence: MeshSequence,
    options: SkinOptions,
    rig: SkinnedModel | None,
    budget: Budget | None,
    progress: Progress | None,
) -> ReportCurves:
    """Results of other options; sizes are those of the format of the first output."""
    from osteon.report.curves import report_curves

    return report_curves(
        sequence,
        found.fit,
        replace(options, rank=found.fit.report.rank),
        size_of=size_of,
        rig=rig,
        tries=found.tries,
        max_bytes=None if budget is None else budget.max_bytes,
        progress=progress,
    )


def _write_page(path: str, fit: SkinFit, sequence: MeshSequence, curves: ReportCurves) -> None:
    from osteon.report.html import write_html_report

    write_html_report(path, fit, sequence, curves=curves)


def _plays(fit: SkinFit, outputs: tuple[str, ...], options: SaveOptions) -> list[FilePlays]:
    """Which engines show the outputs, with the error in engines without corrections."""
    without = fit.report.error_percent_by_rank["0"] if fit.report.rank else None
    return file_plays(fit.model, outputs, options, without)


def _is_model(path: str) -> bool:
    return Path(path).suffix.lower() in MODEL_FORMATS


def write_outputs(fit: SkinFit, outputs: tuple[str, ...], options: SaveOptions, kept: Character | None = None) -> None:
    """Write every output in the format of its suffix, with the options that this format has."""

    for path in outputs:
        if kept is not None and keeps_rig(kept, fit.model, path):
            save_on_rig(fit.model, kept, path)
        elif _is_model(path):
            save_model(fit.model, path, options=drop_unused(options, written=Path(path).suffix.lower()))
        else:
            save_played(fit.model, path)


def _sizer(path: str, options: SaveOptions, kept: Character | None = None) -> Callable[[SkinnedModel], int]:
    """A function for the size of a model in the format of the first output."""
    suffix = _sized_as(path)
    used = drop_unused(options, written=suffix)

    def size_of(model: SkinnedModel) -> int:
        with scratch_folder() as folder:
            target = folder / f"model{suffix}"
            if kept is not None and keeps_rig(kept, model, target):
                save_on_rig(model, kept, target)
            else:
                save_model(model, target, options=used)
            return target.stat().st_size

    return size_of


def _bytes_without_normals(model: SkinnedModel, path: str, size_of: Callable[[SkinnedModel], int]) -> int | None:
    """Size of the first output without morph targets for normals; None if it has none or is not a model."""
    if not model.normal_rank or not _is_model(path):
        return None
    corrections = model.corrections
    kept = None if corrections is None or not model.rank else corrections.take(np.arange(model.rank))
    return size_of(model.with_corrections(kept))


def _sized_as(path: str) -> str:
    """The format whose size counts; GLB for frames."""
    return Path(path).suffix.lower() if _is_model(path) else ".glb"


def _size_of(path: str) -> int:
    folder = None if _is_model(path) else frames_folder(path)
    if folder is None:
        return written_path(Path(path)).stat().st_size
    return sum(f.stat().st_size for f in written_path(folder).iterdir() if f.is_file())


def _shading_text(report: SkinReport) -> str:
    """The error of shading in a stock player."""
    degrees = report.shading_deviation_degrees
    return f"{degrees['mean']:.2f}° on average, {degrees['p95']:.1f}° at the 95th percentile (as players show it)"


def _normal_rank_text(report: SkinReport) -> str:
    """Morph targets for normals, and their size."""
    if not report.normal_rank:
        return ""
    size = "" if report.normal_bytes is None else f" ({size_text(report.normal_bytes)} of the file)"
    return f"{report.normal_rank} morph target{'s' if report.normal_rank > 1 else ''} that correct normals{size}"


def print_report(report: SkinReport, outputs: tuple[str, ...], plays: Sequence[tuple[str, str]] = ()) -> None:
    """Print the report as a table; `plays` are rows about engines."""
    from rich.table import Table

    from osteon.measure.skin_report import grade_result

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    counts = report.input
    worst, shown = report.worst, report.quality.fallback_error_percent
    rows = [
        ("input", f"{counts['frames']} frames, {counts['vertices']:,} vertices, {counts['triangles']:,} triangles"),
        ("bones", f"{report.bones} {report.bone_type}, {report.influences} per vertex"),
        (
            "model",
            "" if shown is None else f"{report.method.kind.replace('_', ' ')}   (stock players: E {shown:.3f} %)",
        ),
        (
            "rank",
            f"{report.rank}   (truncated to rank 0: E {report.error_percent_by_rank['0']:.3f} %)"
            if report.rank
            else "",
        ),
        ("normal rank", _normal_rank_text(report)),
        ("error E", f"[bold]{report.error_percent:.3f} %[/]   (Karni-Gotsman {report.karni_gotsman_percent:.3f} %)"),
        ("RMS", f"{report.rms:.4g}"),
        ("worst", f"{worst['distance']:.4g} at vertex {worst['vertex']}, frame {worst['frame']}"),
        ("shading", _shading_text(report)),
        ("looks", grade_result(report.quality, has_rig=report.has_rig, preset=report.preset).sentence()),
        ("near-rigid", f"{report.near_rigid_fraction:.0%} of the triangles at tolerance {report.tolerance:g}"),
        ("held out", "" if report.heldout_error_percent is None else f"{report.heldout_error_percent:.3f} %"),
        ("smaller by", f"{report.compression_ratio:.1f} x (as floats)"),
        ("size", "" if report.output_bytes is None else size_text(report.output_bytes)),
        ("time", time_text(report.seconds)),
        ("written", ", ".join(outputs)),
        *plays,
    ]
    for name, value in rows:
        if value:
            table.add_row(name, value)
    out = console()
    out.print(table)
    for warning in report.warnings:
        out.print(f"[yellow]note:[/] {warning}")
