"""`osteon demo light`: the galloping fox with precomputed light, under three skies made in code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from osteon.cli.common import console, print_json, progress_bar, write_json
from osteon.cli.demo import plan_demo
from osteon.cli.light import describe_light
from osteon.core.options import command_text
from osteon.core.skin_options import SkinOptions

if TYPE_CHECKING:
    from osteon.core.model import SkinnedModel

NAMES = ("fox-lit.glb", "light.png", "light.json")
#: Bones of the fox, and the step between the frames that are computed.
BONES, EVERY = 32, 3
#: Frames of the picture.
SHOWN = (4, 20)


def light_demo(folder: Path, json_file: str | None, quiet: bool) -> None:
    """Skin the fox, compute its light, and draw frames with and without shadows."""
    from osteon.apply.light.environment import SKIES, project_sky
    from osteon.apply.light.options import LightOptions
    from osteon.core.compile_kernels import compile_kernels
    from osteon.fit.kernel_modules import ALL_KERNELS
    from osteon.io import SaveOptions
    from osteon.pipeline.light import fit_light
    from osteon.pipeline.light_files import save_light
    from osteon.report.light_picture import LitFrame, light_picture
    from osteon.report.picture import save_png

    outputs = plan_demo(folder, NAMES, json_file)
    with progress_bar(quiet) as progress:
        compile_kernels(ALL_KERNELS, progress)
        model = _fox()
        skies = [project_sky(function, name=name) for name, function in SKIES.items()]
        options = LightOptions(baked=True, bounces=1, every=EVERY)
        light = fit_light(model, skies, options=options, progress=progress)
        first, second = SHOWN
        frames = [
            LitFrame(first, False, f"frame {first}, without shadows"),
            LitFrame(first, True, f"frame {first}"),
            LitFrame(second, True, f"frame {second}"),
        ]
        picture = light_picture(model, light, skies, frames, title="osteon demo light: one transfer, three skies")
        facts = describe_light(light)
        with outputs.writing():
            save_light(model, light, folder / NAMES[0], options=SaveOptions(engine="web"))
            save_png(picture, folder / NAMES[1])
            write_json(facts, str(folder / NAMES[2]))
            write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        last = facts["ranks"][-1]
        console().print(
            f"Light of {facts['points']:,} points in {facts['frames']} frames: rank {last['rank']}, "
            f"error {last['error_percent']:.1f} %."
        )
        click.echo(f"Written to {folder}/: {', '.join(NAMES)}. Try:")
        click.echo(f"  {command_text('osteon', 'view', folder / NAMES[0])}")


def _fox() -> SkinnedModel:
    from osteon.pipeline.skin import skin_sequence
    from osteon.synth import SUBJECTS

    return skin_sequence(SUBJECTS["creature"](), options=SkinOptions(bones=BONES)).model
