"""`osteon edit`: a skinned model and an edit of its rest pose in, the edited model out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.apply.edit.options import EditOptions
from osteon.cli.common import (
    WallTime,
    console,
    json_option,
    print_json,
    progress_bar,
    say_lost,
    time_text,
    write_json,
)
from osteon.cli.info import load_skinned
from osteon.cli.option_flags import options_of, refuse_unused, some_of
from osteon.cli.outputs import file_output, model_output, plan_outputs, sequence_output
from osteon.cli.stored_light import OTHER_SURFACE, notes_on_light
from osteon.core.compile_kernels import start_compiling
from osteon.core.errors import GeometryError, OptionError
from osteon.core.options import drop_unused, option
from osteon.fit.kernel_modules import EDIT_KERNELS
from osteon.io import MODEL_FORMATS, LoadOptions, SaveOptions, load_stored_levels, save_model

if TYPE_CHECKING:
    from rich.console import Console

    from osteon.apply.edit.edit_rest import RestEdit
    from osteon.apply.edit.strokes import Strokes
    from osteon.core.frames import FrameSource
    from osteon.core.mesh import Mesh
    from osteon.core.model import SkinnedModel, StoredLevels
    from osteon.core.progress import Progress
    from osteon.io.gltf.patch.character import Character


@dataclass(frozen=True, slots=True)
class EditFiles:
    """The files of the command besides the model and the edited mesh."""

    outputs: tuple[str, ...] = option(
        (),
        help="The edited model: .glb .gltf .usdc .usda .usdz .npz. May be repeated.",
        flags=("-o", "--output"),
        metavar="OUT",
        required=True,
    )
    map: Path | None = option(
        None,
        help="Displace the mesh by this picture through its texture coordinates: .png .tif .jpg.",
        flags=("--map",),
        metavar="FILE",
    )
    source: Path | None = option(
        None,
        help="The animation that the model was made from: edits turn with its surface, and not with that of the model."
        " It has the frames of the model, and its vertices in any order.",
        flags=("--source",),
        metavar="FILE",
    )
    mesh: str | None = option(
        None,
        help="Also write the rest pose with all edits as a mesh, to edit it further.",
        flags=("--mesh",),
        metavar="FILE.obj",
    )


@click.command()
@click.argument("model_file", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("edited_file", metavar="[EDITED]", type=click.Path(path_type=Path), required=False)
@options_of(files=EditFiles, options=EditOptions, save=SaveOptions, load=some_of(LoadOptions, "fps"))
@json_option
def edit(
    model_file: Path,
    edited_file: Path | None,
    files: EditFiles,
    options: EditOptions,
    save: SaveOptions,
    load: LoadOptions,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Edit the rest pose of a skinned model: every frame shows the edit, and nothing is fitted again.

    MODEL is any glTF, USD or .npz of a skinned model. EDITED is its mesh after an edit, in the same order of vertices
    or another one (.obj .ply .off .glb …), or the strokes that `osteon view` saves (.json). Edits are stored apart from
    the mesh: they can be scaled, removed and added up.

    \b
    osteon edit horse.glb sculpted.obj -o horned.glb --name horns
    osteon edit horse.glb frame12.obj --at-frame 12 -o horse2.glb
    osteon edit fox.glb --map scales.png --height 0.5 --subdivide 1 -o scaly.glb
    osteon edit horned.glb --remove horns -o horse.glb
    """
    clock = WallTime.of_command()
    kind = _kind_of_input(edited_file, files)
    _check_source_is_used(kind, files, options)
    suffixes = frozenset(Path(path).suffix.lower() for path in files.outputs)
    for path in files.outputs:
        if Path(path).suffix.lower() not in MODEL_FORMATS:
            raise click.UsageError(f"-o {path}: the result is a model; use one of {' '.join(sorted(MODEL_FORMATS))}")
    refuse_unused(input=kind, written=suffixes)
    outputs = plan_outputs(
        [model_file, edited_file, files.map, files.source],
        *(model_output("-o", path) for path in files.outputs),
        None if files.mesh is None else sequence_output("--mesh", files.mesh),
        file_output("--json", json_file),
    )
    start_compiling(EDIT_KERNELS)  # while the file is read
    with progress_bar(quiet) as progress:
        with clock.stage("load"):
            model = load_skinned(model_file, load)
            stored = load_stored_levels(model_file)
        refuse_unused(input=kind, corrected=bool(model.rank), stock=model.deformer.stock_skin() is not None)
        with clock.stage("import"):
            import osteon.apply.edit.edit_rest  # noqa: F401  compiled kernels, which take a while
        with clock.stage("edit"):
            found, stored = _edit(model, stored, edited_file, files, options, progress)
            notes = notes_on_light([model_file], files.outputs, OTHER_SURFACE)
            found = with_notes(found, notes)
        with outputs.writing():
            with clock.stage("write"):
                lost = write_edited(found, stored, files.outputs, save, _character_of(model_file, load))
                if files.mesh is not None:
                    write_rest_mesh(found.model, files.mesh)
            facts = describe_edit(replace(found, notes=(*found.notes, *lost))) | {
                "outputs": list(files.outputs),
                "seconds": clock.seconds(),
            }
            write_json(facts, json_file)
    print_json(facts, json_file)
    say_lost(model.asset, *files.outputs, quiet=quiet)
    if not quiet and json_file != "-":
        print_edits(facts, clock.seconds(), (*files.outputs, *([files.mesh] if files.mesh else [])), console())


