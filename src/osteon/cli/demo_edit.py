"""`osteon demo edit`: a fox that is skinned once and edited afterwards, in all of its frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.cli.common import print_json, progress_bar, write_json
from osteon.cli.demo import draw_row, plan_demo
from osteon.core.options import command_text

if TYPE_CHECKING:
    from osteon.apply.edit.edit_rest import RestEdit
    from osteon.core.model import SkinnedModel

NAMES = ("fox.glb", "fox-edited.glb", "crest.ply", "picture.png", "report.json")
BONES = 32
#: Frames that are drawn.
SHOWN = (4, 20, 36)


def edit_demo(folder: Path, json_file: str | None, quiet: bool) -> None:
    """Skin the fox, subdivide it, and give it a crest and a horn; draw rest pose and frames before and after."""
    from osteon.apply.edit.edit_rest import edit_rest
    from osteon.apply.edit.options import EditOptions
    from osteon.apply.edit.subdivide import subdivide_model
    from osteon.cli.edit import describe_edit, write_rest_mesh
    from osteon.core.skin_options import SkinOptions
    from osteon.io import save_model
    from osteon.pipeline.skin import skin_sequence
    from osteon.synth import SUBJECTS
    from osteon.synth.fox_edits import fox_edits

    outputs = plan_demo(folder, NAMES, json_file)
    with progress_bar(quiet) as progress:
        fit = skin_sequence(SUBJECTS["creature"](), options=SkinOptions(bones=BONES), progress=progress)
        model = subdivide_model(fit.model)
        edits, found = fox_edits(model.mesh), None
        for name, displacement in edits.items():
            base = model if found is None else found.model
            found = edit_rest(base, model.rest + displacement, options=EditOptions(name=name), progress=progress)
        assert found is not None
        facts = describe_edit(found)
        with outputs.writing():
            save_model(model, folder / NAMES[0])
            save_model(found.model, folder / NAMES[1])
            crest = edit_rest(model, model.rest + edits["crest"])
            write_rest_mesh(crest.model, str(folder / NAMES[2]))
            draw_edits(model, found, folder / NAMES[3])
            write_json(facts, str(folder / NAMES[4]))
            write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        _print_next_steps(folder, facts)


def draw_edits(model: SkinnedModel, found: RestEdit, path: Path) -> None:
    """Draw the rest pose before and after the edits, and frames after them."""
    from osteon.deform.edits import edited_model
    from osteon.deform.pose import pose_vertices

    edited = found.model
    poses = [(model.rest, "rest pose"), (edited_model(edited).rest, "edited once, at rest")]
    poses += [(pose_vertices(edited, frame), f"frame {frame}") for frame in SHOWN]
    draw_row(poses, edited.mesh, "osteon demo edit: an edit of the rest pose in all frames", path)


def _print_next_steps(folder: Path, facts: dict[str, Any]) -> None:
    edits = ", ".join(f"{one['name']} ({one['vertices']:,} vertices)" for one in facts["edits"])
    click.echo(
        f"A fox of {facts['triangles']:,} triangles, skinned once; edited at rest: {edits}. Nothing was fitted again. "
        f"Written to {folder}/: {', '.join(NAMES)}. Try:"
    )
    fox, edited, crest = (folder / name for name in NAMES[:3])
    click.echo(f"  {command_text('osteon', 'view', edited)}")
    click.echo(f"  {command_text('osteon', 'edit', fox, crest, '--scale', 1.5, '-o', folder / 'higher.glb')}")
    click.echo(f"  {command_text('osteon', 'edit', edited, '--remove', 'horn', '-o', folder / 'hornless.glb')}")
