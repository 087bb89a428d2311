"""`osteon lod`: a skinned, animated model in, the same model with its levels of detail out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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
from osteon.cli.info import load_skinned, take_clips
from osteon.cli.option_flags import is_any_given, options_of, refuse_given, refuse_unused, some_of
from osteon.cli.outputs import file_output, model_output, plan_outputs
from osteon.cli.stored_light import ONE_LEVEL, OTHER_CLIPS, light_of, notes_on_light
from osteon.core.compile_kernels import start_compiling
from osteon.core.errors import BoundNotReached, OptionError
from osteon.core.options import drop_unused, option
from osteon.fit.kernel_modules import LOD_KERNELS
from osteon.io import MODEL_FORMATS, LoadOptions, SaveOptions, save_model
from osteon.io.formats.engine_facts import engine_notes, file_plays, plays_json, plays_rows
from osteon.io.models import check_level_output
from osteon.lod.options import FARTHEST, LodOptions

if TYPE_CHECKING:
    from rich.console import Console

    from osteon.apply.light.model_light import ModelLight
    from osteon.core.model import SkinnedModel
    from osteon.core.progress import Progress
    from osteon.lod.model_levels import Level
    from osteon.pipeline.levels import BakedLevel, LevelsFit


def _parse_bake(text: str) -> str:
    """A whole number, or a percentage up to 100."""
    number = text.strip().removesuffix("%")
    part = text.strip().endswith("%")
    try:
        fits = 0 <= float(number) <= 100 if part else int(number) >= 0
    except ValueError:
        fits = False
    if not fits:
        raise OptionError(f"expected the number of a level, or a part of the full cost as 35%, got '{text}'")
    return text.strip()


@dataclass(frozen=True, slots=True)
class LodFiles:
    """The outputs of the command."""

    outputs: tuple[str, ...] = option(
        (),
        help="The model with its levels: .glb .gltf .npz; with --bake-level any model: .usdc too. May be repeated.",
        flags=("-o", "--output"),
        metavar="OUT",
        required=True,
    )
    report: str | None = option(
        None,
        help="Write a page with curves, pictures and a table of the levels.",
        flags=("--report",),
        metavar="FILE.html",
    )
    bake: str | None = option(
        None,
        help="Write this level alone, with only its joints and keys: its number (0 is the full model), or a part of the"
        " full cost of bones and blends on the model's own mesh, such as 35%.",
        flags=("--bake-level",),
        metavar="N|PERCENT",
        parse=_parse_bake,
    )

    @property
    def share(self) -> float | None:
        """The part of the full cost that is baked, 0 … 1; None where a level is named, or none."""
        return float(self.bake[:-1]) / 100 if self.bake is not None and self.bake.endswith("%") else None


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@options_of(files=LodFiles, options=LodOptions, save=SaveOptions, load=some_of(LoadOptions, "fps", "clips"))
@json_option
def lod(
    file: Path,
    files: LodFiles,
    options: LodOptions,
    save: SaveOptions,
    load: LoadOptions,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Give a skinned, animated model levels of detail: fewer bones, fewer blends, fewer triangles.

    FILE is any glTF, USD or .npz of a skinned model. In the result bones and blends fade continuously, coarser meshes
    share the skin (MSFT_lod), and a stock player shows the full character.

    \b
    osteon lod soldier.glb -o soldier-lod.glb --report soldier.html
    osteon lod soldier.glb --bones 50%,25% -o soldier-lod.glb
    osteon lod soldier.glb --max-error 1 --levels 3 --keep-mesh -o soldier-lod.npz
    osteon lod soldier-lod.glb --bake-level 2 -o soldier-far.glb
    """
    clock = WallTime.of_command()
    suffixes = _check_outputs(files)
    if files.share is not None and files.report is None:
        why = "of levels that have a number, and a part of the cost is written; omit it"
        refuse_given("options", why, besides=("form", "threads"))
    refuse_unused(written=suffixes, listed=options.is_list)
    outputs = plan_outputs(
        [file],
        *(model_output("-o", path) for path in files.outputs),
        file_output("--report", files.report, (".html", ".htm")),
        file_output("--json", json_file),
    )
    start_compiling(LOD_KERNELS)  # while the file is read
    with progress_bar(quiet) as progress:
        with clock.stage("load"):
            model = take_clips(load_skinned(file, load), load.clips, file)
        stock = model.deformer.stock_skin() is not None
        refuse_unused(corrected=bool(model.rank), stock=stock, moving=model.n_frames > 1)
        with clock.stage("import"):
            import osteon.pipeline.levels  # noqa: F401  compiled kernels, which take a while
        with clock.stage("fit"):
            found = _fit(file, model, files, options, progress)
        level = _baked_level(found, files)
        with clock.stage("measure"):
            result = _Result.of(found, level, save, None if level else light_of(file, model))
            unlit = notes_on_light([file], files.outputs, ONE_LEVEL if level else OTHER_CLIPS)
        with outputs.writing():
            with clock.stage("write"):
                result.write(files.outputs, save)
            if files.report is not None:
                with clock.stage("page"):
                    from osteon.report.lod_page import write_levels_page

                    write_levels_page(files.report, found, result.sizes, progress=progress)
            plays = file_plays(result.model, files.outputs, save, None, coarse_meshes=result.has_coarse)
            notes = (*found.notes, *(() if result.light else unlit), *engine_notes(result.model, plays, save))
            facts = describe_levels(found, result.sizes, level, result.baked) | {
                "outputs": list(files.outputs),
                "plays": plays_json(plays),
                "notes": list(notes),
                "seconds": found.seconds | clock.seconds(),
            }
            write_json(facts, json_file)
    print_json(facts, json_file)
    say_lost(model.asset, *files.outputs, quiet=quiet)
    if not quiet and json_file != "-":
        written = (*files.outputs, *([files.report] if files.report else []))
        print_levels(facts, clock.seconds(), written, plays_rows(plays), console())
    if not found.reached:
        raise BoundNotReached("not every level has as few triangles as requested; the fewest possible were written")


