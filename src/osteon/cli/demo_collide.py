"""`osteon demo collide`: balls, boxes and a capsule in the way of a galloping fox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from osteon.cli.common import print_json, progress_bar, write_json
from osteon.cli.demo import plan_demo
from osteon.core.options import command_text

if TYPE_CHECKING:
    from osteon.apply.collide.bodies import BodyTrack
    from osteon.apply.collide.scene import Scene
    from osteon.core.model import SkinnedModel

NAMES = ("fox.glb", "scene.json", "fox-bodies.glb", "picture.png")
BONES = 24
#: Gallops that are simulated, and their parts that are drawn.
LOOPS = 3
DRAWN = (0.0, 0.2, 0.35, 0.6)
#: What is nearer to the fox than so many diagonals is in the picture.
VIEW = 0.75


def collide_demo(folder: Path, json_file: str | None, quiet: bool) -> None:
    """Skin the fox, simulate the bodies, write both, and draw them at four moments."""
    from osteon.apply.collide.bodies import simulate_bodies
    from osteon.apply.collide.bodies_options import BodyOptions
    from osteon.apply.collide.scene import load_scene
    from osteon.apply.collide.scene_files import save_scene
    from osteon.cli.collide_bodies import describe_scene
    from osteon.core.skin_options import SkinOptions
    from osteon.io import atomic_file, save_model
    from osteon.io.save.atomic import written_path
    from osteon.pipeline.skin import skin_sequence
    from osteon.synth import SUBJECTS
    from osteon.synth.fox_scene import SCENE

    outputs = plan_demo(folder, NAMES, json_file)
    with progress_bar(quiet) as progress:
        model = skin_sequence(SUBJECTS["creature"](), options=SkinOptions(bones=BONES), progress=progress).model
        with outputs.writing():
            save_model(model, folder / NAMES[0])
            with atomic_file(folder / NAMES[1]) as temporary:
                temporary.write_text(json.dumps(SCENE, indent=1) + "\n")
            scene = load_scene(written_path(folder / NAMES[1]))
            tracks = simulate_bodies(model, scene, options=BodyOptions(loops=LOOPS), progress=progress)
            save_scene(folder / NAMES[2], model, scene, tracks)
            draw_scene(folder / NAMES[3], model, scene, tracks[0])
            facts = describe_scene(model, scene, tracks)
            write_json(facts, json_file)
    print_json(facts, json_file)
    if quiet or json_file == "-":
        return
    touched = sum(bool(body["touching_steps"]) for body in facts["clips"][0]["bodies"])
    click.echo(
        f"{facts['bodies']} bodies around a galloping fox, {touched} of them kicked. "
        f"Written to {folder}/: {', '.join(NAMES)}. Try:"
    )
    fox, bodies, out = (str(folder / name) for name in NAMES[:3])
    click.echo(
        f"  {command_text('osteon', 'collide', fox, '--bodies', bodies, '--loops', LOOPS, '-o', out, '--force')}"
    )
    click.echo(f"  {command_text('osteon', 'view', fox)}")


def draw_scene(path: Path, model: SkinnedModel, scene: Scene, track: BodyTrack) -> None:
    """Draw character and bodies at several moments of a clip."""
    from osteon.apply.collide.bodies import place_scene
    from osteon.report.picture import draw_mesh, frame_camera, panel_row, save_png
    from osteon.report.raster import DrawOptions
    from osteon.report.scene_picture import scene_points, scene_shapes

    shapes = scene_shapes(model, place_scene(model, scene))
    moments = [round(part * (len(track.seconds) - 1)) for part in DRAWN]
    shown = [scene_points(model, shapes, track, key) for key in moments]
    view = DrawOptions(width=430, height=430)
    near = np.concatenate(shown)
    middle = model.rest.astype(np.float64).mean(axis=0)
    camera = frame_camera(near[np.linalg.norm(near - middle, axis=1) < VIEW * model.diagonal], view)
    pictures = [draw_mesh(one, shapes.faces, shapes.colors, options=view, camera=camera) for one in shown]
    words = [f"{track.seconds[key]:.2f} s" for key in moments]
    save_png(panel_row(pictures, words, title="osteon demo collide: bodies kicked by a galloping fox"), path)
