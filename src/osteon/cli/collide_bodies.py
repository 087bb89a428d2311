"""`osteon collide A --bodies SCENE -o OUT`: rigid bodies that a moving character kicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.cli.common import WallTime, console, print_json, progress_bar, say_lost, time_text, write_json
from osteon.cli.info import load_skinned, take_clips
from osteon.cli.outputs import file_output, plan_outputs
from osteon.cli.stored_light import PAINTED, notes_on_light
from osteon.core.compile_kernels import compile_kernels, start_compiling
from osteon.core.errors import OptionError
from osteon.fit.kernel_modules import BODY_KERNELS
from osteon.io import LoadOptions

if TYPE_CHECKING:
    from osteon.apply.collide.bodies import BodyTrack
    from osteon.apply.collide.bodies_options import BodyOptions
    from osteon.apply.collide.scene import Scene
    from osteon.core.model import SkinnedModel

#: Formats of a scene.
SUFFIXES = (".glb", ".gltf")


@dataclass(frozen=True, slots=True)
class SceneFiles:
    """The files of a simulation."""

    character: Path
    scene: Path
    output: str


def run_scene(
    files: SceneFiles, options: BodyOptions, load: LoadOptions, json_file: str | None, quiet: bool, clock: WallTime
) -> None:
    """Simulate the bodies of a scene file around a character, and write both."""
    if Path(files.output).suffix.lower() not in SUFFIXES:
        raise OptionError(f"-o {files.output}: a scene of bodies is a glTF; expected a name that ends in .glb or .gltf")
    outputs = plan_outputs(
        [files.character, files.scene], file_output("-o", files.output, SUFFIXES), file_output("--json", json_file)
    )
    start_compiling(BODY_KERNELS)  # while the files are read
    with progress_bar(quiet) as progress:
        with clock.stage("load"):
            from osteon.apply.collide.scene import load_scene

            scene = load_scene(files.scene)
            model = take_clips(load_skinned(files.character, load), load.clips, files.character)
        with clock.stage("import"):
            from osteon.apply.collide.bodies import simulate_bodies
            from osteon.apply.collide.scene_files import save_scene

            compile_kernels(BODY_KERNELS, progress)
        with clock.stage("fit"):
            tracks = simulate_bodies(model, scene, options=options, progress=progress)
        with outputs.writing():
            with clock.stage("write"):
                save_scene(files.output, model, scene, tracks, files.character)
            notes = notes_on_light([files.character], [files.output], PAINTED)
            facts = describe_scene(model, scene, tracks) | {"outputs": [files.output], "notes": list(notes)}
            facts["seconds"] = clock.seconds()
            write_json(facts, json_file)
    print_json(facts, json_file)
    say_lost(model.asset, files.output, quiet=quiet)
    if not quiet and json_file != "-":
        print_scene(facts, files.output, time_text(clock.seconds()))


def describe_scene(model: SkinnedModel, scene: Scene, tracks: Sequence[BodyTrack]) -> dict[str, Any]:
    """Every clip: its length, the steps of the solver, and how the character touched each body."""
    import numpy as np

    from osteon.apply.collide.bodies import place_scene

    placed = place_scene(model, scene)

    def body_facts(track: BodyTrack, number: int) -> dict[str, Any]:
        first = track.first_touch[number]
        travelled = np.linalg.norm(np.diff(track.positions[:, number], axis=0), axis=1).sum()
        return {
            "name": placed.bodies[number].name,
            "shape": placed.bodies[number].shape,
            "mass": placed.bodies[number].mass,
            "first_touch_seconds": None if np.isnan(first) else float(first),
            "touching_steps": int(track.touched[number]),
            "largest_impulse": float(track.kick[number]),
            "travelled": float(travelled),
            "end": track.positions[-1, number].tolist(),
        }

    return {
        "bodies": len(scene.bodies),
        "gravity": None if placed.gravity is None else placed.gravity.tolist(),
        "ground": None if placed.ground is None else placed.ground.height,
        "clips": [
            {
                "name": track.clip.name,
                "loops": track.loops,
                "length_seconds": float(track.seconds[-1]),
                "keys": len(track.seconds),
                "steps": track.steps,
                "bodies": [body_facts(track, number) for number in range(len(scene.bodies))],
            }
            for track in tracks
        ],
    }


def print_scene(facts: dict[str, Any], output: str, seconds: str) -> None:
    """One row for every body in every clip."""
    from rich.table import Table

    out = console()
    table = Table(box=None, pad_edge=False)
    for column in ("clip", "body", "first touched", "travelled"):
        table.add_column(column, justify="left" if column in ("clip", "body") else "right")
    for clip in facts["clips"]:
        for number, body in enumerate(clip["bodies"]):
            first = body["first_touch_seconds"]
            name = f"{clip['name']}, {clip['length_seconds']:.2f} s" if number == 0 else ""
            table.add_row(
                *(name, body["name"], "never" if first is None else f"{first:.2f} s", f"{body['travelled']:.3g}")
            )
    out.print(table)
    for note in facts["notes"]:
        out.print(f"[yellow]note:[/] {note}")
    click.echo(f"Written to {output}: the character and {facts['bodies']} bodies, {seconds}.")
