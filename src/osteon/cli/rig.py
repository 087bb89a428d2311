"""`osteon rig`: a mesh sequence in, a character with a skeleton out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from osteon.cli.common import WallTime, console, json_option, print_json, progress_bar, write_json
from osteon.cli.option_flags import naming_input, options_of, refuse_unused
from osteon.cli.outputs import file_output, model_output, plan_outputs
from osteon.cli.skin import print_report, write_outputs
from osteon.cli.stored_light import OTHER_BONES, notes_on_light
from osteon.core.compile_kernels import start_compiling
from osteon.core.options import option
from osteon.fit.kernel_modules import RIG_KERNELS
from osteon.io import MODEL_FORMATS, LoadOptions, SaveOptions, load_sequence
from osteon.io.formats.engine_facts import engine_notes, file_plays, plays_json, plays_rows
from osteon.io.models import note_lost
from osteon.io.save.atomic import written_path
from osteon.io.skeletons.section_tree import load_section_tree, save_section_tree
from osteon.pipeline.options import RigOptions

if TYPE_CHECKING:
    from osteon.pipeline.skeleton import RigFit


@dataclass(frozen=True, slots=True)
class RigFiles:
    """The outputs of the command."""

    outputs: tuple[str, ...] = option(
        (),
        help="The rigged character: .glb .gltf .usdc .usda .usdz .npz. May be repeated.",
        flags=("-o", "--output"),
        metavar="OUT",
        required=True,
    )
    tree: str | None = option(
        None,
        help="Fit this edited tree, a file of --save-tree: joints re-hung, merged, split, moved or renamed.",
        flags=("--tree",),
        metavar="FILE",
    )
    save_tree: str | None = option(
        None, help="Write the tree as a text file that can be edited (.json).", flags=("--save-tree",), metavar="FILE"
    )


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@options_of(files=RigFiles, options=RigOptions, save=SaveOptions, load=LoadOptions)
@json_option
def rig(
    inputs: tuple[str, ...],
    files: RigFiles,
    options: RigOptions,
    save: SaveOptions,
    load: LoadOptions,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Find the skeleton that moves a mesh sequence.

    INPUTS are a folder of meshes, a pattern, files in order, or one animated file. The result is a skinned character
    whose joints form one tree, ready to be posed, retargeted and animated.

    \b
    osteon rig walk/ -o walk.glb
    osteon rig capture.abc --bones 25 --symmetric -o body.usdc
    osteon rig horse.npz --form free -o horse.glb --json skeleton.json
    osteon rig walk/ -o walk.glb --save-tree walk.json   edit walk.json, then
    osteon rig walk/ -o walk.glb --tree walk.json --force
    """
    clock = WallTime.of_command()
    suffixes = frozenset(Path(path).suffix.lower() for path in files.outputs)
    for path in files.outputs:
        if Path(path).suffix.lower() not in MODEL_FORMATS:
            known = " ".join(sorted(MODEL_FORMATS))
            raise click.UsageError(f"-o {path}: a rig is written as a model; use one of {known}")
    refuse_unused(rig=False, bound=False, written=suffixes, corrected=False, stock=True, input="sequence")
    outputs = plan_outputs(
        [*inputs, load.rest, load.faces, files.tree],
        *(model_output("-o", path) for path in files.outputs),
        file_output("--save-tree", files.save_tree, (".json",)),
        file_output("--json", json_file),
    )
    tree = None if files.tree is None else load_section_tree(files.tree)
    start_compiling(RIG_KERNELS)  # while the file is read
    with progress_bar(quiet) as progress:
        with clock.stage("load"):
            sequence = load_sequence(list(inputs), options=load, progress=progress)
        with clock.stage("import"):
            from osteon.pipeline.skeleton import rig_sequence
        with clock.stage("fit"), naming_input(inputs, sequence.name):
            found = rig_sequence(sequence, options=options, tree=tree, progress=progress)
        clock.split("fit", {name: found.fit.report.seconds[name] for name in ("measure", "fit")}, "other")
        with outputs.writing():
            with clock.stage("write"):
                write_outputs(found.fit, files.outputs, save)
                if files.save_tree is not None:
                    save_section_tree(found.tree, files.save_tree)
            report = found.fit.report.with_output_bytes(written_path(Path(files.outputs[0])).stat().st_size)
            plays = file_plays(found.model, files.outputs, save, None)
            lost = [note for path in files.outputs for note in note_lost(found.model, path)]
            lost += [*found.model.asset.origin.lost, *notes_on_light(inputs, files.outputs, OTHER_BONES)]
            notes = (*lost, *engine_notes(found.model, plays, save))
            report = replace(report, warnings=(*report.warnings, *notes)).with_seconds(clock.seconds())
            facts = report.to_json() | {
                "form": options.form,
                "free_error_percent": found.free_error_percent,
                "skeleton": found.to_json(),
                "plays": plays_json(plays),
            }
            write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        print_report(report.with_seconds(clock.seconds()), files.outputs, (*skeleton_rows(found), *plays_rows(plays)))
        if found.model.n_bones > 1:
            console().print(f"[dim]view it:[/] osteon view {files.outputs[0]}")


def skeleton_rows(found: RigFit) -> list[tuple[str, str]]:
    """Rows of the table about the skeleton."""
    names, parents = found.skeleton.names, found.skeleton.parents
    leaves = sum(1 for b in range(len(names)) if not (parents == b).any())
    pairs = sum(1 for name in names if name.endswith("_L"))
    row = f"{len(names)} joints in one tree, {leaves} chains end, {pairs} pairs of left and right"
    return [("skeleton", row), ("free bones", f"E {found.free_error_percent:.3f} % if each has its own motion")]
