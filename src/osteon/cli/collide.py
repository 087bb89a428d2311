"""`osteon collide`: where two characters, or a surface and itself, interpenetrate; bodies that a character kicks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from osteon.apply.collide.bodies_options import BodyFiles, BodyOptions
from osteon.apply.collide.options import CollideOptions
from osteon.cli.collide_bodies import SceneFiles, run_scene
from osteon.cli.common import WallTime, console, json_option, print_json, progress_bar, time_text, write_json
from osteon.cli.info import choose_frames, load_skinned
from osteon.cli.option_flags import options_of, refuse_given, some_of
from osteon.cli.outputs import file_output, plan_outputs
from osteon.core.compile_kernels import compile_kernels, start_compiling
from osteon.core.errors import BoundNotReached, OptionError
from osteon.fit.kernel_modules import COLLIDE_KERNELS
from osteon.io import LoadOptions

if TYPE_CHECKING:
    from rich.console import Console

    from osteon.apply.collide.interpenetration import FrameOverlap, Overlaps
    from osteon.core.model import SkinnedModel

#: Frames that the table lists, the deepest ones.
LISTED = 12


@click.command()
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="[B]", required=False, type=click.Path(path_type=Path))
@options_of(options=CollideOptions, files=BodyFiles, body=BodyOptions, load=some_of(LoadOptions, "fps", "clips"))
@json_option
def collide(
    first: Path,
    second: Path | None,
    options: CollideOptions,
    files: BodyFiles,
    body: BodyOptions,
    load: LoadOptions,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Find where skinned characters interpenetrate: A and B, or A and itself. With --bodies: simulate rigid bodies.

    A and B are any glTF, USD or .npz of a skinned model; frames of equal number are compared, and a B of one frame
    stands still. Triangles that share a vertex do not count as interpenetrating.

    \b
    osteon collide knight.glb cape.glb --report overlap.html
    osteon collide cloth.glb --frames 10:20
    osteon collide walk.glb crate.glb --max-depth 0.5 --json report.json
    osteon collide walk.glb --bodies scene.json -o kicked.glb
    """
    clock = WallTime.of_command()
    if files.bodies is not None:
        scene = _scene_files(first, second, files)
        run_scene(scene, body, load, json_file, quiet, clock)
        return
    refuse_given("body", "is for bodies that a character kicks; add --bodies SCENE.json or omit it")
    outputs = plan_outputs(
        [first, *([second] if second else [])],
        file_output("--report", options.report, (".html", ".htm")),
        file_output("--json", json_file),
    )
    start_compiling(COLLIDE_KERNELS)  # while the files are read
    with progress_bar(quiet) as progress:
        with clock.stage("load"):
            models = [load_skinned(path, load) for path in (first, second) if path is not None]
            frames = choose_frames(models[0], load.clips, options.frames, first)
            if not frames:
                raise OptionError("--frames: selects no frame; name at least one")
        with clock.stage("import"):
            from osteon.apply.collide.collider import Collider
            from osteon.apply.collide.interpenetration import find_overlaps

            compile_kernels(COLLIDE_KERNELS, progress)
        with clock.stage("fit"):
            colliders = [Collider.of(model) for model in models]
        with clock.stage("measure"):
            found = find_overlaps(colliders[0], colliders[1] if second else None, frames, progress=progress)
        with outputs.writing():
            if options.report is not None:
                with clock.stage("page"):
                    from osteon.report.collide_page import write_overlap_page

                    write_overlap_page(options.report, found, models)
            facts = describe_overlaps(found, models) | {"seconds": clock.seconds()}
            write_json(facts, json_file)
    print_json(facts, json_file)
    if not quiet and json_file != "-":
        print_overlaps(facts, clock.seconds(), console())
        if options.report is not None:
            click.echo(f"Written to {options.report}.")
    _check_depth(found, options.max_depth)