def _check_outputs(files: LodFiles) -> frozenset[str]:
    """Suffixes of the outputs; refuses formats that cannot hold levels or models."""
    for path in files.outputs:
        if Path(path).suffix.lower() not in MODEL_FORMATS:
            known = " ".join(sorted(MODEL_FORMATS))
            raise click.UsageError(f"-o {path}: levels are those of a model; use one of {known}")
        if files.bake is None:
            check_level_output(path)
    return frozenset(Path(path).suffix.lower() for path in files.outputs)


def _fit(file: Path, model: SkinnedModel, files: LodFiles, options: LodOptions, progress: Progress | None) -> LevelsFit:
    """The levels in the file if one of them is baked and no other option is given; otherwise new ones."""
    from osteon.core.options import change_options
    from osteon.lod.model_levels import load_levels
    from osteon.pipeline.levels import fit_levels, stored_fit

    if files.bake is not None and not is_any_given("options", besides=("threads",)) and not is_any_given("load"):
        stored = load_levels(file)
        if stored is not None:
            return stored_fit(stored, options)
    if files.share is not None and files.report is None:
        options = change_options(options, keep_mesh=True)
    return fit_levels(model, options=options, progress=progress)


def _baked_level(found: LevelsFit, files: LodFiles) -> Level | None:
    """The level that is written alone, if one is."""
    from osteon.pipeline.levels import level_at

    if files.bake is None:
        return None
    return found.levels.level(int(files.bake)) if files.share is None else level_at(found, files.share)


@dataclass(frozen=True, slots=True)
class _Result:
    """The model to write, and the size of each level alone."""

    found: LevelsFit
    sizes: tuple[int, ...]  # bytes of every level as a plain .glb
    baked: BakedLevel | None  # if one is written alone
    light: ModelLight | None  # precomputed light of the model

    @staticmethod
    def of(found: LevelsFit, level: Level | None, save: SaveOptions, light: ModelLight | None) -> _Result:
        from osteon.pipeline.levels import bake_found, file_sizes

        baked = None if level is None else bake_found(found, level)
        return _Result(found, file_sizes(found.levels, save), baked, light)

    @property
    def model(self) -> SkinnedModel:
        """The model that a stock player shows."""
        return self.found.levels.model if self.baked is None else self.baked.model

    @property
    def has_coarse(self) -> bool:
        return self.baked is None and bool(self.found.levels.coarse)

    def write(self, outputs: tuple[str, ...], save: SaveOptions) -> None:
        """Every output, with the options that its format has."""
        from osteon.lod.model_levels import save_levels

        for path in outputs:
            used = drop_unused(save, written=Path(path).suffix.lower())
            if self.baked is None and self.light is not None:
                self._write_lit(self.light, path, used)
            elif self.baked is None:
                save_levels(self.found.levels, path, options=used)
            else:
                save_model(self.baked.model, path, options=used)

    def _write_lit(self, light: ModelLight, path: str, save: SaveOptions) -> None:
        """The levels with the light of the model, which coarser meshes take from its surface."""
        from osteon.pipeline.light import light_with_levels
        from osteon.pipeline.light_files import save_light

        levels = self.found.levels
        stored = levels.to_stored()
        lit = light_with_levels(levels.model, light, stored)
        save_light(levels.model, lit, path, levels=stored, options=save)