def with_notes(found: RestEdit, notes: tuple[str, ...]) -> RestEdit:
    """The edit with further notes."""
    return replace(found, notes=(*found.notes, *notes))


def _kind_of_input(edited: Path | None, files: EditFiles) -> str:
    """The source of the edit: mesh, map, strokes or none."""
    if edited is not None and files.map is not None:
        raise OptionError("--map: the edit is that of EDITED already; omit one")
    if files.map is not None:
        return "map"
    if edited is None:
        return "none"
    return "strokes" if edited.suffix.lower() == ".json" else "mesh"


def _check_source_is_used(kind: str, files: EditFiles, options: EditOptions) -> None:
    """Refuse a source of which no edit takes the frames."""
    if files.source is None:
        return
    if kind == "none":
        raise OptionError("--source: it turns a new edit; name an edited mesh, --map or strokes, or omit it")
    if options.blends_only:
        raise OptionError("--source: with --blends-only no edit turns with it; omit one")
    if options.subdivide:
        raise OptionError("--source: it has no frames of the vertices that --subdivide adds; omit one")


def _edit(
    model: SkinnedModel,
    stored: StoredLevels | None,
    edited_file: Path | None,
    files: EditFiles,
    options: EditOptions,
    progress: Progress | None,
) -> tuple[RestEdit, StoredLevels | None]:
    """The edited model, and the levels of its file with the same edits."""
    from osteon.apply.edit.edit_rest import edit_rest

    dropped = stored is not None and options.subdivide > 0
    coarse = () if stored is None or dropped else stored.coarse
    edited: Mesh | Strokes | None = None
    source = None if files.source is None else _read_source(model, files.source)
    if files.map is not None:
        found = _edit_by_map(model, coarse, files.map, options, source, progress)
    else:
        if edited_file is not None:
            edited = _read_edited(edited_file)
            if edited_file.suffix.lower() == ".json" and options.name == EditOptions().name:
                options = replace(options, name=edited.name)
        with _naming(edited_file):
            found = edit_rest(model, edited, options=options, coarse=coarse, source=source, progress=progress)
    if dropped:
        note = "the levels of detail are for the mesh before subdivision and were left out; run osteon lod again"
        found = with_notes(found, (note,))
    return found, None if stored is None or dropped else found.levels(stored)


@contextmanager
def _naming(path: Path | None) -> Iterator[None]:
    """Errors about the edited mesh name its file."""
    try:
        yield
    except GeometryError as error:
        if path is None:
            raise
        raise GeometryError(f"{path}: {str(error).removeprefix('edited: ')}") from error


def _read_source(model: SkinnedModel, path: Path) -> FrameSource:
    """The frames of the source, in the order of the model's vertices."""
    import numpy as np

    from osteon.apply.edit.match_vertices import match_vertices
    from osteon.apply.edit.turn_columns import check_source
    from osteon.core.frames import frame_source
    from osteon.io import load_sequence

    sequence = load_sequence([str(path)])
    try:
        vertices = np.maximum(match_vertices(model.mesh, model.rest, sequence.mesh), 0)
    except GeometryError as error:
        raise GeometryError(f"{path}: {str(error).removeprefix('edited: ')}") from error
    if sequence.n_frames != model.n_frames:
        raise GeometryError(f"{path}: expected the {model.n_frames:,} frames of the model, got {sequence.n_frames:,}")
    frames = sequence.source
    if (vertices != np.arange(sequence.n_vertices)[: len(vertices)]).any() or len(vertices) != sequence.n_vertices:
        frames = frame_source(np.ascontiguousarray(frames.read(0, frames.n_frames)[:, vertices]))
    try:
        check_source(model, frames)
    except GeometryError as error:
        raise GeometryError(f"{path}: {str(error).removeprefix('source: ')}") from error
    return frames


def _edit_by_map(
    model: SkinnedModel,
    coarse: Sequence[Any],
    path: Path,
    options: EditOptions,
    source: FrameSource | None,
    progress: Progress | None,
) -> RestEdit:
    from osteon.apply.edit.displacement_map import map_displacement, read_map
    from osteon.apply.edit.edit_rest import edit_rest
    from osteon.apply.edit.subdivide import subdivide_model

    values = read_map(path)
    model = subdivide_model(model, options.subdivide, options.scheme)
    moved = map_displacement(model.mesh, values, options.height, options.map_kind, options.middle)
    plain = replace(options, subdivide=0, scheme=EditOptions().scheme, at_frame=None, base="unedited")
    return edit_rest(model, model.rest + moved, options=plain, coarse=coarse, source=source, progress=progress)


