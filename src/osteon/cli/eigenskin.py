"""`osteon eigenskin`: learn corrections that follow the joints of a rig, from meshes of known poses."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from osteon.cli.option_flags import naming_input, options_of, refuse_unused
from osteon.cli.outputs import file_output, model_output, plan_outputs
from osteon.cli.stored_light import OTHER_FRAMES, notes_on_light
from osteon.core.compile_kernels import start_compiling
from osteon.core.errors import BoundNotReached, OptionError
from osteon.core.options import command_text, drop_unused, need, option
from osteon.fit.eigenskin.options import EigenSkinOptions
from osteon.fit.kernel_modules import EIGENSKIN_KERNELS
from osteon.io import MODEL_FORMATS, SaveOptions, holds_model, load_model, save_model
from osteon.io.formats.engine_facts import FilePlays, engine_notes, file_plays, plays_json, plays_rows
from osteon.io.metadata.baked import has_stock_form
from osteon.io.poses.pose_list import holds_pose_list
from osteon.io.save.atomic import written_path
from osteon.pipeline.known_poses.options import FOR_SEQUENCES, ClipPoseOptions

if TYPE_CHECKING:
    from osteon.core.model import SkinnedModel
    from osteon.core.progress import Progress
    from osteon.io.poses.pose_set import PoseSet
    from osteon.pipeline.known_poses.rig_poses import RigPoses


@dataclass(frozen=True, slots=True)
class EigenSkinFiles:
    """The skeleton that is read, and the outputs."""

    outputs: tuple[str, ...] = option(
        (),
        help="The character: .glb .gltf .usdc .usda .usdz .npz. May be repeated.",
        flags=("-o", "--output"),
        metavar="OUT",
        required=True,
    )
    skeleton: str | None = option(
        None,
        help="Skeleton of a RIG that is a mesh: .tgf .skel .json or a glTF with a skin.",
        flags=("--skeleton",),
        metavar="FILE",
        shown_default="that of the poses",
    )
    clip: str | None = option(
        None,
        help="Clip of RIG, or of --motion, that a sequence of meshes shows.",
        flags=("--clip",),
        metavar="NAME",
        shown_default="the only one",
        needs=(FOR_SEQUENCES,),
    )
    motion: Path | None = option(
        None,
        help="Clips of another file on the same skeleton, such as a range of motion; joints are matched by name.",
        flags=("--motion",),
        metavar="FILE",
        needs=(need(sticks=False, reason="plays clips on a skinned model, and RIG is a mesh"),),
    )
    targets: Path | None = option(
        None,
        help="Poses of corrective morph targets that RIG has; these are replaced.",
        flags=("--targets",),
        metavar="FILE.json",
        needs=(need(sticks=False, reason="names morph targets of a skinned model, and RIG is a mesh"),),
    )
    report: Path | None = option(
        None, help="A page of supports, singular values, errors and pictures.", flags=("--report",), metavar="PAGE.html"
    )


@click.command()
@click.argument("rig", metavar="RIG")
@click.argument("poses", metavar="[POSES]", required=False)
@options_of(files=EigenSkinFiles, frames=ClipPoseOptions, options=EigenSkinOptions, save=SaveOptions)
@json_option
def eigenskin(
    rig: str,
    poses: str | None,
    files: EigenSkinFiles,
    frames: ClipPoseOptions,
    options: EigenSkinOptions,
    save: SaveOptions,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Learn corrections that follow the joints, from meshes of known poses.

    RIG is a skinned model with a skeleton, or a mesh. POSES is a folder with a poses.json, meshes of the same
    character in known poses, simulated by `osteon simulate`, scanned or sculpted; or a sequence of meshes, in any
    format, that shows a clip of RIG (docs/eigenskin.md). The result deforms in any pose: stock players show its clips,
    `osteon pose` and live rigs any other pose.

    \b
    osteon simulate hand.mesh hand.tgf --sweep -o poses/
    osteon eigenskin poses/rest.obj poses/ -o hand.glb
    osteon eigenskin hero.glb simulation.abc --clip ROM -o corrected.glb --report page.html
    osteon eigenskin hero.glb --targets targets.json -o corrected.glb
    """
    clock = WallTime.of_command()
    _check_formats(files.outputs)
    sticks = not holds_model(rig)
    suffixes = frozenset(Path(path).suffix.lower() for path in files.outputs)
    clip_poses = poses is not None and not holds_pose_list(Path(poses))
    refuse_unused(sticks=sticks, written=suffixes, corrected=True, shaded=save.normals, clip_poses=clip_poses)
    if sticks and (poses is None or clip_poses):
        raise OptionError(f"{rig}: is a mesh, which has no clips; name a folder with a poses.json, or a skinned model")
    if files.skeleton is not None and not sticks:
        raise OptionError(f"--skeleton: {rig} is a skinned model with its own joints; omit it")
    outputs = plan_outputs(
        [rig, poses, files.skeleton, files.motion, files.targets],
        *(model_output("-o", path) for path in files.outputs),
        file_output("--json", json_file),
        file_output("--report", files.report),
    )
    if not save.normals:
        options = replace(options, eigennormals=0)  # they would not be written
    start_compiling(EIGENSKIN_KERNELS)  # while files are read
    with progress_bar(quiet) as progress:
        with clock.stage("load"):
            known, character = _load(rig, poses, files, frames, options, progress)
        refuse_unused(sticks=sticks, written=suffixes, corrected=True, stock=has_stock_form(character))
        with clock.stage("import"):
            from osteon.pipeline.eigenskin import learn_eigenskin
            from osteon.pipeline.eigenskin_report import eigenskin_report
        with clock.stage("fit"), naming_input((poses or rig,), Path(poses or rig).stem):
            learned = learn_eigenskin(character, known, options=options, progress=progress)
        clock.split("fit", {name: learned.seconds[name] for name in ("measure", "fit")}, "other")
        with outputs.writing():
            with clock.stage("write"):
                for path in files.outputs:
                    save_model(learned.model, path, options=drop_unused(save, written=Path(path).suffix.lower()))
            plays = file_plays(learned.model, files.outputs, save, None)
            facts = eigenskin_report(learned) | {"plays": plays_json(plays)}
            facts["warnings"] += engine_notes(learned.model, plays, save)
            facts["warnings"] += notes_on_light([rig], files.outputs, OTHER_FRAMES)
            facts["quality"]["output_bytes"] = written_path(Path(files.outputs[0])).stat().st_size
            facts["seconds"] |= clock.seconds()
            if files.report is not None:
                with clock.stage("report"):
                    from osteon.report.eigenskin_page import write_eigenskin_page

                    write_eigenskin_page(learned, facts, files.report)
            write_json(facts, json_file)
    print_json(facts, json_file)
    say_lost(character.asset, *files.outputs, quiet=quiet)
    if not quiet and json_file != "-":
        _print(facts, files.outputs, poses, plays)
        if files.report is not None:
            click.echo(f"report: {files.report}")
    left, wanted = facts["quality"]["relative_training_error"], options.max_error
    if wanted and left > wanted:
        reach = f"supports of {100 * options.threshold:g} % leave {100 * left:.2f} %"
        raise BoundNotReached(f"--max-error {100 * wanted:g}: {reach}; lower --support")