_HEADINGS = ("level", "bones", "blends", "triangles", "E %", "RMS %", "worst %", "up to", "alone")


def describe_levels(
    found: LevelsFit, sizes: Sequence[int], level: Level | None, baked: BakedLevel | None
) -> dict[str, Any]:
    """Facts about the levels as plain JSON."""
    model, errors = found.levels.model, found.errors
    facts: dict[str, Any] = {
        "name": model.name,
        "by": found.options.by,
        "bones": {"all": model.n_bones, "used": found.levels.skin.n_ordered},
        "levels": [one.to_json() | {"bytes": size} for one, size in zip(found.levels.levels, sizes, strict=True)],
        "clips": [
            {
                "name": name or None,
                "form": order.form,
                "order": [model.track.names[b] for b in order.order],
                "rms_percent": (100 * errors.rms(number)).tolist(),
                "share_percent": (100 * errors.share(number)).tolist(),
            }
            for number, (name, order) in enumerate(
                zip(errors.clips, (*found.levels.skin.orders, found.levels.skin.all_clips), strict=True)
            )
        ],
        "reached": found.reached,
    }
    if level is not None and baked is not None:
        facts["baked"] = level.to_json() | {
            "joints": baked.model.n_bones,
            "influences": baked.model.skin.n_influences,
            "error_percent": baked.error_percent,
            "rms_percent": baked.rms_percent,
            "worst_percent": baked.worst_percent,
        }
    return facts


def print_levels(
    facts: Mapping[str, Any],
    seconds: Mapping[str, float],
    written: Sequence[str],
    plays: Sequence[tuple[str, str]],
    out: Console,
) -> None:
    """Print the levels as a table, the outputs, and the engines that show them."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in _HEADINGS:
        table.add_column(heading, justify="right")
    for number, level in enumerate(facts["levels"]):
        table.add_row(*_cells(number, level))
    out.print(table)
    out.print("[dim]RMS, worst: in percent of the body's size[/]")
    out.print(f"[dim]up to: its size on the screen while RMS is below 1 pixel and worst below {FARTHEST:.0f} pixels[/]")
    rows = [("bones", f"{facts['bones']['used']} of {facts['bones']['all']} move vertices"), *_baked_rows(facts)]
    rows += [("time", time_text(seconds)), ("written", ", ".join(written)), *plays]
    below = Table(show_header=False, box=None, pad_edge=False)
    below.add_column(style="dim")
    below.add_column()
    for row in rows:
        below.add_row(*row)
    out.print(below)
    for note in facts["notes"]:
        out.print(f"[yellow]note:[/] {note}")


def _cells(number: int, level: Mapping[str, Any]) -> list[str]:
    first = number == 0
    return [
        str(number),
        str(level["bones"]),
        str(level["blends"]),
        f"{level['triangles']:,}",
        "" if first else f"{level['error_percent']:.2f}",
        "" if first else f"{level['rms_percent']:.3f}",
        "" if first else f"{level['worst_percent']:.2f}",
        f"{level['pixels']:,.0f} px" if level["pixels"] else "any",
        size_text(level["bytes"]),
    ]


def _baked_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    baked = facts.get("baked")
    if baked is None:
        return []
    words = (
        f"{baked['bones']} bones in {baked['joints']} joints, {baked['influences']} per vertex, "
        f"{baked['triangles']:,} triangles: E {baked['error_percent']:.2f} %, RMS {baked['rms_percent']:.3f} %, "
        f"worst {baked['worst_percent']:.2f} %"
    )
    return [("baked", words)]
