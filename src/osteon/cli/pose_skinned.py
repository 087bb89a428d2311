"""`osteon pose MODEL POSE`: pose a skinned model by its joints, and write meshes or a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.cli.common import console, print_json, progress_bar, say_lost, write_json
from osteon.cli.info import describe_clips, print_facts
from osteon.cli.option_flags import refuse_given
from osteon.cli.outputs import file_output, model_output, plan_outputs
from osteon.cli.stored_light import OTHER_FRAMES, notes_on_light
from osteon.core.errors import OptionError
from osteon.io import MODEL_FORMATS, LoadOptions, holds_model, load_model, save_model, save_played

if TYPE_CHECKING:
    from osteon.core.model import SkinnedModel
    from osteon.core.pose_track import PoseTrack
    from osteon.pipeline.pose_model import ModelSticks
    from osteon.simplex.options import PoserOptions


def is_posed_by_its_skin(character: str, inputs: tuple[str, ...]) -> bool:
    """Whether the first argument is a skinned model and the second is not a skeleton."""
    if not holds_model(character):
        return False
    return len(inputs) == 1 or not _is_skeleton(inputs[0])


def _is_skeleton(name: str) -> bool:
    """Whether a file holds a skeleton, rather than only poses."""
    from osteon.io.load.source import Source
    from osteon.io.skeletons.parsing import read_json
    from osteon.io.skeletons.skeleton_json import holds_skeleton

    return Path(name).suffix.lower() != ".json" or holds_skeleton(read_json(Source(Path(name))))


def pose_skinned(
    character: str,
    poses: tuple[str, ...],
    output: str,
    options: PoserOptions,
    load: LoadOptions,
    *,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Pose a model with its own deformer, and write the output."""
    started = time.perf_counter()
    why = f"of the simplex method, and {character} is posed by its own skin; omit it"
    refuse_given("options", why, besides=("turns",))
    refuse_given("files", why, besides=("output",))
    outputs = plan_outputs(
        [character, *poses],
        model_output("-o", output),
        file_output("--json", json_file),
    )
    with progress_bar(quiet) as progress:
        model = load_model(character)
        sticks = _sticks(model, character)
        track = _track(poses, sticks, load)
        from osteon.pipeline.pose_model import pose_model

        posed = pose_model(model, track, turns=options.bones.turns, sticks=sticks)
        facts = _describe(model, posed, sticks) | {"output": output}
        facts["notes"] += notes_on_light([character], [output], OTHER_FRAMES)
        with outputs.writing():
            if Path(output).suffix.lower() in MODEL_FORMATS:
                save_model(posed, output)
            else:
                save_played(posed, output, progress=progress)
            facts["seconds"] = time.perf_counter() - started
            write_json(facts, json_file)
    print_json(facts, json_file)
    say_lost(model.asset, output, quiet=quiet)
    if not quiet and json_file != "-":
        _print(facts)


def _sticks(model: SkinnedModel, character: str) -> ModelSticks:
    from osteon.pipeline.pose_model import sticks_for

    if model.skeleton is None or not len(model.skeleton.names):
        raise OptionError(
            f"{character}: its bones have no skeleton; find one with osteon rig, or name one: "
            "osteon pose MESH SKELETON POSE… -o OUT"
        )
    return sticks_for(model, character)


def _track(poses: tuple[str, ...], sticks: ModelSticks, load: LoadOptions) -> PoseTrack:
    from osteon.io.poses import load_poses

    return load_poses(list(poses), sticks.sticks, fps=None if load.fps == "file" else load.fps, clips=load.clips)


def _describe(model: SkinnedModel, posed: SkinnedModel, sticks: ModelSticks) -> dict[str, Any]:
    notes = []
    if model.rank:
        notes.append("its corrections belong to the frames of the file and are omitted")
    return {
        "mesh": {"vertices": model.n_vertices, "triangles": len(model.faces)},
        "skeleton": {"joints": model.n_bones, "root": sticks.sticks.names[sticks.sticks.root]},
        "method": " + ".join([model.deformer.kind, *(one.kind for one in posed.character.displacements)]),
        "poses": posed.n_frames,
        "clips": describe_clips(posed.clips),
        "notes": notes,
    }


def _print(facts: dict[str, Any]) -> None:
    chosen = ("mesh", "skeleton", "method", "poses", "clips")
    shown = {key: facts[key] for key in chosen} | {"method": facts["method"].replace("_", " ")}
    print_facts(shown | {"seconds": float(f"{facts['seconds']:.2g}"), "written": facts["output"]}, console())
    for sentence in facts["notes"]:
        click.echo(f"note: {sentence}")