def _check_formats(outputs: tuple[str, ...]) -> None:
    for path in outputs:
        if Path(path).suffix.lower() not in MODEL_FORMATS:
            known = " ".join(sorted(MODEL_FORMATS))
            raise OptionError(f"-o {path}: a character is written as a model; use one of {known}")


def _load(
    rig: str,
    poses: str | None,
    files: EigenSkinFiles,
    frames: ClipPoseOptions,
    options: EigenSkinOptions,
    progress: Progress | None,
) -> tuple[PoseSet | RigPoses, SkinnedModel]:
    """The poses, and the rig as it is or made from a mesh and a skeleton."""
    from osteon.core.mesh import Mesh
    from osteon.io.load.sequences import read_mesh_file
    from osteon.io.poses.pose_set import load_pose_set
    from osteon.io.skeletons import load_skeleton

    if holds_model(rig):
        from osteon.pipeline.known_poses.load import PoseFiles, load_rig_poses

        model = load_model(rig)
        where = PoseFiles(None if poses is None else Path(poses), files.targets, files.motion, files.clip)
        return load_rig_poses(model, Path(rig), where, frames, progress), model
    from osteon.pipeline.eigenskin import rig_of_mesh

    assert poses is not None  # checked before
    known = load_pose_set(poses, progress=progress)
    read = read_mesh_file(Path(rig))
    mesh = Mesh(read.vertices, read.faces, read.asset, Path(rig).stem)
    sticks = known.skeleton if files.skeleton is None else load_skeleton(files.skeleton)
    return known, rig_of_mesh(mesh, sticks, options)