def _read_edited(path: Path) -> Mesh | Strokes:
    """An edited mesh, or strokes of the page."""
    if path.suffix.lower() == ".json":
        from osteon.apply.edit.strokes import read_strokes

        return read_strokes(path)
    from osteon.io import load_sequence

    return load_sequence([str(path)]).mesh


def _character_of(path: Path, load: LoadOptions) -> Character | None:
    """The document that the model was read from, if another program wrote it."""
    from osteon.io.load.rig_files import open_edited_character

    found = open_edited_character(path, load)
    return None if found is None or found.metadata is not None else found


def write_edited(
    found: RestEdit,
    levels: StoredLevels | None,
    outputs: Sequence[str],
    save: SaveOptions,
    character: Character | None = None,
) -> list[str]:
    """Write every output, with the options that its format has; returns notes on what is not kept.

    The document of another program is kept where the options allow. Levels are written where the format has a place.
    """
    from osteon.io import save_stored_levels
    from osteon.io.load.rig_files import keeps_document, save_edited, why_document_is_lost

    notes = []
    for path in outputs:
        used = drop_unused(save, written=Path(path).suffix.lower())
        if levels is not None and MODEL_FORMATS[Path(path).suffix.lower()].levels is not None:
            save_stored_levels(found.model, levels, path, options=used)
        elif character is not None and used == SaveOptions() and keeps_document(character, found.model, path):
            save_edited(found.model, character, path)
        else:
            lost = why_document_is_lost(character, found.model, path, options_given=used != SaveOptions())
            notes += [] if lost is None else [f"{path}: {lost}"]
            save_model(found.model, path, options=used)
    return notes


def write_rest_mesh(model: SkinnedModel, path: str) -> None:
    """The rest pose with all edits, as a mesh."""
    from osteon.core.sequence import MeshSequence
    from osteon.deform.edits import edited_model
    from osteon.io import save_sequence

    mesh = edited_model(model).mesh
    save_sequence(MeshSequence(mesh.rest[None], mesh=mesh), path)


def describe_edit(found: RestEdit) -> dict[str, Any]:
    """Facts about an edited model as plain JSON."""
    model = found.model
    warnings = [f"{report.name}: {warning}" for report in found.reports for warning in report.warnings]
    return {
        "name": model.name,
        "vertices": model.n_vertices,
        "triangles": len(model.faces),
        "frames": model.n_frames,
        "edits": [report.to_json() for report in found.reports],
        "coarse_meshes": len(found.coarse),
        "warnings": warnings,
        "notes": list(found.notes),
    }


def _turn_lines(edits: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How each edit is turned in the frames."""
    from rich.markup import escape

    for one in edits:
        turn, columns = one["deviation"], one["columns"]
        name = escape(one["name"])
        if turn is None:
            if columns:
                yield f"[dim]{name}: turned by {_count(columns)}[/]"
            continue
        blends = turn["blends_percent"]
        where = f"frame {turn['frame']}, vertex {turn['vertex']}"
        by = f"{blends['max']:.2g} % of the height at most ({where}; mean {blends['mean']:.2g} %)"
        surface = "the surface" if turn["local_frames"] == "model" else "the source"
        if columns:
            yield (
                f"{name}: the blends alone turn it otherwise than {surface} turns, by {by}; "
                f"{_count(columns)} leave{'s' if columns == 1 else ''} {turn['max_percent']:.2g} %"
            )
        else:
            yield f"{name}: the blends turn it as {surface} turns, up to {by}; no correction columns are needed"


def _count(columns: int) -> str:
    return f"{columns} correction column{'' if columns == 1 else 's'}"


_HEADINGS = ("edit", "scale", "vertices", "largest", "length: mean", "worst", "frame", "vertex")


def print_edits(facts: Mapping[str, Any], seconds: Mapping[str, float], written: Sequence[str], out: Console) -> None:
    """Print the edits as a table, and the outputs."""
    from rich.table import Table
    from rich.text import Text

    if facts["edits"]:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in _HEADINGS:
            table.add_column(heading, justify="left" if heading == "edit" else "right")
        for one in facts["edits"]:
            change = one["length_change_percent"]
            cells = [f"{one['scale']:g}", f"{one['vertices']:,}", f"{one['largest_percent']:.2f} %"]
            cells += [
                f"±{change['mean']:.2f} %",
                f"±{change['max']:.2f} %",
                str(change["frame"]),
                str(change["vertex"]),
            ]
            table.add_row(Text(one["name"]), *cells)
        out.print(table)
        out.print("[dim]largest displacement of the diagonal; change of its length in the frames[/]")
        for line in _turn_lines(facts["edits"]):
            out.print(line, soft_wrap=True)
    else:
        out.print("The model has no edits.")
    rows = Table(show_header=False, box=None, pad_edge=False)
    rows.add_column(style="dim")
    rows.add_column()
    rows.add_row("time", time_text(seconds))
    rows.add_row("written", ", ".join(written))
    out.print(rows)
    for warning in facts["warnings"]:
        out.print(f"[yellow]warning:[/] {warning}", soft_wrap=True)
    for note in facts["notes"]:
        out.print(f"[yellow]note:[/] {note}", soft_wrap=True)