def _scene_files(first: Path, second: Path | None, files: BodyFiles) -> SceneFiles:
    """The files of a simulation; refuses those of a search."""
    if second is not None:
        raise OptionError(f"{second}: bodies collide with one character; omit it, or --bodies")
    refuse_given("options", "is for interpenetration; omit it, or --bodies")
    if files.output is None:
        raise OptionError("--bodies: the result needs a file; add -o OUT.glb")
    return SceneFiles(first, Path(str(files.bodies)), files.output)


def _check_depth(found: Overlaps, most: float | None) -> None:
    """End with exit code 1 if a depth exceeds the bound."""
    worst = found.deepest
    if most is None or worst is None:
        return
    percent = 100 * worst.depth / found.diagonal
    if percent > most or most == 0:
        raise BoundNotReached(f"frame {worst.frame}: depth {percent:.3g} % of the diagonal, allowed {most:g} %")


def describe_overlaps(found: Overlaps, models: list[SkinnedModel]) -> dict[str, Any]:
    """Facts about interpenetration as plain JSON."""
    worst = found.deepest
    return {
        "models": [model.name for model in models],
        "itself": len(models) == 1,
        "diagonal": found.diagonal,
        "frames_searched": len(found.frames),
        "frames_found": len(found.found),
        "worst": None if worst is None else _describe_frame(worst, found, models[0]),
        "frames": [_describe_frame(overlap, found, models[0]) for overlap in found.found],
    }


def _describe_frame(overlap: FrameOverlap, found: Overlaps, model: SkinnedModel) -> dict[str, Any]:
    clip = next(clip for clip in model.clips if clip.start <= overlap.frame < clip.stop)
    deepest = int(overlap.contacts.depths.argmax())
    return {
        "frame": overlap.frame,
        "clip": clip.name,
        "frame_of_clip": overlap.frame - clip.start,
        "pairs": len(overlap.contacts),
        "depth": overlap.depth,
        "depth_percent": 100 * overlap.depth / found.diagonal,
        "deepest_pair": [int(overlap.contacts.triangles[deepest]), int(overlap.contacts.others[deepest])],
        "point": overlap.contacts.points[deepest].tolist(),
        "triangles": overlap.triangles.tolist(),
        "other_triangles": overlap.others.tolist(),
    }


def print_overlaps(facts: Mapping[str, Any], seconds: Mapping[str, float], out: Console) -> None:
    """Print the deepest frames as a table, and all of them as ranges."""
    from rich.table import Table

    from osteon.apply.collide.interpenetration import runs_of

    whom = f"{facts['models'][0]} and itself" if facts["itself"] else " and ".join(facts["models"])
    searched = f"{facts['frames_searched']:,} frame{'' if facts['frames_searched'] == 1 else 's'}"
    rows = [("searched", f"{whom}, {searched}")]
    if facts["frames"]:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("frame", "clip", "pairs", "triangles", "depth %", "deepest pair"):
            table.add_column(heading, justify="left" if heading == "clip" else "right")
        for frame in sorted(facts["frames"], key=lambda one: -one["depth"])[:LISTED]:
            table.add_row(*_cells(frame))
        out.print(table)
        out.print("[dim]percent of the diagonal of A; deepest frames first[/]")
        runs = runs_of([frame["frame"] for frame in facts["frames"]])
        ranges = ", ".join(str(start) if start == stop else f"{start}-{stop}" for start, stop in runs)
        rows.append(("interpenetrate", f"{facts['frames_found']:,} of {searched}: {ranges}"))
    else:
        rows.append(("interpenetrate", "no frame"))
    rows.append(("time", time_text(seconds)))
    below = Table(show_header=False, box=None, pad_edge=False)
    below.add_column(style="dim")
    below.add_column()
    for row in rows:
        below.add_row(*row)
    out.print(below)


def _cells(frame: Mapping[str, Any]) -> list[str]:
    triangles = f"{len(frame['triangles']):,} + {len(frame['other_triangles']):,}"
    pair = " x ".join(str(number) for number in frame["deepest_pair"])
    return [
        str(frame["frame"]),
        f"{frame['clip']} {frame['frame_of_clip']}",
        f"{frame['pairs']:,}",
        triangles,
        f"{frame['depth_percent']:.3f}",
        pair,
    ]