def _print(facts: dict[str, Any], outputs: tuple[str, ...], poses: str | None, plays: list[FilePlays]) -> None:
    """Print the results."""
    out, quality, method, given = console(), facts["quality"], facts["method"], facts["input"]
    rows = [
        ("poses", f"{given['poses']} to learn from, {given['validation_poses']} to validate with"),
        ("joints", f"{len(method['joints'])} and {len(method['pairs'])} pairs{_idle(method['joints_never_moved'])}"),
        ("columns", _columns(quality)),
        ("learned", _errors(quality["training"])),
    ]
    if quality["eigennormals"]:
        rows.insert(3, ("normals", _normal_columns(quality)))
    if quality["validation"] is not None:
        limit = quality["validation"]["limit_percent"]["mean"]
        rows.append(("unseen", f"{_errors(quality['validation'])}; these columns could remove {limit:.1f} %"))
    judged = quality["validation"] or quality["training"]
    if judged["shading_degrees"] is not None:
        rows.append(("shading", _shading(judged, "unseen" if quality["validation"] else "learned")))
    sizes = f"{', '.join(outputs)}   {size_text(quality['output_bytes'])}"
    rows += [*plays_rows(plays), ("written", sizes), ("time", time_text(facts["seconds"]))]
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        out.print(f"[dim]{name:<{width}}[/]  {text}")
    for note in facts["warnings"]:
        out.print(f"[yellow]note:[/] {note}")
    truth = (poses,) if poses is not None and holds_pose_list(Path(poses)) else ()
    out.print(f"[dim]view it:[/] {command_text('osteon', 'view', outputs[0], *truth)}")


def _idle(names: list[str]) -> str:
    return f"; never moved: {', '.join(names)}" if names else ""


def _columns(quality: dict[str, Any]) -> str:
    each = quality["eigendisplacements_a_vertex"]
    most = f"at most {each['max']:.0f} per vertex (limit {each['limit'] or 'none'}), {each['mean']:.1f} on average"
    return f"{quality['eigendisplacements']} eigendisplacements, {most}"


def _normal_columns(quality: dict[str, Any]) -> str:
    each = quality["eigennormals_a_normal"]
    most = f"at most {each['max']:.0f} per normal (limit {each['limit'] or 'none'}), {each['mean']:.1f} on average"
    return f"{quality['eigennormals']} eigennormals, {most}"


def _shading(measured: dict[str, Any], which: str) -> str:
    before, after = measured["shading_skin_degrees"], measured["shading_degrees"]
    return (
        f"{after['mean']:.2f}° on average, 95th percentile {after['p95']:.2f}°, in {which} poses; "
        f"the skin alone {before['mean']:.2f}°, {before['p95']:.2f}°"
    )


def _errors(measured: dict[str, Any]) -> str:
    removed = measured["removed_percent"]
    return (
        f"{removed['mean']:.1f} % of the skin's error removed, {removed['least']:.1f} % in the worst pose; "
        f"RMS {measured['rms_percent_of_diagonal']:.4f} % of the diagonal"
    )
